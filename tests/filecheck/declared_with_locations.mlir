// WARN: -p 'propagate-aspects{warn=true exclude=6}'

// The seed's example with debug information (WRN-02, WRN-03, WRN-05, TPH-02).

// CHECK: hw.py:27:4: warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'
// CHECK-NEXT: use is from this call chain:
// CHECK-NEXT: {{^  foo\(\)$}}
// CHECK-NEXT: {{^  bar\(\) hw.py:15:3$}}
// CHECK-NEXT: {{^  boo\(\) hw.py:25:5$}}
// CHECK-NOT: warning
// CHECK-NOT: compile with
func.func private @boo(%x: f32) -> f32 {
  %0 = arith.extf %x : f32 to f64 loc("hw.py":27:4)
  %1 = arith.truncf %0 : f64 to f32 loc("hw.py":28:4)
  func.return %1 : f32
}
func.func private @bar(%x: f32) -> f32 {
  %0 = func.call @boo(%x) : (f32) -> f32 loc("hw.py":25:5)
  func.return %0 : f32
}
func.func @foo(%x: f32) attributes {gpu.kernel, aspect.declared = [5 : i32]} {
  %0 = func.call @bar(%x) : (f32) -> f32 loc("hw.py":15:3)
  func.return
}
