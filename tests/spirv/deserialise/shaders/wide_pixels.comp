#version 460
#extension GL_EXT_shader_image_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
layout(local_size_x = 8) in;

layout(binding = 0, r64ui) uniform u64image2D counts;
layout(binding = 1, r64i) uniform i64image3D sums;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uint64_t old = imageAtomicAdd(counts, at, 1ul);
    old += imageAtomicExchange(counts, at.yx, old);
    old ^= imageAtomicCompSwap(counts, at, old, 7ul);
    int64_t low = imageAtomicMin(sums, ivec3(at, 0), int64_t(old));
    low += imageAtomicMax(sums, ivec3(at, 1), low);
    u64vec4 pixel = imageLoad(counts, at);
    imageStore(sums, ivec3(at, 2), i64vec4(low + int64_t(pixel.x), 0, 0, 1));
}
