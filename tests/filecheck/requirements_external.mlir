// RUN: -p 'split-modules{mode=off},compute-requirements'
// WARN[ERR]: -p 'split-modules{mode=off},compute-requirements'

// Functions of other units that need more than their callers know (EXT-01 to EXT-04).

// CHECK: aspect.requirements = {aspect = array<i32: 6>, reqd_sub_group_size = array<i32: 16, 32>}
// ERR: warning: function 'foo' uses aspect 'fp64' not expected by its calling kernel.
// ERR-NEXT: Missing {{\[\[}}sycl::device_has()]] on SYCL_EXTERNAL function?
// ERR: warning: function 'bar' has required sub-group size '32' that does not match its calling kernel.  Missing {{\[\[}}sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?
func.func @k() attributes {gpu.kernel, aspect.reqd_sub_group_size = 16 : i32} {
  func.call @foo() : () -> ()
  func.call @bar() : () -> ()
  func.return
}
func.func private @foo() attributes {aspect.used = [6 : i32]} {
  func.return
}
func.func private @bar() attributes {aspect.reqd_sub_group_size = 32 : i32} {
  func.return
}
