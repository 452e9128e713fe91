"""The whole pipeline: order of the passes, what survives optimisation, hooks and errors."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from lapilli.ir.aspects import Aspect
from lapilli.ir.errors import InvalidError, Location
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError
from lapilli.passes.pipeline import analyse, compile_module, lower_all
from lapilli.passes.registry import parse_passes, pass_factory, pass_names


def kernel(name: str, body: str, attributes: str = "") -> str:
    return f"""
    func.func @{name}(%y: memref<?xf32>, %x: f32)
        attributes {{gpu.kernel, kernel.rank = 1 : i32 {attributes}}} {{
      %i = arith.constant 0 : index
      {body}
      memref.store %r, %y[%i] : memref<?xf32>
      func.return
    }}"""


PLAIN = "%r = arith.addf %x, %x : f32"
FOLDED = '%d = arith.constant 3.5 : f64 loc("k.py":2:9)  %r = arith.truncf %d : f64 to f32'
DOUBLE = """
      %d = arith.extf %x : f32 to f64 loc("k.py":7:9)
      %s = math.sqrt %d : f64
      %r = arith.truncf %s : f64 to f32"""


def test_passes_run_in_order() -> None:
    seen: list[str] = []
    module = parse_module(kernel("a", PLAIN) + kernel("b", DOUBLE)).module
    compile_module(module, TargetEnv(), after_pass=lambda name, _: seen.append(name))
    assert seen == [
        "propagate-aspects",
        "optimise",
        "propagate-aspects",
        "split-modules",
        "compute-requirements",
        "compute-requirements",
        "convert-to-spirv",
        "convert-to-spirv",
    ]


def test_kernels_with_and_without_f64_land_in_different_images() -> None:
    result = compile_module(parse_module(kernel("a", PLAIN) + kernel("b", DOUBLE)).module, TargetEnv())
    first, second = result.splits
    assert [k.name for k in first.kernels] == ["a"]
    assert first.requirements.aspects == ()
    assert [k.name for k in second.kernels] == ["b"]
    assert second.requirements.aspects == (Aspect.FP64,)
    (use,) = second.kernels[0].aspect_uses
    assert use.location == Location("k.py", 7, 9, "b")
    assert use.what == "f64 value"
    assert second.kernels[0].aspects == (Aspect.FP64,)


def test_an_f64_that_is_optimised_away_warns_but_is_not_required() -> None:
    module = parse_module(kernel("k", FOLDED, ", aspect.declared = []")).module
    result = compile_module(module, TargetEnv())
    assert result.splits[0].requirements.aspects == ()
    (warning,) = result.diagnostics
    assert warning.location is None and warning.message.endswith("compile with '-g' to get source location")
    assert warning.message.startswith("function 'k' uses aspect 'fp64' not listed in 'sycl::device_has'")


def test_nothing_is_folded_at_level_0() -> None:
    module = parse_module(kernel("k", FOLDED)).module
    result = compile_module(module, TargetEnv(optimisation_level=0))
    assert result.splits[0].requirements.aspects == (Aspect.FP64,)


def test_op_level_aspects_survive_the_op() -> None:
    module = parse_module(
        kernel("k", "%u = arith.addf %x, %x {aspect.used = [9 : i32]} : f32 " + PLAIN)
    ).module
    analysis = analyse(module, TargetEnv())
    assert analysis.images[0].requirements.aspects == (9,)


def test_kernel_attributes_survive_optimisation() -> None:
    attributes = ', aspect.declared = [1 : i32], aspect.reqd_sub_group_size = 16 : i32, aspect.unit = "m"'
    analysis = analyse(parse_module(kernel("k", PLAIN, attributes)).module, TargetEnv())
    (kernel_op,) = analysis.images[0].module.body.ops
    assert {"aspect.declared", "aspect.reqd_sub_group_size", "aspect.unit", "kernel.rank"} <= set(
        kernel_op.attributes
    )
    assert str(kernel_op.attributes["aspect.fixed_targets"]) == "[]"


def test_analysis_ends_before_lowering() -> None:
    seen: list[str] = []
    module = parse_module(kernel("k", DOUBLE)).module
    analysis = analyse(module, TargetEnv(), after_pass=lambda name, _: seen.append(name))
    assert "convert-to-spirv" not in seen
    (image,) = analysis.images
    assert [use.aspect for use in image.aspect_uses["k"]] == [Aspect.FP64]
    (lowered,) = lower_all(analysis, TargetEnv())
    assert lowered.kernel_ir is image.module


def test_mode_reaches_the_split() -> None:
    text = kernel("a", PLAIN) + kernel("b", PLAIN)
    assert len(analyse(parse_module(text).module, TargetEnv()).images) == 1
    assert len(analyse(parse_module(text).module, TargetEnv(), mode="per_kernel").images) == 2
    with pytest.raises(InvalidError, match="unknown device code split mode"):
        analyse(parse_module(text).module, TargetEnv(), mode="some")


@pytest.mark.parametrize(
    "text", [kernel("k", "%r = spec_constant.get @c : f32"), kernel("k", PLAIN, ", kernel.x")]
)
def test_what_does_not_verify_is_refused_first(text: str) -> None:
    seen: list[str] = []
    with pytest.raises(IRError):
        analyse(parse_module(text).module, TargetEnv(), after_pass=lambda name, _: seen.append(name))
    assert seen == []


def test_a_module_without_kernels_makes_no_image() -> None:
    assert compile_module(ModuleOp([]), TargetEnv()).splits == ()


def test_every_registered_pass_has_its_own_name() -> None:
    for name in pass_names():
        assert pass_factory(name)().name == name


def test_pipelines_are_parsed_with_options() -> None:
    first, second = parse_passes(
        "propagate-aspects{exclude=4,1 fixed-targets=a,b warn=true},split-modules{mode=off}"
    )
    assert str(first) == 'propagate-aspects{exclude=4,1 fixed_targets="a","b" warn=true}'
    assert str(second) == 'split-modules{mode="off"}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "split-module",
            "unknown pass 'split-module', expected one of canonicalize, carry-results, coarsen",
        ),
        ("split-modules{mood=off}", "pass 'split-modules' has no option 'mood', expected one of mode"),
        ("cse{mode=off}", "pass 'cse' has no option 'mode', it takes none"),
        ("split-modules{mode}", "option 'mode' of pass 'split-modules' takes a name, found nothing"),
        ("split-modules{mode=a,b}", "option 'mode' of pass 'split-modules' takes a name, found 'a,b'"),
        ("propagate-aspects{warn=1}", "'warn' of pass 'propagate-aspects' takes true or false, found '1'"),
        (
            "propagate-aspects{fixed-targets=1}",
            "'fixed-targets' of pass 'propagate-aspects' takes names, as a,b",
        ),
        ("coarsen{lanes=x}", "option 'lanes' of pass 'coarsen' takes a whole number, found 'x'"),
        ("split-modules{", "Error parsing pass pipeline"),
    ],
)
def test_bad_pipelines_are_errors(text: str, message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parse_passes(text)
    assert message in str(caught.value)


def test_an_option_without_a_value_is_true() -> None:
    (bare,) = parse_passes("propagate-aspects{warn exclude}")
    assert str(bare) == "propagate-aspects{warn=true}"


TWO_MODULES = """
gpu.module @m {{ gpu.func @k() kernel {{ gpu.return }} }}
gpu.module @n {{ gpu.func @{name}() kernel {{ %d = arith.constant 1.0 : f64  gpu.return }} }}"""


def test_kernels_of_different_modules_have_names_of_their_own() -> None:
    assert len(compile_module(parse_module(TWO_MODULES.format(name="l")).module, TargetEnv()).splits) == 1
    with pytest.raises(IRError, match="'k' is defined twice; kernels and exported functions need names"):
        compile_module(parse_module(TWO_MODULES.format(name="k")).module, TargetEnv())
