"""Who may import whom: the table of ARCHITECTURE.md, checked against the sources, functions included."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lapilli.ir import errors

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("frontend", "ir", "passes", "spirv", "vk_runtime", "tools")

MAY_IMPORT: dict[str, frozenset[str]] = {
    "ir": frozenset(),
    "frontend": frozenset({"ir"}),
    "passes": frozenset({"ir"}),
    "spirv": frozenset({"ir"}),
    "vk_runtime": frozenset(
        {
            *(
                "ir.errors",
                "ir.aspects",
                "ir.aspect_table",
                "ir.config",
                "ir.image_formats",
                "ir.device_config",
                "ir.target_env",
                "ir.kernel_info",
                "ir.local_memory",
                "ir.lpk_records",
                "ir.process_object",
                "ir.property_set",
                "ir.public_names",
                "ir.deferred_definitions",
                "ir.sha256",
                "ir.site_text",
                "ir.lazy_logging",
                "ir.start_up",
                "ir.stream",
                "ir.size_arithmetic",
            ),
            *("spirv.device_image", "spirv.lpk", "spirv.reflect", "spirv.binary"),
        }
    ),
    "tools": frozenset(FOLDERS),
}
"""Folder -> folders, or single modules, of lapilli that its files may import beside their own."""

COMPOSITION_ROOTS = frozenset(
    {
        "frontend.compile",
        "frontend.launch",
        "frontend.first_launch",
        "frontend.launch_local_size",
        "frontend.launch_preparation",
        "frontend.indirect_launch",
        "frontend.interpretation",
        "frontend.interpreted_arguments",
        "frontend.inspection",
        "frontend.linking",
        "frontend.units",
        "frontend.unit_image",
        "frontend.unit_images",
        "frontend.bundles",
        "frontend.bundle_arguments",
        "frontend.bundle_images",
        "frontend.bundle_linking",
        "frontend.linked_needs",
        "frontend.bundle_toolchain",
        "frontend.this_module",
        "frontend.native_kernels",
        "frontend.native_input",
        "frontend.vulkan",
        "frontend.lpk_loading",
        "frontend.lpk_kernel_ids",
        "frontend.lpk_building",
        "frontend.lpk_images",
        "frontend.lpk_targets",
        "frontend.sources",
        "frontend.source_images",
        "frontend.spirv_source",
        "frontend.spirv_text_source",
        "frontend.mlir_source",
        "frontend.python_source",
        "frontend.glsl_source",
        "frontend.built_in_bundles",
        "frontend.built_in_images",
        "frontend.built_in_library",
    }
)
"""The modules that may join the compiler to the runtime."""

STANDARD_LIBRARY_SEAMS = (
    "ir.errors",
    "ir.aspects",
    "ir.config",
    "ir.deferred_definitions",
    "ir.target_env",
    "ir.kernel_info",
    "ir.lazy_logging",
    "ir.local_memory",
    "ir.process_object",
    "ir.property_set",
    "ir.public_names",
    "ir.sha256",
    "ir.size_arithmetic",
    "ir.start_up",
    "ir.stream",
    "spirv.device_image",
    "spirv.lpk",
)
"""Loaded by a process that only runs cached images: they, and what they import, need nothing but Python."""

WITHOUT_XDSL = ("vk_runtime", *STANDARD_LIBRARY_SEAMS, "spirv.binary", "spirv.reflect", "spirv.tables")
"""Folders and modules that never load xdsl (190 ms), not through what they import either."""


def _listed(text: str, begin: str, end: str) -> set[str]:
    """The modules that a part of ARCHITECTURE.md names."""
    part = text[text.index(begin) :]
    return set(re.findall(r"`(\w+)`", part[: part.index(end)]))


def test_the_lists_of_the_document_are_these() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    of_ir = _listed(text, "**What `vk_runtime` may import of `ir`:**", "These are") - {"vk_runtime", "ir"}
    assert of_ir == {name.removeprefix("ir.") for name in MAY_IMPORT["vk_runtime"] if name.startswith("ir.")}
    roots = _listed(text, "- compiling and launching:", "`tests/test_layering.py`")
    assert roots == {name.removeprefix("frontend.") for name in COMPOSITION_ROOTS}


def _subclasses(folder: str) -> Iterator[str]:
    """The classes of a folder that derive from a public error."""
    public = {
        name
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.Error)
    }
    for path in sorted((ROOT / folder).rglob("*.py")):
        for item in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(item, ast.ClassDef) and public & {ast.unparse(base) for base in item.bases}:
                yield item.name


@pytest.mark.parametrize("folder", ["frontend", "ir", "passes", "spirv", "vk_runtime"])
def test_the_errors_of_a_folder_are_drawn_at_the_head_of_its_errors(folder: str) -> None:
    drawn = ast.get_docstring(ast.parse((ROOT / folder / "errors.py").read_text("utf-8"))) or ""
    missing = [name for name in _subclasses(folder) if not re.search(rf"\b{name}\b", drawn)]
    assert not missing


def sources() -> Iterator[tuple[str, Path]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "setup" not in path.relative_to(ROOT).parts:  # scripts that run before lapilli is installed
                parts = path.relative_to(ROOT).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


SOURCES = dict(sources())
MODULES = frozenset(SOURCES)


def imports_of(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yields the absolute name of everything that `tree`, in `package`, imports, and the line.

    Names of lapilli begin with ``lapilli.``; ``from ..ir import errors`` gives ``lapilli.ir.errors``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = ("lapilli", *package)[: 1 + len(package) - (node.level - 1)]
                base = ".".join((*kept, *filter(None, [node.module])))
            yield from ((name_imported(base, alias.name), node.lineno) for alias in node.names)


def name_imported(base: str, name: str) -> str:
    """``from lapilli.ir import errors`` imports a module, ``from lapilli.ir.errors import Error`` a name."""
    module = f"{base}.{name}"
    return module if module.removeprefix("lapilli.") in MODULES else base


def is_within(module: str, parents: frozenset[str] | tuple[str, ...]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)


def violations(module: str, source: str, *, is_package: bool) -> list[str]:
    """Returns what `source`, the text of `module`, imports against the table."""
    parts = tuple(module.split("."))
    allowed = MAY_IMPORT[parts[0]] | {parts[0]}
    findings: list[str] = []
    for name, line in imports_of(ast.parse(source), parts if is_package else parts[:-1]):
        target = name.removeprefix("lapilli.")
        if name.split(".")[0] == "xdsl" and is_within(module, WITHOUT_XDSL):
            findings.append(f"{module}:{line} imports {name}; it must not load xdsl")
        elif not name.startswith("lapilli.") or module in COMPOSITION_ROOTS:
            continue
        elif target in FOLDERS and target not in allowed:
            # A bare package is harmless only if it is empty; name the module instead.
            findings.append(f"{module}:{line} imports the folder {target}; name the module")
        elif is_within(target, FOLDERS) and not is_within(target, allowed):
            findings.append(f"{module}:{line} imports {target}; {parts[0]} may import {sorted(allowed)}")
    return findings


def direct_imports(module: str) -> set[str]:
    """Absolute names of all that a module of lapilli imports, functions included."""
    path = SOURCES[module]
    parts = tuple(module.split("."))
    package = parts if path.name == "__init__.py" else parts[:-1]
    return {name for name, _ in imports_of(ast.parse(path.read_text("utf-8")), package)}


def reachable_from(roots: tuple[str, ...]) -> dict[str, set[str]]:
    """Returns every module of lapilli that `roots` load, with what each imports."""
    reached: dict[str, set[str]] = {}
    open_modules = [module for module in MODULES if is_within(module, roots)]
    while open_modules:
        module = open_modules.pop()
        if module not in reached:
            reached[module] = direct_imports(module)
            targets = {
                name.removeprefix("lapilli.") for name in reached[module] if name.startswith("lapilli.")
            }
            open_modules += targets & MODULES
    return reached


@pytest.mark.parametrize("module", sorted(MODULES))
def test_module_imports_only_what_the_table_allows(module: str) -> None:
    path = SOURCES[module]
    assert violations(module, path.read_text("utf-8"), is_package=path.name == "__init__.py") == []


def test_seams_load_nothing_but_the_standard_library() -> None:
    outside = {
        f"{module} imports {name}"
        for module, names in reachable_from(STANDARD_LIBRARY_SEAMS).items()
        for name in names
        if name.split(".")[0] not in {*sys.stdlib_module_names, "lapilli"}
    }
    assert outside == set()


def test_runtime_and_readers_of_binaries_reach_no_xdsl() -> None:
    reached = reachable_from(WITHOUT_XDSL)
    assert "vk_runtime.loader" in reached and "ir.errors" in reached
    assert {m for m, names in reached.items() if any(name.split(".")[0] == "xdsl" for name in names)} == set()


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("vk_runtime.queue", "def f():\n    import xdsl.ir\n", "vk_runtime.queue:2 imports xdsl.ir"),
        ("vk_runtime.queue", "from ..passes import pipeline\n", "vk_runtime.queue:1 imports"),
        ("vk_runtime.queue", "from ..spirv.emit import emit\n", "vk_runtime.queue:1 imports"),
        ("vk_runtime.queue", "from .. import ir\n", "vk_runtime.queue:1 imports the folder ir"),
        ("passes.pipeline", "from ..vk_runtime.queue import Queue\n", "passes.pipeline:1 imports"),
        ("ir.verify", "from lapilli.frontend.types import f32\n", "ir.verify:1 imports frontend.types"),
        ("spirv.emit", "from ..passes.errors import PassError\n", "spirv.emit:1 imports passes.errors"),
        ("spirv.reflect", "from xdsl.ir import Operation\n", "spirv.reflect:1 imports xdsl.ir"),
    ],
)
def test_a_broken_rule_is_found(module: str, source: str, expected: str) -> None:
    assert any(finding.startswith(expected) for finding in violations(module, source, is_package=False))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("vk_runtime.queue", "from ..ir.errors import Error\nfrom .handle import Handle\n"),
        ("frontend.compile", "def f():\n    from ..vk_runtime.queue import Queue\n"),
        ("passes.pipeline", "import xdsl\nfrom ..ir.dialects import aspect\n"),
        ("tools.opt", "from ..passes.pipeline import run\n"),
    ],
)
def test_an_allowed_import_is_not_reported(module: str, source: str) -> None:
    assert violations(module, source, is_package=False) == []


def test_importing_lapilli_loads_neither_xdsl_nor_a_driver_nor_tools() -> None:
    heavy = ("xdsl", "vulkan", "cffi", "matplotlib", "PIL", "scipy", "pandas", "ml_dtypes", "click", "rich")
    program = f"import sys, lapilli; print(*(m for m in {heavy!r} if m in sys.modules))"
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
