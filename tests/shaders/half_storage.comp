#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 half_storage.comp -o half_storage.spv
// 16-bit storage: values are halves in memory and floats in the code.
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 8) in;
layout(binding = 0) buffer Data { float16_t data[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    data[i] = float16_t(float(data[i]) * 2.0);
}
