#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 spec_constants.comp -o spec_constants.spv
// Specialization constants of every scalar type that GLSL has, and a specialised work-group size.
layout(local_size_x_id = 10) in;
layout(constant_id = 0) const uint COUNT = 3;
layout(constant_id = 1) const float SCALE = 0.5;
layout(constant_id = 2) const bool NEGATE = false;
layout(constant_id = 3) const int OFFSET = -1;
layout(binding = 0) buffer Out { float values[]; };
void main() {
    float value = float(COUNT) * SCALE + float(OFFSET);
    values[gl_GlobalInvocationID.x] = (NEGATE ? -value : value) + float(gl_WorkGroupSize.x);
}
