// RUN: -p propagate-aspects
// WARN[ERR]: -p 'propagate-aspects{warn=true}'

// A module's own table numbers implied aspects and names them in messages (ASP-08, TPH-09).

builtin.module attributes {aspect.aspect_values = {fp64 = 8 : i32, amx = 9 : i32}} {
  // CHECK: aspect.used = [8 : i32, 9 : i32]
  // ERR: warning: function 'k' uses aspect 'fp64' not listed in 'sycl::device_has'
  // ERR: warning: function 'k' uses aspect 'amx' not listed in 'sycl::device_has'
  func.func @k() attributes {gpu.kernel, aspect.declared = []} {
    %0 = "test.op"() {aspect.used = [9 : i32]} : () -> f64
    func.return
  }
}
