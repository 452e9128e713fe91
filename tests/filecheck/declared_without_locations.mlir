// WARN: -p 'propagate-aspects{warn=true}'

// The seed's example without debug information (WRN-04); every declared function on the way is reported (WRN-09).

// CHECK: {{^}}warning: function 'bar' uses aspect 'fp64' not listed in 'sycl::device_has'
// CHECK-NEXT: use is from this call chain:
// CHECK-NEXT: {{^  bar\(\)$}}
// CHECK-NEXT: {{^  boo\(\)$}}
// CHECK-NEXT: compile with '-g' to get source location
// CHECK-NEXT: warning: function 'foo' uses aspect 'fp64' not listed in 'sycl::device_has'
// CHECK-NEXT: use is from this call chain:
// CHECK-NEXT: {{^  foo\(\)$}}
// CHECK-NEXT: {{^  bar\(\)$}}
// CHECK-NEXT: {{^  boo\(\)$}}
// CHECK-NEXT: compile with '-g' to get source location
// CHECK-NOT: warning
func.func private @boo() {
  %0 = "test.op"() : () -> f64
  %1 = "test.op"() : () -> i64
  "test.op"() {aspect.used = [-1 : i32]} : () -> ()
  func.return
}
func.func private @bar() attributes {aspect.declared = []} {
  func.call @boo() : () -> ()
  func.return
}
func.func @foo() attributes {gpu.kernel, aspect.declared = [5 : i32]} {
  func.call @bar() : () -> ()
  func.return
}
// Not declared: silent (WRN-07). Declared in another order: silent (WRN-06).
func.func @silent() attributes {gpu.kernel} {
  func.call @bar() : () -> ()
  func.return
}
func.func @any_order() attributes {gpu.kernel, aspect.declared = [6 : i32, 5 : i32]} {
  %0 = "test.op"() : () -> !spirv.struct<(f16, f64)>
  func.return
}
