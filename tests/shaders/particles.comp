#version 450
// SPIR-V beside this file: glslangValidator -V --target-env vulkan1.1 particles.comp -o particles.spv
// An array of structs in std430 layout.
layout(local_size_x = 8) in;
struct Particle { vec3 position; float mass; vec2 velocity; };
layout(std430, binding = 0) buffer Particles { Particle particles[]; };
layout(push_constant) uniform Step { float dt; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    particles[i].position.xy += dt * particles[i].velocity;
    particles[i].mass *= 2.0;
}
