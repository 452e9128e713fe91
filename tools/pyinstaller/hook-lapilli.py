"""PyInstaller's hook for lapilli: what programs with ``import lapilli`` are frozen with.

The compiler is a part of it, for kernels from source text.  Programs that only load bundle files leave it out with
``--exclude-module xdsl``.
"""

from __future__ import annotations

from PyInstaller.utils.hooks import (  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
    collect_data_files,  # pyright: ignore[reportUnknownVariableType]
    collect_submodules,  # pyright: ignore[reportUnknownVariableType]
)

from lapilli.ir.context import UPSTREAM_MODULES
from lapilli.spirv.tools import library_candidates


def _is_for_programs(name: str) -> bool:
    """Whether a module is for more than lapilli's commands and other programs' plugins."""
    return not name.startswith("lapilli.tools.")


# lp.math and the built-in kernels are compiled from their text, as all kernels are.
module_collection_mode = "pyz+py"
hiddenimports = [
    *collect_submodules("lapilli", filter=_is_for_programs),
    *UPSTREAM_MODULES,
    "vulkan._vulkancache",  # by its file: see vk_runtime/headers.py
    "_cffi_backend",
]
datas = collect_data_files("lapilli", includes=["**/*.json"])
binaries = [(str(library), "cmeel.prefix/lib") for library in library_candidates()][:1]
