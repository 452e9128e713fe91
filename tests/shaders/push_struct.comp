#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 push_struct.comp -o push_struct.spv
// Push constants with vectors, matrices, arrays and a nested struct at their own offsets.
layout(local_size_x = 1) in;
struct Light { vec3 position; float power; };
layout(push_constant) uniform Scene {
    uint count;
    vec3 eye;
    mat2x3 turn;
    float weights[2];
    Light light;
} scene;
layout(binding = 0) buffer Out { float values[]; };
void main() {
    vec3 turned = scene.turn * vec2(1.0, 2.0);
    values[0] = float(scene.count);
    values[1] = scene.eye.z;
    values[2] = turned.x;
    values[3] = turned.y;
    values[4] = turned.z;
    values[5] = scene.weights[1];
    values[6] = scene.light.position.y;
    values[7] = scene.light.power;
}
