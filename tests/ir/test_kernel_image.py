"""Images in the kernel dialect: the type and its operations print, parse, and refuse what is wrong."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from lapilli.ir.context import make_context
from lapilli.ir.dialects.kernel import KERNEL, KernelParameter, kernel_parameters
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.passes.convert_to_spirv.convert import convert_to_spirv

PIXEL = "(f32, f32, f32, f32)"
READ = f'%p:4 = "kernel.image_read"(%a, %i, %i) : (!kernel.image<2 x f32>, index, index) -> {PIXEL}'
WRITE = (
    '"kernel.image_write"(%a, %i, %i, %f, %f, %f, %f) : '
    "(!kernel.image<2 x f32>, index, index, f32, f32, f32, f32) -> ()"
)
SAMPLE = f'%p:4 = "kernel.image_sample"(%s, %f, %f) : (!kernel.image<2 x f32, sampled>, f32, f32) -> {PIXEL}'
SIZE = '%n = "kernel.image_size"(%a) <{dimension = 1 : i32}> : (!kernel.image<2 x f32>) -> index'


def parse(op: str):
    context = Context()
    for dialect in (Builtin, Func, KERNEL):
        context.load_dialect(dialect)
    text = f"""builtin.module {{
  func.func @f(%a : !kernel.image<2 x f32>, %s : !kernel.image<2 x f32, sampled>, %i : index, %f : f32, %j : i32) {{
    {op}
    func.return
  }}
}}"""
    return Parser(context, text).parse_module()


@pytest.mark.parametrize(
    "type_", ["!kernel.image<1 x f32>", "!kernel.image<3 x si32>", "!kernel.image<2 x ui32, sampled>"]
)
def test_type_round_trips(type_):
    assert type_ == str(Parser(make_context(), type_).parse_type())


@pytest.mark.parametrize(
    "type_",
    ["!kernel.image<4 x f32>", "!kernel.image<0 x f32>", "!kernel.image<2 x i32>", "!kernel.image<2 x f64>"],
)
def test_type_that_cannot_be(type_):
    with pytest.raises(Exception, match=r"dimensions|f32, si32 or ui32"):
        Parser(make_context(), type_).parse_type()


@pytest.mark.parametrize("op", [READ, WRITE, SAMPLE, SIZE])
def test_print_and_parse(op):
    first = parse(op)
    first.verify()
    assert str(Parser(make_context(), str(first)).parse_module()) == str(first)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (READ.replace("%i, %i", "%i").replace("index, index", "index"), "2 coordinates"),
        (READ.replace("%i, %i", "%i, %j").replace("index, index", "index, i32"), "coordinates of index"),
        (READ.replace(PIXEL, "(f32, f32, f32, i32)"), "is 4 of f32"),
        (WRITE.replace("%a", "%s").replace("x f32>", "x f32, sampled>"), "without a sampler"),
        (WRITE.replace("%f, %f)", "%f)").replace("f32, f32) ->", "f32) ->"), "coordinates"),
        (SAMPLE.replace("%s", "%a").replace(", sampled>", ">"), "with a sampler"),
        (
            SAMPLE.replace("%f, %f", "%i, %i").replace("f32, f32) ->", "index, index) ->"),
            "coordinates of f32",
        ),
        (SIZE.replace("1 : i32", "2 : i32"), "0 to 1"),
    ],
)
def test_what_the_verifier_refuses(op, message):
    with pytest.raises(VerifyException, match=message):
        parse(op).verify()


KERNEL_TEXT = """
builtin.module {
  func.func @k(%img : !kernel.image<2 x f32>, %x : memref<?xf32>) attributes {gpu.kernel, kernel.rank = 2 : i32,
      kernel.parameters = [{name = "img", dtype = "Vec[f32, 4]", ndim = 2 : i32, access = "ACCESS", image},
                           {name = "x", dtype = "f32", ndim = 1 : i32, access = "write"}]} {
    %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    BODY
    func.return
  }
}
"""
READ_AND_STORE = (
    '%p:4 = "kernel.image_read"(%img, %i, %i) : (!kernel.image<2 x f32>, index, index) -> (f32, f32, f32, f32)\n'
    "memref.store %p#0, %x[%i] : memref<?xf32>"
)


@pytest.mark.behaviour("IOP-41")
@pytest.mark.parametrize(
    ("access", "descriptor", "type_"),
    [
        ("read", "fetched", "NeedSampler, Unknown"),
        ("read_write", "storage", "NoSampler, Rgba32f"),
    ],
)
def test_what_an_image_becomes_follows_from_its_access(access, descriptor, type_):
    module = parse_module(KERNEL_TEXT.replace("ACCESS", access).replace("BODY", READ_AND_STORE)).module
    verify_module(module)
    lowered, (info,), _ = convert_to_spirv(module, TargetEnv())
    verify_module(lowered)
    assert (
        f"!spirv.ptr<!spirv.image<f32, Dim2D, NoDepth, NonArrayed, SingleSampled, {type_}>, UniformConstant>"
        in str(lowered)
    )
    image, array = info.parameters
    assert (image.descriptor, image.binding, image.format) == (
        *(descriptor, 0, "r32g32b32a32_sfloat" if access == "read_write" else ""),
    )
    assert array.binding == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", image}", "}", "'image'"),
        ('ndim = 2 : i32, access = "read"', 'ndim = 3 : i32, access = "read"', "ndim"),
        ('dtype = "Vec[f32, 4]"', 'dtype = "pixel"', "unknown dtype"),
        ("image}", "image = 1 : i32}", "unit attribute"),
    ],
)
def test_parameters_that_do_not_say_what_they_are(old, new, message):
    text = KERNEL_TEXT.replace("ACCESS", "read").replace("BODY", "")
    assert old in text
    (kernel,) = parse_module(text.replace(old, new)).module.body.ops
    with pytest.raises(VerifyException, match=message):
        kernel_parameters(kernel)


def test_foreign_ir_needs_no_parameters():
    module = parse_module(
        "builtin.module { func.func @k(%a : !kernel.image<3 x ui32>) attributes {gpu.kernel} { func.return } }"
    ).module
    (kernel,) = module.body.ops
    assert kernel_parameters(kernel) == (
        KernelParameter(name="arg0", dtype="Vec[u32, 4]", ndim=3, is_image=True),
    )
