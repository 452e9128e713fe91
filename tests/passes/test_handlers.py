"""What lowers each operation is found by its name, in a file that is imported then."""

from __future__ import annotations

from importlib import import_module

import pytest
from xdsl.dialects import test

from lapilli.passes.convert_to_spirv.handlers import _FILES, HANDLERS  # pyright: ignore


@pytest.mark.parametrize("file", sorted(_FILES))
def test_every_handler_of_a_file_is_found(file: str) -> None:
    table = import_module(f"lapilli.passes.convert_to_spirv.{file}").HANDLERS
    for kind, handler in table.items():
        assert HANDLERS[kind] is handler, kind.name
    names = {kind.name for kind in table}
    for name in _FILES[file].split():
        assert any(known == name or known.startswith(f"{name}.") for known in names), name


def test_others_have_none() -> None:
    assert HANDLERS[test.TestOp] is None
