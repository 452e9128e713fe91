// RUN: -p propagate-aspects

// Uses go up the static call graph, over diamonds and cycles (ASP-13, ASP-14, ASP-15, EXT-08).

// CHECK-LABEL: func.func @diamond
// CHECK-SAME: aspect.used = [5 : i32, 6 : i32, 9 : i32]
func.func @diamond() attributes {gpu.kernel} {
  func.call @left() : () -> ()
  func.call @right() : () -> ()
  func.return
}
// CHECK-LABEL: func.func private @left
// CHECK-SAME: aspect.used = [5 : i32, 6 : i32]
func.func private @left() attributes {aspect.declared = [5 : i32]} {
  func.call @bottom() : () -> ()
  func.return
}
// CHECK-LABEL: func.func private @right
// CHECK-SAME: aspect.used = [6 : i32, 9 : i32]
func.func private @right() {
  "test.op"() {aspect.used = [9 : i32]} : () -> ()
  func.call @bottom() : () -> ()
  func.return
}
// CHECK-LABEL: func.func private @bottom
// CHECK-SAME: aspect.used = [6 : i32]
func.func private @bottom() {
  %0 = "test.op"() : () -> f64
  func.return
}
// CHECK-LABEL: func.func @cycle
// CHECK-SAME: aspect.used = [5 : i32, 6 : i32]
func.func @cycle() attributes {gpu.kernel} {
  func.call @ping() : () -> ()
  func.return
}
// CHECK-LABEL: func.func private @ping
// CHECK-SAME: aspect.used = [5 : i32, 6 : i32]
func.func private @ping() {
  %0 = "test.op"() : () -> f16
  func.call @pong() : () -> ()
  func.return
}
// CHECK-LABEL: func.func private @pong
// CHECK-SAME: aspect.used = [5 : i32, 6 : i32]
func.func private @pong() {
  %0 = "test.op"() : () -> f64
  func.call @ping() : () -> ()
  func.return
}
// What a mere declaration declares counts for its callers; the declaration stays as it is.
// CHECK-LABEL: func.func @imports
// CHECK-SAME: aspect.used = [6 : i32]
func.func @imports() attributes {gpu.kernel} {
  func.call @elsewhere() : () -> ()
  func.return
}
// CHECK: func.func private @elsewhere() -> () attributes {aspect.declared = [6 : i32], aspect.used = [6 : i32]}
func.func private @elsewhere() attributes {aspect.declared = [6 : i32]}

// A kernel in a gpu.module calls nothing outside; internal aspects go along (TPH-07).
// CHECK: gpu.module @m
// CHECK-NEXT: gpu.func @inner(%x: f64) kernel attributes {aspect.used = [-2 : i32, 6 : i32], aspect.fixed_targets = []}
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{function_type = (f64) -> (), kernel}> ({
  ^bb0(%x: f64):
    "test.op"() {aspect.used = [-2 : i32]} : () -> ()
    "gpu.return"() : () -> ()
  }) {sym_name = "inner"} : () -> ()
}) : () -> ()
