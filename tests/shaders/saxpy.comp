#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 saxpy.comp -o saxpy.spv
// Two buffers and scalar push constants; the tail of the range is masked by hand.
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(push_constant) uniform Parameters { float a; uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
