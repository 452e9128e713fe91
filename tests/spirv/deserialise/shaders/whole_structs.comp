#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 1) in;

layout(buffer_reference) buffer A;
layout(buffer_reference) buffer B;
layout(buffer_reference) buffer Link;
struct Inner { uint number; B b; };
layout(buffer_reference, std430) buffer A { uint value; Inner inner; };
layout(buffer_reference, std430) buffer B { A a; Link link; B self; uint value; };
layout(buffer_reference, std430) buffer Link { uint value; Link next; };
layout(push_constant) uniform Arguments { A head; } arguments;
layout(binding = 0) buffer Sums { uint sums[]; };

uint walk(A a) { return a.inner.b.a.value + a.inner.b.link.next.value + a.inner.b.self.self.value; }

void main() {
    Inner inner = arguments.head.inner;
    sums[0] = walk(arguments.head) + inner.number + inner.b.value;
}
