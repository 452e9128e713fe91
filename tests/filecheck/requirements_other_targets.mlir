// RUN: -p compute-requirements
// WARN[ERR]: -p compute-requirements

// A callee compiled for other targets (EXT-06, EXT-07).

// CHECK: aspect.requirements = {fixed_target = ["b"]}
// ERR: warning: function 'foo' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel.
func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["a", "b"]} {
  func.call @foo() : () -> ()
  func.call @made_by_a_pass() : () -> ()
  func.return
}
func.func private @foo() attributes {aspect.fixed_targets = ["b", "c"]} {
  func.return
}
func.func private @made_by_a_pass() {
  func.return
}
