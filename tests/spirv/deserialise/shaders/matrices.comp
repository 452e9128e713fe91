#version 450
layout(local_size_x = 8, local_size_y = 2) in;
layout(std430, binding = 0) buffer A { mat4 m[]; } a;
layout(std430, binding = 1) buffer B { vec3 v[]; } b;
layout(std430, binding = 2) buffer C { uint packed_[]; } c;
void main() {
  uint i = gl_LocalInvocationIndex;
  mat4 t = transpose(a.m[i]) * inverse(a.m[i + 1]) * 2.0;
  vec4 w = t * vec4(b.v[i], 1.0) + vec4(1.0) * t;
  a.m[i] = outerProduct(w, w);
  float d = determinant(t) + distance(w.xyz, b.v[0]) + dot(refract(w.xyz, b.v[1], 0.5), reflect(w.xyz, b.v[1]));
  int e; float f = frexp(d, e); float whole; f += modf(d, whole) + radians(f);
  c.packed_[i] = packHalf2x16(vec2(f, whole)) ^ packUnorm4x8(w) ^ uint(a.m.length()) ^ uint(e);
  if (any(lessThan(w, vec4(0)))) c.packed_[i] = floatBitsToUint(unpackSnorm2x16(c.packed_.length()).x);
  const float table[4] = float[](1.0, 2.0, 3.0, 4.0);
  a.m[0][1].z = table[i & 3];
}
