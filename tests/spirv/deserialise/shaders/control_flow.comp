#version 450
layout(local_size_x=64) in;
layout(constant_id=3) const int N = 4;
layout(set=0,binding=0) buffer A { float x[]; } a;
layout(set=0,binding=1) buffer B { int y[]; } b;
layout(push_constant) uniform P { int n; float s; } p;
struct S { float u; int v; };
shared float tile[64];
float f(float x, inout int k) { if (x > 1.0) { k += 1; return x * 2.0; } k -= 2; return sin(x); }
void main() {
  uint i = gl_GlobalInvocationID.x;
  int k = int(i) % 7;
  S s = S(1.0, 2);
  for (int j = 0; j < p.n; ++j) {
    if (j == 3) continue;
    if (b.y[j] == 5) break;
    for (int q = 0; q < N; q++) { if (a.x[q] < 0.0) { s.u += 1.0; break; } s.v += q; }
    s.u += a.x[j];
  }
  do { k--; s.u *= 1.5; } while (k > 0 && s.u < 100.0);
  switch (s.v) { case 1: s.u += 1.0; break; case 2: s.u += 2.0; case -3: s.u += 4.0; if (k == 2) break; s.u = 7.0; break; default: s.u -= 1.0; }
  tile[gl_LocalInvocationID.x] = s.u; barrier();
  a.x[i] = f(tile[63 - gl_LocalInvocationID.x], k) + float(k) * p.s;
  b.y[i] = s.v;
}
