#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 doubles.comp -o doubles.spv
// 64-bit floats.
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { double data[]; };
void main() { data[gl_GlobalInvocationID.x] += 1.0LF / 3.0LF; }
