"""What functions remember of the values in kernels is bounded: a process may have kernels without end."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import lapilli

FEW = {
    "component": "the components of a vector",
    "extract_index": "the components of a vector",
    "id_counts": "opcodes, which have 16 bits",
    "id_type": "ranks",
    "instruction": "opcodes, which have 16 bits",
    "work_item": "kinds and ranks",
}
"""Functions without a bound whose numbers are few, whatever the kernels; texts are the compiler's own words."""


def unbounded() -> Iterator[tuple[str, Any]]:
    """Yields the functions of lapilli that remember every result, by name."""
    for found in pkgutil.walk_packages(lapilli.__path__, "lapilli."):
        name = found.name.rpartition(".")[2]
        if name == "__main__" or not name.isidentifier():  # programs, and the hooks of others
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            if hasattr(value, "cache_parameters") and value.cache_parameters()["maxsize"] is None:
                yield name, value


def test_no_function_remembers_every_number() -> None:
    seen = dict(unbounded())
    assert FEW.keys() <= seen.keys()
    for name, function in seen.items():
        types = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
        assert name in FEW or not {"int", "float", "bytes"} & {*types}, name
