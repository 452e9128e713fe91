#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 shared_reverse.comp -o shared_reverse.spv
// Shared memory whose length is a specialization constant: given as lp.local(n).
layout(local_size_x = 16) in;
layout(constant_id = 4) const uint LENGTH = 16;
layout(binding = 0) buffer Data { int data[]; };
shared int tile[LENGTH];
void main() {
    uint local = gl_LocalInvocationID.x;
    tile[local] = data[gl_GlobalInvocationID.x];
    barrier();
    data[gl_GlobalInvocationID.x] = tile[15 - local] + int(tile.length());
}
