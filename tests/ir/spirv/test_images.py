"""Images in the spirv dialect: types and operations print, parse, verify, become SPIR-V, and come back."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from xdsl.parser import Parser

from lapilli.ir.context import make_context
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Capability
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.validation import validate

from .operations_table import IMAGES, parsed


def image(
    dim="Dim2D",
    use="NeedSampler",
    format="Unknown",
    element="f32",
    arrayed="NonArrayed",
    depth="NoDepth",
    samples="SingleSampled",
):
    return f"!spirv.image<{element}, {dim}, {depth}, {arrayed}, {samples}, {use}, {format}>"


def sampled(dim="Dim2D", **rest):
    return f"!spirv.sampled_image<{image(dim, **rest)}>"


STORAGE = image(use="NoSampler", format="Rgba32f")
DEPTH = sampled(depth="IsDepth")
COUNTER = f"!spirv.ptr<{image(use='NoSampler', format='R32i', element='i32')}, UniformConstant>"
SPARSE = "!spirv.struct<(i32, vector<4xf32>)>"
RESIDENT = (Capability.SparseResidency,)
LOD = "<{image_operands = #spirv.image_operands<Lod>}>"

# Operation, types of its operands, its properties, its result, and the capabilities that it brings.
ROWS = {
    "Image": ("Image", [sampled()], "", image(), ()),
    "SampledImage": ("SampledImage", [image(), "!spirv.sampler"], "", sampled(), ()),
    "ImageSampleExplicitLod": (
        *("ImageSampleExplicitLod", [sampled(), "vector<2xf32>", "f32"], LOD, "vector<4xf32>"),
        (),
    ),
    "sample 1D": (
        *("ImageSampleExplicitLod", [sampled("Dim1D"), "f32", "f32"], LOD, "vector<4xf32>"),
        (Capability.Sampled1D,),
    ),
    "sample 3D of si32": (
        *("ImageSampleExplicitLod", [sampled("Dim3D", element="si32"), "vector<3xf32>", "f32"], LOD),
        *("vector<4xsi32>", ()),
    ),
    "ImageFetch": ("ImageFetch", [image(), "vector<2xi32>", "i32"], LOD, "vector<4xf32>", ()),
    "fetch array": (
        *("ImageFetch", [image(arrayed="Arrayed"), "vector<3xi32>", "i32"], LOD, "vector<4xf32>", ()),
    ),
    "ImageRead": ("ImageRead", [STORAGE, "vector<2xi32>"], "", "vector<4xf32>", ()),
    "read r32g32": (
        *("ImageRead", [image(use="NoSampler", format="Rg32f"), "vector<2xi32>"], "", "vector<4xf32>"),
        (Capability.StorageImageExtendedFormats,),
    ),
    "read without format": (
        *("ImageRead", [image(use="NoSampler"), "vector<2xi32>"], "", "vector<4xf32>"),
        (Capability.StorageImageReadWithoutFormat,),
    ),
    "ImageWrite": ("ImageWrite", [STORAGE, "vector<2xi32>", "vector<4xf32>"], "", "", ()),
    "write 1D without format": (
        *("ImageWrite", [image("Dim1D", "NoSampler"), "i32", "vector<4xf32>"], "", ""),
        (Capability.Image1D, Capability.StorageImageWriteWithoutFormat),
    ),
    "ImageQuerySize": ("ImageQuerySize", [STORAGE], "", "vector<2xi32>", (Capability.ImageQuery,)),
    "ImageQuerySizeLod": ("ImageQuerySizeLod", [image(), "i32"], "", "vector<2xi32>", (Capability.ImageQuery,)),
    "ImageQueryLevels": ("ImageQueryLevels", [image()], "", "i32", (Capability.ImageQuery,)),
    "ImageQuerySamples": (
        *("ImageQuerySamples", [image(samples="MultiSampled")], "", "i32"), (Capability.ImageQuery,)
    ),
    "sample projected": (
        "ImageSampleProjExplicitLod", [sampled(), "vector<3xf32>", "f32"], LOD, "vector<4xf32>", ()
    ),
    "compare": ("ImageSampleDrefExplicitLod", [DEPTH, "vector<2xf32>", "f32", "f32"], LOD, "f32", ()),
    "compare projected": (
        "ImageSampleProjDrefExplicitLod", [DEPTH, "vector<3xf32>", "f32", "f32"], LOD, "f32", ()
    ),
    "ImageGather": ("ImageGather", [sampled(), "vector<2xf32>", "i32"], "", "vector<4xf32>", ()),
    "gather from an array of cubes": (
        *("ImageGather", [sampled("Cube", arrayed="Arrayed"), "vector<4xf32>", "i32"], "", "vector<4xf32>"),
        (Capability.SampledCubeArray,),
    ),
    "ImageDrefGather": ("ImageDrefGather", [DEPTH, "vector<2xf32>", "f32"], "", "vector<4xf32>", ()),
    "ImageTexelPointer": (
        "ImageTexelPointer", [COUNTER, "vector<2xi32>", "i32"], "", "!spirv.ptr<i32, Image>", ()
    ),
    "sparse sample": (
        "ImageSparseSampleExplicitLod", [sampled(), "vector<2xf32>", "f32"], LOD, SPARSE, RESIDENT
    ),
    "sparse comparison": (
        *("ImageSparseSampleDrefExplicitLod", [DEPTH, "vector<2xf32>", "f32", "f32"], LOD),
        *("!spirv.struct<(i32, f32)>", RESIDENT),
    ),
    "sparse gather": ("ImageSparseGather", [sampled(), "vector<2xf32>", "i32"], "", SPARSE, RESIDENT),
    "sparse depths": ("ImageSparseDrefGather", [DEPTH, "vector<2xf32>", "f32"], "", SPARSE, RESIDENT),
    "sparse fetch": ("ImageSparseFetch", [image(), "vector<2xi32>", "i32"], LOD, SPARSE, RESIDENT),
    "sparse read": ("ImageSparseRead", [STORAGE, "vector<2xi32>"], "", SPARSE, RESIDENT),
    "resident": ("ImageSparseTexelsResident", ["i32"], "", "i1", RESIDENT),
}  # fmt: skip


def module(row) -> str:
    """Returns a module with an entry point that does the one operation with images of bindings and other values."""
    name, operands, properties, result, _ = row
    globals_, lines, values = [], [], []
    for number, type_ in enumerate(operands):
        if type_.startswith("!spirv."):
            is_pointer = type_.startswith("!spirv.ptr")
            pointer = type_ if is_pointer else f"!spirv.ptr<{type_}, UniformConstant>"
            globals_.append(
                f'"spirv.GlobalVariable"() <{{sym_name = "g{number}", type = {pointer}, binding = {number} : i32, '
                "descriptor_set = 0 : i32}> : () -> ()"
            )
            lines.append(
                f'%p{number} = "spirv.mlir.addressof"() <{{variable = @g{number}}}> : () -> {pointer}'
            )
            if not is_pointer:
                lines.append(f'%v{number} = "spirv.Load"(%p{number}) : ({pointer}) -> {type_}')
        else:
            zero = f"dense<0> : {type_}" if "vector" in type_ else f"0 : {type_}"
            zero = zero.replace("<0>", "<0.0>").replace("0 :", "0.0 :") if "f32" in type_ else zero
            lines.append(f'%v{number} = "spirv.Constant"() <{{value = {zero}}}> : () -> {type_}')
        values.append(f"%p{number}" if type_.startswith("!spirv.ptr") else f"%v{number}")
    prefix = "%r = " if result else ""
    lines.append(
        f'{prefix}"spirv.{name}"({", ".join(values)}) {properties} : ({", ".join(operands)}) -> {result or "()"}'
    )
    names = ", ".join(f"@g{n}" for n, type_ in enumerate(operands) if type_.startswith("!spirv."))
    return f"""
"spirv.module"() <{{addressing_model = #spirv.addressing_model<Logical>,
                   memory_model = #spirv.memory_model<GLSL450>}}> ({{
  {chr(10).join(globals_)}
  "spirv.func"() <{{sym_name = "f", function_type = () -> (),
                   function_control = #spirv.function_control<None>}}> ({{
    {chr(10).join(lines)}
    "spirv.Return"() : () -> ()
  }}) : () -> ()
  "spirv.EntryPoint"() <{{execution_model = #spirv.execution_model<GLCompute>, fn = @f, interface = [{names}]}}>
    : () -> ()
  "spirv.ExecutionMode"() <{{fn = @f, execution_mode = #spirv.execution_mode<LocalSize>,
                            values = [1 : i32, 1 : i32, 1 : i32]}}> : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(
    "type_",
    [
        image(),
        image("Cube", arrayed="Arrayed"),
        STORAGE,
        sampled("Dim3D"),
        image(element="si32"),
        "!spirv.sampler",
    ],
)
def test_type_round_trips(type_):
    assert type_ == str(Parser(make_context(), type_).parse_type())


def test_rows_cover_every_operation_with_images():
    assert {f"spirv.{row[0]}" for row in ROWS.values()} == IMAGES


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.behaviour("IOP-43")
def test_prints_parses_and_comes_back_from_the_binary(row):
    op = parsed(module(row))
    assert str(parsed(str(op))) == str(op)
    binary = emit(op, TargetEnv()).binary
    assert f"Op{row[0]}" in spirv_tools().disassemble(binary)
    assert spirv_tools().validate(binary, "vulkan1.3") is None
    assert validate(binary) == ()
    again = deserialise(binary)
    assert f"spirv.{row[0]}" in {inner.name for inner in again.walk()}
    assert emit(again, TargetEnv()).binary == binary
    assert set(reflect(binary).capabilities) == {Capability.Shader, *row[4]}


@pytest.mark.parametrize(
    ("name", "operands", "properties", "result", "message"),
    [
        ("ImageRead", [image(), "vector<2xi32>"], "", "vector<4xf32>", "reads an image with NoSampler"),
        ("ImageWrite", [image(), "vector<2xi32>", "vector<4xf32>"], "", "", "writes an image with NoSampler"),
        ("ImageFetch", [STORAGE, "vector<2xi32>", "i32"], LOD, "vector<4xf32>", "an image with NeedSampler"),
        ("ImageRead", [STORAGE, "i32"], "", "vector<4xf32>", "a coordinate of 2 components"),
        ("ImageRead", [STORAGE, "vector<2xf32>"], "", "vector<4xf32>", "its coordinate to be an integer"),
        (
            "ImageRead",
            [STORAGE, "vector<2xi32>"],
            "",
            "vector<4xi32>",
            "its result to be a vector of 4 of f32",
        ),
        ("ImageRead", [STORAGE, "vector<2xi32>", "i32"], LOD, "vector<4xf32>", "has image operands"),
        (
            "ImageFetch",
            [image(), "vector<2xi32>"],
            LOD,
            "vector<4xf32>",
            "0 values for image operands that take 1",
        ),
        ("ImageSampleExplicitLod", [sampled(), "vector<2xf32>"], "", "vector<4xf32>", "Lod or Grad"),
        (
            "ImageSampleExplicitLod",
            [image(), "vector<2xf32>", "f32"],
            LOD,
            "vector<4xf32>",
            "a sampled image",
        ),
        ("ImageQuerySize", [image()], "", "vector<2xi32>", "use ImageQuerySizeLod"),
        ("ImageQuerySizeLod", [STORAGE, "i32"], "", "vector<2xi32>", "use ImageQuerySize"),
        ("ImageQuerySize", [STORAGE], "", "vector<3xi32>", "to have 2 components"),
        ("Image", [sampled()], "", STORAGE, "its result to be of type"),
        (
            "ImageSampleProjExplicitLod",
            [sampled(), "vector<2xf32>", "f32"],
            LOD,
            "vector<4xf32>",
            "of 3 comp",
        ),
        (
            *("ImageSampleProjExplicitLod", [sampled(arrayed="Arrayed"), "vector<4xf32>", "f32"], LOD),
            *("vector<4xf32>", "no array, cube or multisampled"),
        ),
        (
            "ImageSampleDrefExplicitLod",
            [DEPTH, "vector<2xf32>", "f32", "f32"],
            LOD,
            "vector<4xf32>",
            "type f32",
        ),
        ("ImageSampleDrefExplicitLod", [DEPTH, "vector<2xf32>", "i32", "f32"], LOD, "f32", "its depth"),
        ("ImageSampleDrefExplicitLod", [DEPTH, "vector<2xf32>", "f32"], "", "f32", "Lod or Grad"),
        ("ImageGather", [sampled("Dim3D"), "vector<3xf32>", "i32"], "", "vector<4xf32>", "a plane or a cube"),
        ("ImageGather", [sampled(), "vector<2xf32>", "f32"], "", "vector<4xf32>", "third operand"),
        ("ImageDrefGather", [DEPTH, "vector<2xf32>", "i32"], "", "vector<4xf32>", "third operand"),
        ("ImageSparseRead", [STORAGE, "vector<2xi32>"], "", "vector<4xf32>", "an integer and a pixel"),
        ("ImageSparseTexelsResident", ["f32"], "", "i1", "a residency code"),
        ("ImageSparseTexelsResident", ["i32"], "", "i32", "its result"),
        ("ImageQueryLevels", [STORAGE], "", "i32", "has levels of detail"),
        ("ImageQueryLevels", [image()], "", "vector<2xi32>", "one integer"),
        ("ImageQuerySamples", [image()], "", "i32", "a multisampled image"),
        (
            "ImageTexelPointer",
            [STORAGE, "vector<2xi32>", "i32"],
            "",
            "!spirv.ptr<f32, Image>",
            "a pointer to an",
        ),
        ("ImageTexelPointer", [COUNTER, "vector<2xi32>", "i32"], "", "!spirv.ptr<f32, Image>", "its result"),
        ("ImageTexelPointer", [COUNTER, "i32", "i32"], "", "!spirv.ptr<i32, Image>", "of 2 components"),
        ("SampledImage", [image(), image()], "", sampled(), "expects a sampler"),
    ],
)
def test_verifier_refuses(name, operands, properties, result, message):
    with pytest.raises(IRError, match=message):
        parsed(module((name, operands, properties, result, ())))


@pytest.mark.parametrize("format", ["R64ui", "R64i"])
def test_pixels_of_64_bits_are_integers(format):
    text = image(use="NoSampler", format=format, element="i64")
    assert str(Parser(make_context(), text).parse_type()) == text
    for element in ("i32", "f64"):
        with pytest.raises(Exception, match=f"an image of {format} holds i64, found {element}"):
            Parser(make_context(), image(use="NoSampler", format=format, element=element)).parse_type()


def test_a_sampled_image_is_made_of_one_with_need_sampler():
    with pytest.raises(Exception, match="made of an image with NeedSampler"):
        Parser(make_context(), f"!spirv.sampled_image<{STORAGE}>").parse_type()


def test_upstream_reads_and_serialises(tmp_path):
    """Of these operations MLIR 19 takes only this one: its loads give sampled images, but no images."""
    if shutil.which("mlir-translate-19") is None:
        pytest.skip("mlir-translate-19 is not installed")
    text = module(ROWS["Image"]).replace(
        "memory_model = #spirv.memory_model<GLSL450>",
        "memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.6, [Shader], []>",
    )
    path, out = tmp_path / "module.mlir", tmp_path / "module.spv"
    path.write_text(text)
    run = subprocess.run(
        ["mlir-translate-19", "--no-implicit-module", "--serialize-spirv", path, "-o", out],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert "OpImage " in spirv_tools().disassemble(out.read_bytes())
