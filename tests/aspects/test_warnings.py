"""`lp.AspectWarning`: the seed's text, once, at the user's line."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

import lapilli as lp
from lapilli.frontend.compile import analyse_kernels, compile_kernels
from lapilli.ir.target_env import TargetEnv

CHAIN = """
def boo(x: lp.f32):
    return lp.f64(x) * 3.0

def bar(x: lp.f32):
    return boo(x)

@lp.device_has()
@lp.kernel
def foo(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = lp.f32(bar(x[i]))
"""


def texts(module, *names: str, env: TargetEnv | None = None) -> list[str]:
    """What the passes say of kernels of a module."""
    found = analyse_kernels([getattr(module, name) for name in names], env or TargetEnv()).diagnostics
    return [f"{d.location}: {d.message}" if d.location else d.message for d in found]


@pytest.mark.behaviour("WRN-01", "WRN-02", "WRN-03", "WRN-04", "WRN-08", "TPH-04")
def test_a_launch_warns_with_the_text_of_the_design(device, make_module):
    module = make_module(CHAIN)
    x, out = lp.ones(2, device=device), lp.zeros(2, device=device)
    with pytest.warns(lp.AspectWarning) as caught:
        if device.has(lp.Aspect.FP64):
            module.foo[2](x, out)
            assert out.numpy().tolist() == [3, 3]
        else:
            with pytest.raises(lp.KernelNotSupportedError):
                module.foo[2](x, out)
    (warning,) = caught
    assert str(warning.message) == (
        "warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\n"
        "use is from this call chain:\n"
        "  foo()\n"
        "  bar()\n"
        "  boo()\n"
        "compile with '-g' to get source location"
    )
    assert warning.filename == __file__
    assert issubclass(lp.AspectWarning, UserWarning) and warning.message.diagnostic.severity == "warning"


@pytest.mark.behaviour("WRN-09")
def test_once_per_function_and_aspect_and_process(device, make_module):
    module = make_module(CHAIN.replace("lp.f64(x) * 3.0", "lp.f32(lp.f64(1.0) + lp.f64(2.0)) * x"))
    with pytest.warns(lp.AspectWarning):
        module.foo[1](lp.ones(1, device=device), lp.zeros(1, device=device))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        masked = device.masked(without=[lp.Aspect.VK_FLOAT_ATOMIC_ADD, lp.Aspect.FP64])
        module.foo[1](lp.ones(1, device=masked), lp.zeros(1, device=masked))
        module.foo[(1, 1)](lp.ones(1, device=device), lp.zeros(1, device=device))


def compiled_helper(v):
    return lp.f32(lp.f64(v))


@pytest.mark.behaviour("WRN-09")
def test_functions_of_one_name_are_told_apart(device):
    """Also those of one `def`, which makes a new function each time; a helper with two argument types is one."""
    masked = device.masked(without=[lp.Aspect.FP64])
    kernels: list[object] = []  # in the images of the module the second one has another name
    for _ in range(2):

        @lp.device_has()
        def helper(v):
            return compiled_helper(v)

        @lp.kernel
        def k(x: lp.Array[lp.f32], y: lp.Array[lp.i32]):
            x[0] = helper(x[0]) + helper(y[0])

        for times in (1, 0):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with pytest.raises(lp.KernelNotSupportedError):
                    k[1](lp.zeros(1, device=masked), lp.zeros(1, lp.i32, device=masked))
            heads = [str(warning.message).partition("\n")[0] for warning in caught]
            expected = "warning: function 'helper' uses aspect 'fp64' not listed in 'sycl::device_has'"
            assert heads == [expected] * times

        @lp.device_has()
        @lp.kernel
        def folded(x: lp.Array[lp.f32]):
            x[0] = lp.f32(lp.f64(2.5))

        with pytest.warns(lp.AspectWarning, match="function 'folded' uses") as found:
            context = lp.Context([masked])
            lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=folded)
            folded[1](lp.zeros(1, device=masked))
        assert len(found) == 1
        kernels.append(folded)


TOLD_IN_EACH_PROCESS = """
import os
import subprocess
import sys
import warnings
import lapilli as lp

@lp.device_has()
@lp.kernel
def k(x: lp.Array[lp.f32]):
    x[0] = lp.f32(lp.f64(2.5))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    k[1](lp.zeros(1))
print(*(warning.category.__name__ for warning in caught))
"""


@pytest.mark.behaviour("WRN-01")
def test_a_warning_does_not_depend_on_the_cache(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TOLD_IN_EACH_PROCESS, encoding="utf-8")
    env = {**os.environ, "LAPILLI_CACHE": "1", "LAPILLI_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, program], env=env, capture_output=True, text=True, timeout=120, check=True
        )
        assert done.stdout == "AspectWarning\n"


TWO = """
@lp.device_has()
@lp.kernel
def other(x: lp.Array[lp.f32]):
    x[0] = lp.f32(lp.f64(x[0]))

@lp.kernel
def plain(x: lp.Array[lp.f32]):
    x[0] = 1.0
"""


@pytest.mark.behaviour("WRN-09")
def test_a_bundle_warns_of_its_own_kernels_only(device, make_module):
    module = make_module(TWO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lp.get_kernel_bundle(lp.Context([device]), state=lp.BundleState.EXECUTABLE, kernel=module.plain)


def test_as_an_error_it_stays_one(device, make_module):
    module = make_module(CHAIN.replace("lp.f64(x) * 3.0", "lp.f32(lp.f64(1.0) + lp.f64(2.0)) * x"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", lp.AspectWarning)
        for _ in range(2):
            with pytest.raises(lp.AspectWarning):
                module.foo[1](lp.ones(1, device=device), lp.zeros(1, device=device))


@pytest.mark.behaviour("WRN-05")
def test_with_debug_information_it_says_where(make_module):
    module = make_module(CHAIN)
    file = module.__file__
    (text,) = texts(module, "foo", env=TargetEnv(debug_info=True))
    assert text == (
        f"{file}:4:12: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'\n"
        "use is from this call chain:\n"
        "  foo()\n"
        f"  bar() {file}:13:21\n"
        f"  boo() {file}:7:12"
    )


@pytest.mark.behaviour("WRN-05")
def test_compile_options_debug_turns_locations_on(device, make_module):
    module = make_module("lp.compile_options(debug=True)\n" + CHAIN.replace("* 3.0", "* 0.0"))
    with pytest.warns(lp.AspectWarning) as caught:
        try:
            module.foo[1](lp.ones(1, device=device), lp.zeros(1, device=device))
        except lp.KernelNotSupportedError:
            assert not device.has(lp.Aspect.FP64)
    assert str(caught[0].message).startswith(
        f"{module.__file__}:5:12: warning: function 'foo' uses aspect 'fp64'"
    )


@pytest.mark.behaviour("WRN-07", "ASP-20")
def test_without_a_declaration_nothing_is_said(make_module):
    module = make_module(CHAIN.replace("@lp.device_has()\n", ""))
    assert texts(module, "foo") == []
    (image,) = compile_kernels([module.foo])
    assert image.requirements.aspects == (lp.Aspect.FP64,)


@pytest.mark.behaviour("WRN-06")
@pytest.mark.parametrize("listed", ["lp.Aspect.FP16, lp.Aspect.FP64", "lp.Aspect.FP64, lp.Aspect.FP16"])
def test_the_order_of_the_list_is_irrelevant(make_module, listed):
    assert texts(make_module(CHAIN.replace("device_has()", f"device_has({listed})")), "foo") == []


@pytest.mark.behaviour("WRN-09")
def test_declared_functions_on_the_way_are_reported_too(make_module):
    module = make_module(
        """
@lp.device_has(lp.Aspect.FP64)
def func1(x: lp.f32):
    return lp.f32(lp.f16(x))

@lp.device_has(lp.Aspect.FP64)
@lp.kernel
def k(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    out[0] = func1(x[0]) + func1(x[1])
"""
    )
    heads = [text.splitlines()[0] for text in texts(module, "k")]
    assert sorted(heads) == [
        "function 'func1' uses aspect 'fp16' not listed in 'sycl::device_has'",
        "function 'k' uses aspect 'fp16' not listed in 'sycl::device_has'",
    ]


def test_vendor_aspects_need_no_declaration(make_module):
    module = make_module(
        "@lp.device_has()\n@lp.kernel\ndef k(x: lp.Array[lp.i64]):\n    x[0] = x[0] + lp.i64(lp.sub_group.id())\n"
    )
    assert texts(module, "k") == []


@pytest.mark.behaviour("TPH-02", "TPH-05", "ASP-20")
def test_a_double_that_is_optimised_away_warns_but_is_not_required(device, make_module):
    module = make_module(
        """
@lp.device_has()
@lp.kernel
def k(out: lp.Out[lp.f32]):
    out[lp.global_id(0)] = lp.f32(lp.f64(3.25))
"""
    )
    without = device.masked(without=[lp.Aspect.FP64])
    out = lp.zeros(2, device=without)
    with pytest.warns(lp.AspectWarning, match="fp64"):
        module.k[2](out)
    assert out.numpy().tolist() == [3.25, 3.25]


@pytest.mark.behaviour("TPH-06")
def test_a_double_that_survives_is_required(device, make_module):
    module = make_module(CHAIN.replace("@lp.device_has()\n", ""))
    without = device.masked(without=[lp.Aspect.FP64])
    with pytest.raises(lp.KernelNotSupportedError, match="aspect::fp64"):
        module.foo[1](lp.ones(1, device=without), lp.zeros(1, device=without))


@pytest.mark.behaviour("WRN-11", "FT-01", "FT-02")
def test_fixed_targets_are_checked_without_ahead_of_time_builds(device, make_module):
    module = make_module(
        "lp.compile_options(fixed_targets=['lavapipe', 'swiftshader'])\n"
        + CHAIN.replace("@lp.device_has()\n", "@lp.reqd_work_group_size(512)\n@lp.reqd_sub_group_size(8)\n")
    )
    assert texts(module, "foo") == [
        "function 'foo' uses aspect 'fp64' not supported by fixed target 'swiftshader'\n"
        "use is from this call chain:\n  foo()\n  bar()\n  boo()\n"
        "compile with '-g' to get source location",
        "function 'foo' has required sub-group size '8' not supported by fixed target 'swiftshader'",
        "function 'foo' has required work-group size '512' not supported by fixed target 'swiftshader'",
    ]


def test_an_unknown_fixed_target_is_refused():
    with pytest.raises(lp.InvalidError, match="no fixed target 'vk_nothing'"):
        lp.compile_options(fixed_targets=["vk_nothing"])


@pytest.mark.behaviour("FT-01", "FT-05", "ASP-17")
def test_the_option_stands_on_all_kernels_and_exported_functions(make_module):
    from lapilli.frontend.builder import build_module
    from lapilli.ir.call_graph import function_name, functions
    from lapilli.ir.dialects import aspect
    from lapilli.passes.pipeline import analyse

    module = make_module(
        "lp.compile_options(fixed_targets=['swiftshader', 'lavapipe'])\n"
        "@lp.external\ndef e(x: lp.f32) -> lp.f32:\n    return x\n"
        "@lp.kernel\ndef a(x: lp.Array[lp.f32]):\n    x[0] = 1.0\n"
        "@lp.kernel\ndef b(x: lp.Array[lp.f32]):\n    x[0] = 2.0\n"
    )
    targets = compile_kernels([module.a, module.b])
    assert [image.requirements.fixed_targets for image in targets] == [(0x20000, 0x20001)]
    ir = build_module([module.a, module.b], externals=[module.e])
    (image,) = analyse(ir, TargetEnv(), mode="off", fixed_targets=("swiftshader", "lavapipe")).images
    found = {function_name(f): aspect.fixed_targets(f) for f in functions(image.module)}
    assert found == dict.fromkeys(("a", "b", "e"), frozenset({"swiftshader", "lavapipe"}))
