"""Finds the harness by its place in the checkout: it is not installed, and other packages have its name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
_PACKAGE = "lapilli_benchmarks"


def load(name: str) -> ModuleType:
    """Returns a module of the harness."""
    if _PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            _PACKAGE, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
        )
        assert spec is not None and spec.loader is not None, f"{_FOLDER} holds no package"
        package = importlib.util.module_from_spec(spec)
        sys.modules[_PACKAGE] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_PACKAGE}.{name}")
