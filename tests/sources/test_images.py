"""Images and samplers of foreign kernels, bound by reflection: GLSL and SPIR-V."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

HEAD = """#version 450
#extension GL_EXT_samplerless_texture_functions : enable
layout(local_size_x = 4, local_size_y = 4) in;
"""

FILTER = (
    HEAD
    + """
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, rgba32f) uniform writeonly image2D result;
layout(push_constant) uniform Block { float gain; };
void main() {
    ivec2 size = imageSize(result);
    ivec2 place = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(place, size))) return;
    imageStore(result, place, gain * textureLod(picture, (vec2(place) + 0.5) / vec2(size), 0.0));
}
"""
)

SEPARATE = (
    HEAD
    + """
layout(set = 1, binding = 3) uniform texture2D pixels;
layout(set = 0, binding = 5) uniform sampler how;
layout(set = 2, binding = 0) uniform writeonly image2D result;
layout(set = 2, binding = 1) buffer Numbers { uint numbers[]; };
void main() {
    ivec2 place = ivec2(gl_GlobalInvocationID.xy);
    vec4 first = textureLod(sampler2D(pixels, how), vec2(0.25, 0.75), 0.0);
    imageStore(result, place, first + texelFetch(pixels, place, 0));
    if (place == ivec2(0)) numbers[0] = uint(textureSize(pixels, 0).x);
}
"""
)

VOLUME = (
    HEAD
    + """
layout(binding = 0, r32ui) uniform uimage3D counts;
layout(binding = 1) uniform isampler3D labels;
layout(binding = 2) uniform writeonly uimage1D line;
void main() {
    ivec3 place = ivec3(gl_GlobalInvocationID);
    imageStore(counts, place, imageLoad(counts, place) + 1u);
    if (place == ivec3(0)) imageStore(line, 2, uvec4(textureLod(labels, vec3(0.9), 0.0)));
}
"""
)


def kernel(device, text, name="main"):
    context = lp.Context([device])
    if not device.ext_oneapi_can_compile(lp.SourceLanguage.GLSL):
        pytest.skip("glslang is not installed")
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.GLSL, text)
    bundle = lp.build(source)
    return lp.Queue(device, context=context), bundle.ext_oneapi_get_kernel(name)


@pytest.mark.behaviour("IOP-41", "IOP-43")
def test_combined_image_and_storage_image(device):
    queue, run = kernel(device, FILTER)
    pixels = np.random.default_rng(0).random((4, 8, 4), np.float32)
    picture = lp.SampledImage(
        pixels, lp.ImageSampler("clamp_to_edge", "normalized", "nearest"), device=device
    )
    result = lp.UnsampledImage(shape=(4, 8), format="r32g32b32a32_sfloat", device=device)
    queue.parallel_for((4, 8), run, picture, result, 2.0).wait()
    np.testing.assert_array_equal(result.numpy(), 2 * pixels)


def test_texture_sampler_and_buffer_by_set_and_binding(device):
    queue, run = kernel(device, SEPARATE)
    pixels = np.random.default_rng(0).random((4, 4, 4), np.float32)
    sampler = lp.ImageSampler("clamp_to_edge", "normalized", "nearest")
    texture = lp.UnsampledImage(pixels, device=device)
    result = lp.UnsampledImage(shape=(4, 4), format="r32g32b32a32_sfloat", device=device)
    numbers = lp.zeros(1, lp.u32, device=device)
    queue.parallel_for((4, 4), run, sampler, texture, result, numbers).wait()
    np.testing.assert_allclose(result.numpy(), pixels + pixels[3, 1], rtol=1e-6)
    assert numbers.numpy()[0] == 4


@pytest.mark.behaviour("IOP-43")
def test_images_of_one_and_three_dimensions(device):
    queue, run = kernel(device, VOLUME)
    counts = lp.UnsampledImage(shape=(1, 4, 4), format="r32_uint", device=device)
    labels = np.arange(8, dtype=np.int32).reshape(2, 2, 2)
    img = lp.SampledImage(labels, lp.ImageSampler("repeat", "normalized"), ndim=3, device=device)
    line = lp.UnsampledImage(shape=5, format="r8_uint", device=device)
    for _ in range(2):
        queue.parallel_for((1, 4, 4), run, counts, img, line)
    np.testing.assert_array_equal(counts.numpy(), np.full((1, 4, 4), 2))
    assert line.numpy().tolist() == [0, 0, 7, 0, 0]


def test_sampler_by_itself_of_a_volume_is_normalised(device):
    """Samplers of Vulkan count no pixels in three dimensions: undefined, though both software drivers do."""
    text = (
        HEAD
        + """
layout(binding = 0) uniform texture3D pixels;
layout(binding = 1) uniform sampler how;
layout(binding = 2) buffer Out { vec4 found[]; };
void main() { found[0] = textureLod(sampler3D(pixels, how), vec3(0.75, 0.25, 0.25), 0.0); }
"""
    )
    queue, run = kernel(device, text)
    pixels = np.arange(32, dtype=np.float32).reshape(2, 2, 2, 4)
    img, out = lp.UnsampledImage(pixels, device=device), lp.zeros(1, lp.f32x4, device=device)
    queue.parallel_for((4, 4), run, img, lp.ImageSampler(coordinate="normalized"), out).wait()
    np.testing.assert_array_equal(out.numpy(), pixels[0, 0, 1:])
    with pytest.raises(lp.KernelArgumentError, match=r"'how'.*coordinate='normalized'"):
        queue.parallel_for((4, 4), run, img, lp.ImageSampler(), out)


def test_arguments_that_do_not_suit(device):
    queue, run = kernel(device, FILTER)
    picture = lp.SampledImage(np.zeros((4, 8, 4), np.float32), device=device)
    small = lp.UnsampledImage(shape=(4, 8), format="r8g8b8a8_unorm", device=device)
    with pytest.raises(lp.KernelArgumentError, match="takes format r32g32b32a32_sfloat"):
        queue.parallel_for((4, 8), run, picture, small, 2.0)
    with pytest.raises(lp.KernelArgumentError, match=r"expected lp\.SampledImage\[lp\.f32x4, 2\]"):
        queue.parallel_for((4, 8), run, small, small, 2.0)
    queue, run = kernel(device, SEPARATE)
    with pytest.raises(lp.KernelArgumentError, match=r"expected an lp\.ImageSampler, found an lp\.Array"):
        queue.parallel_for((4, 4), run, lp.zeros(1, lp.u32, device=device), small, small, 1)
    queue, run = kernel(device, VOLUME)
    volume = lp.SampledImage(np.zeros((2, 2, 2), np.int32), ndim=3, device=device)
    counts = lp.UnsampledImage(shape=(1, 4, 4), format="r32_uint", device=device)
    line = lp.UnsampledImage(shape=5, format="r8_uint", device=device)
    with pytest.raises(lp.KernelArgumentError, match="coordinate='normalized'"):
        queue.parallel_for((1, 4, 4), run, counts, volume, line)


@pytest.mark.parametrize(
    ("declaration", "use", "message"),
    [
        ("uniform sampler2DArray a;", "textureLod(a, vec3(0), 0.0)", "image array"),
        ("uniform samplerCube a;", "textureLod(a, vec3(0), 0.0)", "dimensionality Cube"),
        ("uniform sampler2D a[2];", "textureLod(a[0], vec2(0), 0.0)", "array of descriptors"),
        ("uniform sampler2DMS a;", "texelFetch(a, ivec2(0), 0)", "several samples"),
        ("uniform samplerBuffer a;", "texelFetch(a, 0)", "SampledBuffer"),
    ],
)
def test_images_that_are_no_plain_ones_are_refused(device, declaration, use, message):
    text = (
        HEAD
        + f"""
layout(binding = 0) {declaration}
layout(binding = 1) buffer Out {{ vec4 found; }};
void main() {{ found = {use}; }}
"""
    )
    with pytest.raises((lp.FeatureNotSupportedError, lp.UnknownKernelError), match=message):
        kernel(device, text)


@pytest.mark.behaviour("IOP-10")
def test_kernel_with_images_needs_the_aspect(device):
    masked = device.masked(without=[lp.Aspect.IMAGE])
    with pytest.raises(lp.UnknownKernelError, match="lacks image"):
        kernel(masked, FILTER)
