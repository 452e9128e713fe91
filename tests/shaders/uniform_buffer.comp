#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 uniform_buffer.comp -o uniform_buffer.spv
// A uniform buffer in std140 layout, where elements of arrays lie 16 bytes apart.
layout(local_size_x = 4) in;
layout(std140, binding = 0) uniform Table { vec4 base; float factors[4]; } table;
layout(binding = 1) buffer Out { vec4 result[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    result[i] = table.base * table.factors[i % 4];
}
