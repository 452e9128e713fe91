"""`lp.compile_options`: per Python module, before its kernels, and what it changes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import lapilli as lp
from lapilli.frontend.compile import executable_for
from lapilli.frontend.compile_options import CompileOptions, options_of


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports a module of the given text, under a name of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def make(text: str) -> ModuleType:
        name = f"options_{tmp_path.name.replace('-', '_')}_{len(names)}"
        names.append(name)
        (tmp_path / f"{name}.py").write_text("import lapilli as lp\n" + text, "utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


KERNEL = """
@lp.kernel
def fill(out: lp.Out[lp.f32]):
    out[lp.global_id(0)] = lp.f32(2.0) * lp.f32(3.0)
"""


def test_options_belong_to_the_calling_module(make_module):
    first = make_module("lp.compile_options(debug=True, opt_level=0, device_code_split='off')\n" + KERNEL)
    second = make_module(KERNEL)
    assert options_of(first.__name__) == CompileOptions(debug=True, opt_level=0, device_code_split="off")
    assert options_of(second.__name__) == CompileOptions() == options_of("no such module")


def test_a_second_call_changes_only_what_it_names(make_module):
    module = make_module("lp.compile_options(debug=True)\nlp.compile_options(opt_level=2)")
    assert options_of(module.__name__) == CompileOptions(debug=True, opt_level=2)


def test_after_a_kernel_is_too_late(make_module):
    with pytest.raises(lp.InvalidError, match="has kernels already") as caught:
        make_module(KERNEL + "\nlp.compile_options(debug=True)\n")
    assert caught.value.code == "LP1010"


def test_a_module_may_be_loaded_again(make_module):
    module = make_module("lp.compile_options(opt_level=2)\n" + KERNEL)
    assert options_of(importlib.reload(module).__name__).opt_level == 2


@pytest.mark.behaviour("SPL-05")
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device_code_split", "x"),
        ("device_code_split", ""),
        ("opt_level", 3),
        ("opt_level", True),
        ("debug", 1),
        ("disabled_passes", "cse"),
        ("disabled_passes", ["constant folding"]),
        ("disabled_passes", [3]),
        ("disabled_passes", 3),
        ("spec_constants", "maybe"),
        ("fixed_targets", "lavapipe"),
        ("fixed_targets", [1]),
        ("fixed_targets", 5),
    ],
)
def test_a_value_that_the_option_does_not_take(option, value):
    with pytest.raises(lp.InvalidError, match=option) as caught:
        lp.compile_options(**{option: value})
    assert caught.value.errc is lp.Errc.INVALID


def test_launches_are_compiled_by_the_options(device, make_module):
    module = make_module("lp.compile_options(debug=True, opt_level=0)\n" + KERNEL)
    out = lp.zeros(4, device=device)
    module.fill[4](out)
    assert out.numpy().tolist() == [6] * 4
    image = executable_for(module.fill, 1, device).image
    assert image.target_env.debug_info and image.target_env.optimisation_level == 0
    text = module.fill.inspect("spirv")
    assert "OpFMul" in text and "OpLine" in text


def test_passes_are_switched_off(device, make_module):
    text = "lp.compile_options(disabled_passes=['dce', 'canonicalize', 'dce'])\n"
    module = make_module(text + KERNEL)
    image = executable_for(module.fill, 1, device).image
    assert image.target_env.disabled_passes == ("canonicalize", "dce")
    assert "OpFMul" in module.fill.inspect("spirv")
    assert "OpFMul" not in make_module(KERNEL).fill.inspect("spirv")


def test_the_kernels_own_level_wins(device, make_module):
    text = KERNEL.replace("@lp.kernel", "@lp.kernel(opt_level=1)")
    module = make_module("lp.compile_options(opt_level=0)\n" + text)
    assert executable_for(module.fill, 1, device).image.target_env.optimisation_level == 1


def test_options_in_a_text_are_those_of_the_module_that_reads_it(make_module):
    text = "lp.compile_options(disabled_passes=['cse'])\n" + KERNEL
    module = make_module(f"k = lp.kernel_from_source({text!r})")
    assert options_of(module.k.function.__module__).disabled_passes == ("cse",)
    with pytest.raises(lp.InvalidError, match="has kernels already"):
        make_module(f"{KERNEL}\nlp.kernel_from_source({text!r})")
