#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 several_sets.comp -o several_sets.spv
// Buffers in several descriptor sets; two blocks at one binding are views of one buffer.
layout(local_size_x = 8) in;
layout(set = 2, binding = 5) buffer Out { float result[]; };
layout(set = 0, binding = 9) readonly buffer A { float a[]; };
layout(set = 1, binding = 0) readonly buffer B { float b[]; };
layout(set = 0, binding = 9) readonly buffer Bits { uint bits[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = a[i] - b[i] + float(bits[i] >> 31);
}
