"""Every row of the table verifies, prints and parses, becomes its instruction, and comes back from the binary."""

from __future__ import annotations

import pytest

from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

from .operations_table import TABLE, module, parsed

ROWS = pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])


@ROWS
def test_prints_and_parses(row: tuple[str, str, str, str, str]) -> None:
    op = parsed(module(row))
    assert str(parsed(str(op))) == str(op)


@ROWS
def test_is_emitted_and_read_again(row: tuple[str, str, str, str, str]) -> None:
    binary = emit(parsed(module(row)), TargetEnv()).binary
    assert row[4] in spirv_tools().disassemble(binary)
    again = deserialise(binary)
    assert f"spirv.{row[0]}" in {op.name for op in again.walk()}
    assert emit(again, TargetEnv()).binary == binary
    finding = spirv_tools().validate(binary, "vulkan1.3", scalar_block_layout=True)
    assert finding is None, finding


@ROWS
def test_verifier_refuses_other_types(row: tuple[str, str, str, str, str]) -> None:
    name, operands, properties, result, words = row
    wrong = (name, operands, properties, "!spirv.array<7 x i8>", words) if result else (
        name, operands.replace("c", "f").replace("a i", "f i"), properties, "", words
    )  # fmt: skip
    with pytest.raises(IRError):
        parsed(module(wrong))
