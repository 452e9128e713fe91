"""Errors cross process boundaries, as from a pool's workers, and are copied."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

import lapilli as lp
from lapilli.ir.errors import Diagnostic, Location

PLACE = Location("file.py", 3, 5, "k")
ARGUMENTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "DeserialisationError": (("text",), {}),
    "EmissionError": (("text", ModuleOp([])), {}),
    "IRError": (("text",), {"operation": ModuleOp([])}),
    "IRSyntaxError": (("text", PLACE, "  line"), {}),
    "KernelTrap": (("text",), {"kernel": "k", "work_item": (1, 2), "values": (3.0,), "location": PLACE}),
    "PassError": (("text", ModuleOp([])), {"code": "LP2101"}),
    "SpirvError": (("text",), {"word_offset": 7}),
    "SpirvTextError": (("text",), {"line": 1, "column": 2}),
    "SpirvValidationError": (("text",), {"instruction_ordinal": 4}),
    "VulkanError": (("vkQueueSubmit", -4), {"detail": "why"}),
    "VulkanMemoryError": (("vkAllocateMemory", -2), {}),
    "WrittenModuleError": (("text", ModuleOp([]), PLACE), {}),
}
PLAIN = (("text",), {"code": "LP1234", "diagnostics": [Diagnostic("text", PLACE, hint="help")]})
FOLDERS = ("frontend", "ir", "passes", "spirv", "vk_runtime")


def every_class(base: type[lp.Error]) -> Iterator[type[lp.Error]]:
    yield base
    for kind in base.__subclasses__():
        yield from every_class(kind)


def made(kind: type[lp.Error]) -> lp.Error:
    named = next((c.__name__ for c in kind.__mro__ if "__init__" in vars(c)), "")
    args, kwargs = ARGUMENTS.get(named, PLAIN)
    return kind(*args, **kwargs)


@pytest.mark.parametrize(
    "again", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy], ids=["pickle", "copy"]
)
def test_every_error_is_itself_in_another_process(again: Any) -> None:
    for folder in FOLDERS:
        package = importlib.import_module(f"lapilli.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"lapilli.{folder}."):
            if module.name.rpartition(".")[2].endswith("errors") or "emit" in module.name:
                importlib.import_module(module.name)
    importlib.import_module("lapilli.ir.parse")
    importlib.import_module("lapilli.ir.verify")
    kinds = {kind for kind in every_class(lp.Error) if kind.__module__.startswith("lapilli.")}
    assert {kind.__name__ for kind in kinds} >= ARGUMENTS.keys()
    for kind in kinds:
        error = made(kind)
        found = again(error)
        assert type(found) is kind
        assert (str(found), found.args, found.errc, found.code) == (
            str(error),
            error.args,
            error.errc,
            error.code,
        )
        assert (found.location, found.diagnostics) == (error.location, error.diagnostics)
        assert getattr(found, "__notes__", None) == getattr(error, "__notes__", None)
        left = {name: value for name, value in vars(error).items() if not isinstance(value, ModuleOp)}
        assert {name: vars(found)[name] for name in left} == left and vars(found).keys() == vars(error).keys()
