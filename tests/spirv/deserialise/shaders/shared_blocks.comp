#version 460
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 32) in;
shared Words { uint words[32]; };
shared Halves { uint16_t halves[64]; };
shared Bytes { uint8_t bytes[128]; };
layout(binding=0) buffer In { uint data[]; };
layout(binding=1) buffer Out { uint o[]; };
void main() {
  uint i = gl_LocalInvocationID.x;
  words[i] = data[i];
  barrier();
  o[i] = uint(halves[2*i+1]) + (uint(bytes[4*(31-i)+2]) << 16);
}
