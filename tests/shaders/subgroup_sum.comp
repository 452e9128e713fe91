#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 subgroup_sum.comp -o subgroup_sum.spv
// Sums of each work-group by sub-groups.
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer In { uint values[]; };
layout(binding = 1) buffer Out { uint sums[]; };
shared uint total;
void main() {
    if (gl_LocalInvocationIndex == 0) total = 0;
    barrier();
    uint part = subgroupAdd(values[gl_GlobalInvocationID.x]);
    if (subgroupElect()) atomicAdd(total, part);
    barrier();
    if (gl_LocalInvocationIndex == 0) sums[gl_WorkGroupID.x] = total;
}
