#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 histogram.comp -o histogram.spv
// Atomics on a buffer.
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer In { uint values[]; };
layout(binding = 1) buffer Bins { uint bins[]; };
void main() { atomicAdd(bins[values[gl_GlobalInvocationID.x] % bins.length()], 1u); }
