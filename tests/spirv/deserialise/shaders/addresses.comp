#version 450
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
layout(local_size_x = 4) in;
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Data { f16vec2 h; int8_t b[4]; double d; int64_t l; };
layout(push_constant) uniform P { Data data; uint64_t raw; } p;
void main() {
  Data q = p.data;
  if (gl_LocalInvocationIndex == 1) q = Data(p.raw);
  q.h = f16vec2(q.h.yx * float16_t(2));
  q.b[gl_LocalInvocationIndex] = int8_t(int(q.l));
  q.d += double(q.l) + fma(q.d, 2.0lf, 1.0lf);
}
