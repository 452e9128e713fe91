"""Types that are small in a module and large written out are refused before a validator walks through them."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.spirv.binary import ModuleBuilder, Section, encode_string
from lapilli.spirv.foreign import foreign_kernels
from lapilli.spirv.tables import Op
from lapilli.spirv.type_growth import MOST_PARTS, oversized_type


def doubling(times: int) -> bytes:
    """A valid module with a struct of structs, each of which has the one before twice."""
    builder = ModuleBuilder((1, 5))
    builder.add(Section.CAPABILITIES, Op.Capability, (1,))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (0, 1))
    kind = builder.add_result(Section.GLOBALS, Op.TypeInt, (32, 0))
    for _ in range(times):
        kind = builder.add_result(Section.GLOBALS, Op.TypeStruct, (kind, kind))
    void = builder.add_result(Section.GLOBALS, Op.TypeVoid)
    signature = builder.add_result(Section.GLOBALS, Op.TypeFunction, (void,))
    main = builder.new_id()
    builder.add(Section.ENTRY_POINTS, Op.EntryPoint, (5, main, *encode_string("main")))
    builder.add(Section.EXECUTION_MODES, Op.ExecutionMode, (main, 17, 1, 1, 1))
    builder.add(Section.FUNCTIONS, Op.Function, (0, signature), result_type=void, result_id=main)
    builder.add_result(Section.FUNCTIONS, Op.Label)
    builder.add(Section.FUNCTIONS, Op.Return)
    builder.add(Section.FUNCTIONS, Op.FunctionEnd)
    return builder.build()


def test_what_is_just_small_enough_is_read() -> None:
    times = MOST_PARTS.bit_length() - 2
    assert oversized_type(doubling(times)) is None
    lp.spirv.validate(doubling(times))
    assert oversized_type(doubling(times + 1)) is not None


@pytest.mark.parametrize("times", [30, 200])
def test_what_is_larger_is_refused_by_all_that_reads_modules(times: int) -> None:
    binary = doubling(times)  # a validator that walks through it takes hours
    with pytest.raises(lp.BuildError, match="more than 65,536 members"):
        lp.spirv.validate(binary)
    with pytest.raises(lp.LinkError, match="more than 65,536 members"):
        lp.spirv.link([binary])
    with pytest.raises(lp.BuildError, match="more than 65,536 members"):
        foreign_kernels(binary)


def test_bytes_that_are_no_module() -> None:
    assert oversized_type(b"") is None
    assert oversized_type(b"\0" * 64) is None
    assert oversized_type(doubling(3)[:-6]) is None
