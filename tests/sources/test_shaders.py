"""Compute shaders as users have them, compiled by glslang, on every device."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp

from .conftest import SHADERS

pytestmark = pytest.mark.device

ALL = sorted(path.stem for path in SHADERS.glob("*.comp"))


def on(device: lp.Device, values: np.ndarray) -> lp.Array:
    return lp.asarray(values, device=device)


def test_there_are_ten_shaders_with_their_binaries():
    assert len(ALL) >= 10
    assert sorted(path.stem for path in SHADERS.glob("*.spv")) == ALL


@pytest.mark.behaviour("SRC-27", "IOP-40")
def test_saxpy(device, queue, shader):
    x, y = np.arange(200, dtype=np.float32), np.ones(200, np.float32)
    out = on(device, y)
    queue.parallel_for(256, shader("saxpy"), on(device, x), out, 2.5, 200)
    np.testing.assert_array_equal(out.numpy(), 2.5 * x + y)  # exact: few bits


@pytest.mark.behaviour("SRC-27")
def test_arguments_by_name_and_by_set_arg(device, queue, shader):
    kernel = shader("saxpy")
    x, y = on(device, np.ones(64, np.float32)), lp.zeros(64, lp.f32, device=device)
    queue.parallel_for(64, kernel, n=64, a=3.0, X=x, Y=y)
    np.testing.assert_array_equal(y.numpy(), np.full(64, 3, np.float32))

    def group(h):
        for place, value in enumerate((x, y, 1.0, 64)):
            h.set_arg(place, value)
        h.parallel_for(64, kernel)

    queue.submit(group)
    np.testing.assert_array_equal(y.numpy(), np.full(64, 4, np.float32))


def test_sub_groups(device, queue, shader):
    if not device.has(lp.Aspect.VK_SUBGROUP_ARITHMETIC):
        pytest.skip("the device has no sub-group arithmetic")
    values = np.arange(512, dtype=np.uint32)
    sums = lp.zeros(4, lp.u32, device=device)
    queue.parallel_for(512, shader("subgroup_sum"), on(device, values), sums)
    np.testing.assert_array_equal(sums.numpy(), values.reshape(4, 128).sum(axis=1))


def test_atomics_and_the_length_of_a_run_time_array(device, queue, shader):
    values = np.arange(320, dtype=np.uint32) ** 2
    bins = lp.zeros(7, lp.u32, device=device)
    queue.parallel_for(320, shader("histogram"), on(device, values), bins)
    np.testing.assert_array_equal(bins.numpy(), np.bincount(values % 7, minlength=7))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 3 * 0.5 - 1 + 1),
        ({0: 7, 10: 4}, 7 * 0.5 - 1 + 4),
        ({"SCALE": 2.0, "NEGATE": True, "OFFSET": -5}, -(3 * 2.0 - 5) + 1),
    ],
)
def test_specialization_constants_by_id_and_by_name(device, queue, shader, values, expected):
    out = lp.zeros(8, lp.f32, device=device)
    queue.parallel_for(8, shader("spec_constants", lp.SpecValues(values)), out)
    np.testing.assert_array_equal(out.numpy(), np.full(8, expected, np.float32))


def test_a_specialised_work_group_size_is_that_of_the_launch(device, queue, shader):
    out = lp.zeros(8, lp.f32, device=device)
    kernel = shader("spec_constants")
    queue.parallel_for(lp.NdRange(8, 2), kernel, out)
    np.testing.assert_array_equal(out.numpy(), np.full(8, 0.5 + 2, np.float32))
    with pytest.raises(lp.NdRangeError, match="requires local size"):
        queue.parallel_for(lp.NdRange((8, 8), (2, 2)), kernel, out)


def test_two_values_of_one_constant(shader):
    shader("spec_constants", lp.SpecValues({"SCALE": 2.0, "NEGATE": True, 2: True}))
    with pytest.raises(
        lp.KernelArgumentError, match=r"'NEGATE' and 2 are one .*found True and False; expected one"
    ):
        shader("spec_constants", lp.SpecValues({"NEGATE": True, 2: False}))


def test_a_specialised_work_group_size_of_0_names_the_constant(shader):
    with pytest.raises(
        lp.InvalidError, match=r"local size \(x, y, z\) is \(0, 1, 1\).*at least 1.*SpecId 10 is 0"
    ):
        shader("spec_constants", lp.SpecValues({10: 0}))
    with pytest.raises(
        lp.KernelArgumentError, match=r"no specialization constant 99; it has (?!.*\b10\b.*\b10\b)"
    ):
        shader("spec_constants", lp.SpecValues({99: 0}))


SCENE = (
    5,
    np.array([1, 2, 3], np.float32),
    np.array([[1, 2], [3, 4], [5, 6]], np.float32),
    [0.25, 0.75],
)
LIGHT = np.dtype([("position", np.float32, 3), ("power", np.float32)])


@pytest.mark.parametrize(
    "light",
    [
        np.array(([7, 8, 9], 10), LIGHT)[()],
        ((7, 8, 9), 10),
        {"position": (7, 8, 9), "power": 10},
        np.array([7, 8, 9, 10], np.float32).tobytes(),
    ],
    ids=["structured", "tuple", "mapping", "bytes"],
)
def test_push_constants_of_any_layout(device, queue, shader, light):
    out = lp.zeros(8, lp.f32, device=device)
    queue.parallel_for(1, shader("push_struct"), out, *SCENE, light)
    turned = SCENE[2] @ np.array([1, 2], np.float32)
    np.testing.assert_array_equal(out.numpy(), np.array([5, 3, *turned, 0.75, 8, 10], np.float32))


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (1, np.zeros(2, np.float32), r"'eye'.*shape \(3,\), found shape \(2,\)"),
        (2, np.zeros((2, 3), np.float32), r"'turn'.*3 × 2.*found shape \(2, 3\)"),
        (3, [1.0], "'weights'.*2 scalars, found 1"),
        (4, b"123", "'light'.*16 bytes, found 3"),
        (4, ((1, 2, "x"), 4), "light.position.2.*found str"),
        (0, 2**40, "'count'.*outside"),
        (0, None, "'count'.*found NoneType"),
    ],
)
def test_push_constants_that_do_not_fit(device, queue, shader, place, value, text):
    values = [*SCENE, ((7, 8, 9), 10)]
    values[place] = value
    with pytest.raises(lp.KernelArgumentError, match=text):
        queue.parallel_for(1, shader("push_struct"), lp.zeros(8, lp.f32, device=device), *values)


def test_shared_memory_of_the_launch(device, queue, shader):
    data = np.arange(32, dtype=np.int32)
    out = on(device, data)
    kernel = shader("shared_reverse")
    queue.parallel_for(32, kernel, out, lp.local(20))
    np.testing.assert_array_equal(out.numpy(), data.reshape(2, 16)[:, ::-1].ravel() + 20)
    with pytest.raises(lp.KernelArgumentError, match=r"lp\.local"):
        queue.parallel_for(32, kernel, out, 20)
    with pytest.raises(lp.KernelNotSupportedError, match="shared memory"):
        queue.parallel_for(32, kernel, out, lp.local(1 << 28))


def test_a_length_with_a_value_is_no_parameter(device, queue, shader):
    data = np.arange(16, dtype=np.int32)
    out = on(device, data)
    queue.parallel_for(16, shader("shared_reverse", lp.SpecValues({4: 17})), out)
    np.testing.assert_array_equal(out.numpy(), data[::-1] + 17)


def test_several_sets_and_two_views_of_one_buffer(device, queue, shader):
    a, b = np.array([-1, 2, -3, 4, 5, 6, -7, 8], np.float32), np.ones(8, np.float32)
    out = lp.zeros(8, lp.f32, device=device)
    # By (set, binding): a and its bits are one argument.
    queue.parallel_for(8, shader("several_sets"), on(device, a), on(device, b), out)
    np.testing.assert_array_equal(out.numpy(), a - b + (a < 0))


def test_uniform_buffer(device, queue, shader):
    table = np.zeros(20, np.float32)
    table[:4], table[4::4] = [1, 2, 3, 4], [10, 20, 30, 40]
    out = lp.zeros((8, 4), lp.f32, device=device)
    kernel = shader("uniform_buffer")
    queue.parallel_for(8, kernel, on(device, table), out)
    factors = np.array([10, 20, 30, 40] * 2, np.float32)
    np.testing.assert_array_equal(out.numpy(), factors[:, None] * table[:4])
    with pytest.raises(lp.KernelArgumentError, match="at least 80 bytes"):
        queue.parallel_for(8, kernel, on(device, table[:16]), out)


def test_uniform_buffers_have_a_limit_of_their_own(device):
    limited = device.masked(limits={"maxUniformBufferRange": 64})
    context = lp.Context([limited])
    binary = (SHADERS / "uniform_buffer.spv").read_bytes()
    kb = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary))
    queue = lp.Queue(limited, context=context)
    with pytest.raises(lp.KernelNotSupportedError, match="maxUniformBufferRange"):
        queue.parallel_for(
            8,
            kb.ext_oneapi_get_kernel("main"),
            lp.zeros(20, lp.f32, device=limited),
            lp.zeros(32, lp.f32, device=limited),
        )


def test_vectors_and_scalars_are_the_same_memory(device, queue, shader):
    table = on(device, np.arange(20, dtype=np.float32))
    out = lp.zeros(8, lp.f32x4, device=device)
    queue.parallel_for(8, shader("uniform_buffer"), table, out)
    assert out.numpy()[1].tolist() == [8 * n for n in range(4)]
    with pytest.raises(lp.KernelArgumentError, match=r"lp\.f32 or lp\.Vec.*found lp\.Array.i32"):
        queue.parallel_for(8, shader("uniform_buffer"), table, lp.zeros(32, lp.i32, device=device))


@pytest.mark.behaviour("DIM-03")
def test_the_last_dimension_is_x(device, queue, shader):
    shape = (3, 4, 8)
    out = lp.zeros(shape, lp.u32, device=device)
    queue.parallel_for(shape, shader("ids_3d"), out)
    z, y, x = np.indices(shape)
    np.testing.assert_array_equal(out.numpy(), x + 100 * y + 10000 * z)
    with pytest.raises(lp.NdRangeError, match="multiple of its local size"):
        queue.parallel_for((3, 4, 7), shader("ids_3d"), out)
    whole = r"local size \(\d+,\) as it runs whole work-groups only; found \(7,\), use \(\d+,\)"
    table = lp.zeros(20, lp.f32, device=device)
    with pytest.raises(lp.NdRangeError, match=whole):
        queue.parallel_for(7, shader("uniform_buffer"), table, lp.zeros(32, lp.f32, device=device))
    with pytest.raises(lp.NdRangeError, match="requires local size"):
        queue.parallel_for(lp.NdRange(shape, (1, 4, 2)), shader("ids_3d"), out)


def test_16_bit_storage(device, queue, shader):
    if not device.has(lp.Aspect.VK_STORAGE_16BIT):
        pytest.skip("the device has no 16-bit storage")
    values = np.arange(8, dtype=np.float16)
    out = on(device, values)
    queue.parallel_for(8, shader("half_storage"), out)
    np.testing.assert_array_equal(out.numpy(), 2 * values)


@pytest.mark.behaviour("SRC-09")
def test_doubles_are_left_out_where_there_are_none(device, built, shader, queue):
    binary = (SHADERS / "doubles.spv").read_bytes()
    if device.has(lp.Aspect.FP64):
        out = on(device, np.zeros(8))
        queue.parallel_for(8, shader("doubles"), out)
        np.testing.assert_array_equal(out.numpy(), np.full(8, 1 / 3))
        return
    log = lp.SaveLog()
    kb = built(lp.SourceLanguage.SPIRV, binary, log)
    assert not kb.ext_oneapi_has_kernel("main")
    assert "fp64" in log.text
    with pytest.raises(lp.UnknownKernelError, match=r"left out.*fp64"):
        kb.ext_oneapi_get_kernel("main")


def test_structs_in_buffers(device, queue, shader):
    kind = np.dtype(
        {
            "names": ["position", "mass", "velocity"],
            "formats": [(np.float32, 3), np.float32, (np.float32, 2)],
            "offsets": [0, 12, 16],
            "itemsize": 32,
        }
    )
    particles = np.zeros(8, kind)
    particles["position"], particles["mass"], particles["velocity"] = 1, np.arange(8), (2, 4)
    out = on(device, particles)
    queue.parallel_for(8, shader("particles"), out, 0.5)
    found = out.numpy()
    np.testing.assert_array_equal(found["position"], np.tile(np.array([2, 3, 1], np.float32), (8, 1)))
    np.testing.assert_array_equal(found["mass"], 2 * np.arange(8))


@pytest.mark.parametrize("name", ALL)
def test_glsl_text_gives_the_kernel_of_the_binary(device, built, name):
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslang is not installed")
    text = (SHADERS / f"{name}.comp").read_text("utf-8")
    kb = built(lp.SourceLanguage.GLSL, text)
    binary = built(lp.SourceLanguage.SPIRV, (SHADERS / f"{name}.spv").read_bytes())
    assert kb.ext_oneapi_has_kernel("main") == binary.ext_oneapi_has_kernel("main")
    for first, second in zip(kb, binary, strict=True):
        assert first.binary.kernels[0].parameters == second.binary.kernels[0].parameters


SCALAR_LAYOUT = """#version 450
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 1) in;
struct Point { vec3 place; float weight; vec2 rest; };
layout(binding = 0, scalar) buffer Points { Point points[]; };
layout(binding = 1, scalar) buffer Sums { vec3 sums[]; };
layout(push_constant, scalar) uniform Push { float factor; vec3 offset; vec2 last; };
void main() {
    Point p = points[gl_GlobalInvocationID.x];
    sums[gl_GlobalInvocationID.x] = factor * p.place + offset + vec3(p.weight, p.rest + last);
}
"""


def test_blocks_without_gaps(device, built, queue):
    """GL_EXT_scalar_block_layout is a feature of the device, which the kernel then requires."""
    if "scalarBlockLayout" not in device.physical.features:
        pytest.skip("the device lacks scalarBlockLayout")
    if not device.ext_oneapi_can_compile(lp.SourceLanguage.GLSL):
        pytest.skip("glslang is not installed")
    bundle = built(lp.SourceLanguage.GLSL, SCALAR_LAYOUT)
    (image,) = bundle
    assert image.requirements.features == ("scalarBlockLayout",)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    sums = lp.zeros((4, 3), device=device)
    arguments = (lp.asarray(x, device=device), sums, 2.0, np.float32([1, 2, 3]), np.float32([4, 5]))
    queue.parallel_for(4, bundle.ext_oneapi_get_kernel("main"), *arguments).wait()
    expected = 2 * x[:, :3] + [1, 2, 3] + x[:, 3:] + [0, 4, 5]
    np.testing.assert_array_equal(sums.numpy(), expected)
