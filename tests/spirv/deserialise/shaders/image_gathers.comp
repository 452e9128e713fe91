#version 460
#extension GL_ARB_sparse_texture2 : enable
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) uniform sampler2D plane;
layout(set = 0, binding = 1) uniform sampler2DShadow shadow;
layout(set = 0, binding = 2, r32ui) uniform uimage2D counts;
layout(set = 0, binding = 3) uniform sampler2DMS samples;
layout(set = 0, binding = 4) buffer Out { vec4 results[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec2 at = vec2(i) / 64.0;
    vec4 sum = textureGather(plane, at, 2);
    sum += textureGatherOffset(plane, at, ivec2(1, 0), 1);
    sum += textureGather(shadow, at, 0.5);
    sum.x += textureLod(shadow, vec3(at, 0.25), 0.0);
    sum += textureProjLod(plane, vec3(at, 2.0), 1.0);
    sum.y += float(textureQueryLevels(plane) + textureSamples(samples));
    sum.z += float(imageAtomicAdd(counts, ivec2(i, 0), 3u) + imageAtomicCompSwap(counts, ivec2(i, 1), 0u, 7u));
    vec4 texel;
    int code = sparseTextureLodARB(plane, at, 0.0, texel);
    if (sparseTexelsResidentARB(code)) sum += texel;
    results[i] = sum;
}
