#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 8, local_size_y = 2) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430) buffer Node { float value; Node next; };
layout(push_constant) uniform Arguments { Node head; };
layout(std430, binding = 0) buffer Out { float x[]; };
layout(std430, binding = 1) buffer Outs { uint n; } outs[2];

float sum(Node n, restrict Node m, inout Node kept) {
    n.value += 1.0;
    kept = m;
    return n.value + m.value;
}

void main() {
    uint i = gl_GlobalInvocationID.x * gl_WorkGroupSize.y + gl_WorkGroupSize.z;
    Node kept;
    x[i] = sum(head, head.next, kept) + kept.value;
    outs[i & 1].n = i;
}
