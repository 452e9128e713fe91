#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 ids_3d.comp -o ids_3d.spv
// Which work-item has which id: x is the fastest dimension.
layout(local_size_x = 4, local_size_y = 2, local_size_z = 1) in;
layout(binding = 0) buffer Out { uint result[]; };
void main() {
    uvec3 id = gl_GlobalInvocationID;
    uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
    result[(id.z * size.y + id.y) * size.x + id.x] = id.x + 100 * id.y + 10000 * id.z;
}
