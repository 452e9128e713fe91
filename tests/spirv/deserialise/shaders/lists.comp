#version 460
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 1) in;

layout(buffer_reference) buffer Tree;
layout(buffer_reference) buffer Link;
struct Leaf { uint number; Link link; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Tree { uint value; Leaf leaf; Tree both[2]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Link { Tree tree; Link next; uint value; };

layout(binding = 0) buffer Heads { Tree heads[]; };
layout(binding = 1) buffer Sums { uint sums[]; };

uint around(Tree tree) { return tree.leaf.link.tree.value + 3u * tree.leaf.link.next.value; }

void main() {
    uint i = gl_GlobalInvocationID.x, sum = 0;
    Tree tree = heads[i];
    for (uint k = 0; k < 5; k++) {
        Leaf leaf = tree.leaf;
        sum = 2u * sum + around(tree) + leaf.number;
        tree.leaf.number += 1u;
        tree = tree.both[k % 2u];
    }
    sums[i] = sum;
}
