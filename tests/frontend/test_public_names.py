"""The package's public names: lazy, complete, and the same in the stubs."""

from __future__ import annotations

import ast
import builtins
import subprocess
import sys
from pathlib import Path

import pytest

import lapilli as lp

STUB = Path(lp.__file__).with_name("__init__.pyi")


@pytest.mark.parametrize("name", lp.__all__)
def test_name_resolves(name: str) -> None:
    value = getattr(lp, name)
    assert getattr(lp, name) is value


def test_every_intrinsic_is_public() -> None:
    from lapilli.frontend.intrinsics import PUBLIC_INTRINSICS

    assert {name: getattr(lp, name) for name in PUBLIC_INTRINSICS} == PUBLIC_INTRINSICS


def test_stub_has_the_members_of_math() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    (stub,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "_Math")
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    constants = {ast.unparse(node.target) for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert functions | constants == set(dir(lp.math))


def test_all_leaves_out_builtin_names() -> None:
    assert not [name for name in lp.__all__ if hasattr(builtins, name)]
    assert {"kernel", "f32", "Array", "SpecializationId", "Error"} <= set(lp.__all__)


def test_dir_lists_names_before_they_are_used() -> None:
    code = "import lapilli; print('kernel' in dir(lapilli), 'kernel' in vars(lapilli), 'sys' in dir(lapilli))"
    assert run(code) == "True False False"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'lapilli' has no attribute 'kernal'"):
        lp.kernal  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(lp, "__wrapped__")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("float32", "write lp.f32"),
        ("float4", "write lp.f32x4"),
        ("num_groups", r"in a kernel write lp.group_range\(d\)"),
        ("jit", "write @lp.kernel"),
        ("random", r"write lp.asarray\(np.random.default_rng\(\).random"),
        ("arange", r"write lp.asarray\(np.arange\(…\)\)"),
        ("nd_range", "write lp.NdRange"),
        ("specialization_id", "write lp.SpecializationId"),
        ("any_device_has", r"write any\(d.has\(lp.Aspect.FP64\) for d in lp.devices\(\)\)"),
        ("gpu_selector_v", r"write lp.device\(\), or lp.select_device"),
        ("local_accessor", r"write lp.LocalArray"),
        ("reduction", "write lp.group.reduce"),
        ("atomic_ref", r"in a kernel write lp.atomic.add\(a, i, v\)"),
        ("synchronize", r"write event.wait\(\)"),
        ("threadIdx", r"in a kernel write lp.local_id\(d\)"),
        ("sqrt", r"in a kernel write lp.math.sqrt\(x\)"),
    ],
)
def test_names_of_other_systems_say_what_to_write(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; {instead}"):
        getattr(lp, name)


@pytest.mark.parametrize(
    ("of", "name", "meant"),
    [
        (lp.Aspect, "FP46", "lp.Aspect.FP64"),
        (lp.Aspect, "fp64", "lp.Aspect.FP64"),
        (lp.Errc, "invalid", "lp.Errc.INVALID"),
        (lp.BundleState, "Executable", "lp.BundleState.EXECUTABLE"),
        (lp.AddressingMode, "CLAMP", "lp.AddressingMode.clamp"),
        (lp.config, "DEBUG", "lp.config.debug"),
        (lp.info.device, "max_workgroup_size", "max_work_group_size"),
    ],
)
def test_members_that_are_missing_say_which_is_meant(of: object, name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"has no [a-z]+ '{name}'; did you mean {meant}\\?"):
        getattr(of, name)
    assert not hasattr(of, "nothing_of_the_kind")


def test_members_by_name_and_value_are_what_they_were() -> None:
    assert lp.Aspect["FP64"] is lp.Aspect.FP64 is lp.Aspect(6)
    with pytest.raises(KeyError, match=r"did you mean lp\.Aspect\.FP64"):
        lp.Aspect["fp64"]


def test_import_loads_nothing_of_weight() -> None:
    code = (
        "import sys; before = set(sys.modules); import lapilli; "
        "print(sorted(m.split('.')[0] for m in set(sys.modules) - before "
        "if m.split('.')[0] in ('numpy', 'xdsl', 'vulkan', 'inspect', 'rich', 'click')))"
    )
    assert run(code) == "[]"


def test_defining_a_kernel_imports_no_compiler_and_no_driver() -> None:
    code = (
        "import sys, lapilli as lp\n"
        "def k(a: lp.f32, b: lp.In[lp.f32, 2]) -> None: pass\n"
        "K = lp.kernel(k)[5].spec({lp.SpecializationId(lp.u32): 1}); lp.NdRange(4, 2)\n"
        "print([m for m in ('xdsl', 'vulkan', 'lapilli.vk_runtime') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_stub_has_exactly_the_public_names() -> None:
    names: set[str] = set()
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.update(alias.asname or alias.name for alias in node.names)
    public = {name for name in names if not name.startswith("_")}
    packages = {"spirv", "vulkan"}  # subpackages are found by name, and no part of a star import
    assert public - set(dir(builtins)) - packages == set(
        lp.__all__
    )  # a star import leaves builtin names alone


def run(code: str) -> str:
    """Runs `code` in a fresh interpreter and returns what it printed."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
