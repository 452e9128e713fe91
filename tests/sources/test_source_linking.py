"""Sources that call each other's functions, and kernels of one name in several sources."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.externals import EXTERNALS

pytestmark = pytest.mark.device

LIBRARY = """
import lapilli as lp

@lp.external
@lp.device_has()
def twice(v: lp.i32) -> lp.i32:
    return 2 * v

@lp.external("source_next")
def after(v: lp.i32) -> lp.i32:
    return twice(v) + 1
"""
KERNEL = """
import lapilli as lp

@lp.extern("source_next")
def after(v: lp.i32) -> lp.i32: ...

@lp.kernel
def user(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] = after(x[lp.global_id(0)])
"""
WIDE = KERNEL.replace("user", "wide").replace("] = after(", "] += lp.i32(0.5 * lp.f64(x[0])) + after(")


def compiled(context, text):
    return lp.compile(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text))


@pytest.mark.behaviour("EXT-10", "CLB-02", "CLB-14")
def test_python_text_exports_and_imports(context, queue, device):
    library, user = compiled(context, LIBRARY), compiled(context, KERNEL)
    assert not EXTERNALS.exporting("source_next") and not EXTERNALS.exporting("twice")
    linked = lp.link([user, library])
    x = lp.asarray(np.arange(3, dtype=np.int32), device=device)
    queue.parallel_for(3, linked.ext_oneapi_get_kernel("user"), x)
    assert x.numpy().tolist() == [1, 3, 5]
    assert [image.kernels for image in linked] == [("user",)]
    assert linked.get_kernel_ids() == [] and linked.has_kernel("user")
    assert linked.get_kernel("user") == linked.ext_oneapi_get_kernel("user")
    with pytest.raises(lp.UnknownKernelError, match="no kernel 'nobody'"):
        linked.get_kernel("nobody")
    with pytest.raises(lp.LinkError, match="unresolved symbol 'source_next', called by kernel 'user'"):
        lp.link(user)
    with pytest.raises(lp.LinkError, match="unresolved symbol 'source_next'"):
        lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, KERNEL))


@pytest.mark.behaviour("SRC-09", "CLB-01", "RT-13")
def test_a_kernel_that_no_device_runs_does_not_keep_others_from_being_linked(device):
    masked = device.masked(without=[lp.Aspect.FP64])
    context = lp.Context([masked])
    linked = lp.link([compiled(context, text) for text in (KERNEL, WIDE, LIBRARY)])
    assert linked.ext_oneapi_has_kernel("user") and not linked.ext_oneapi_has_kernel("wide")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('@lp.extern("f")\n@lp.kernel\ndef k(): ...', ":2:2: error: 'k' has another decorator"),
        ("@lp.extern\ndef f() -> lp.i32: ...", r'expected @lp.extern\("symbol"\)'),
        ('@lp.external("")\ndef f(v: lp.i32) -> lp.i32:\n    return v', "expected the symbol"),
        ('@lp.extern("f")\ndef f(v: lp.i32) -> lp.i32:\n    return v', "expected the body '...'"),
        (
            "@lp.external\n@lp.reqd_work_group_size(4)\ndef f(v: lp.i32) -> lp.i32:\n    return v",
            "not allowed",
        ),
        (
            "@lp.reqd_work_group_size(4)\n@lp.external\ndef f(v: lp.i32) -> lp.i32:\n    return v",
            "not allowed",
        ),
        (
            "@lp.external('f')\ndef a(v: lp.i32) -> lp.i32:\n    return v\n"
            "@lp.external('f')\ndef b(v: lp.i32) -> lp.i32:\n    return v",
            ":5:2: error: symbol 'f' is exported twice",
        ),
    ],
)
def test_functions_that_cannot_be_linked(context, text, message):
    with pytest.raises(lp.CompileError, match=message):
        compiled(context, f"import lapilli as lp\n{text}\n")


@pytest.mark.behaviour("CLB-09")
def test_two_sources_with_a_kernel_of_one_name(context, queue, device):
    text = "import lapilli as lp\n@lp.kernel\ndef k(x: lp.Array[lp.i32]):\n    x[0] = 42\n"
    one, other = compiled(context, text), compiled(context, text.replace("42", "24"))
    for parts in ([one, other], lp.join([one, other])):
        with pytest.raises(lp.LinkError, match="kernel 'k' is in two sources"):
            lp.link(parts)
    assert len(lp.link([one, one])) == 1
    joined = lp.join([lp.link(one), lp.link(other)])
    assert joined.ext_oneapi_has_kernel("k")
    with pytest.raises(lp.InvalidError, match="2 sources that the bundle was built from have a kernel 'k'"):
        joined.ext_oneapi_get_kernel("k")
    with pytest.raises(lp.InvalidError, match="2 sources that the bundle was built from have a kernel 'k'"):
        joined.get_kernel("k")


@pytest.mark.behaviour("SRC-15")
def test_a_fixed_target_that_nobody_knows_is_the_source_s_mistake(context):
    text = 'func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["nobodys"]} { func.return }'
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.MLIR, text)
    with pytest.raises(lp.BuildError, match="no fixed target 'nobodys'") as caught:
        lp.build(source)
    assert "nobodys" in caught.value.log


INDENTED = """\ufeff
    N = 3

    @lp.struct
    class Pair:
        first: lp.i32
        second: lp.i32 = N

    @lp.kernel
    def indented(x: lp.Array[lp.i32]):
        x[lp.global_id(0)] = Pair(4).second
    """


def test_python_text_may_be_indented_and_needs_no_import(context, queue, device):
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, INDENTED))
    x = lp.zeros(2, lp.i32, device=device)
    queue.parallel_for(2, bundle.ext_oneapi_get_kernel("indented"), x)
    assert x.numpy().tolist() == [3, 3]
    wrong = INDENTED.replace("Pair(4).second", "nobody")
    with pytest.raises(lp.BuildError, match=r":11:\d+: error: unknown name 'nobody'"):
        lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, wrong))


FIVEFOLD = """
OpCapability Shader
OpCapability Linkage
OpMemoryModel Logical GLSL450
OpDecorate %fivefold LinkageAttributes "source_next" Export
%int = OpTypeInt 32 SIGN
%type = OpTypeFunction %int %int
%five = OpConstant %int 5
%fivefold = OpFunction %int None %type
%v = OpFunctionParameter %int
%label = OpLabel
%result = OpIMul %int %v %five
OpReturnValue %result
OpFunctionEnd
"""


@pytest.mark.behaviour("IOP-45")
def test_integers_between_modules_have_no_sign(context, queue, device):
    user = compiled(context, KERNEL)
    unsigned, signed = (
        lp.compile(
            lp.create_kernel_bundle_from_source(
                context, lp.SourceLanguage.SPIRV_ASM, FIVEFOLD.replace("SIGN", sign)
            )
        )
        for sign in "01"
    )
    x = lp.asarray(np.array([-3, 4], np.int32), device=device)
    queue.parallel_for(2, lp.link([user, unsigned]).ext_oneapi_get_kernel("user"), x)
    assert x.numpy().tolist() == [-15, 20]
    with pytest.raises(
        lp.LinkError, match=r"has type \(u32\) -> u32 .* and \(i32\) -> i32 .*have no sign, OpTypeInt 32 0"
    ):
        lp.link([user, signed])
