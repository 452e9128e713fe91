// RUN: -p 'propagate-aspects{exclude=1,4}'
// RUN[AFTER]: -p 'propagate-aspects{exclude=1,4},propagate-aspects'

// Excluded aspects are saved only where they stood before, or are declared (TPH-01 to TPH-03, A28).
// The second run saves everything (TPH-04).

builtin.module attributes {aspect.types_that_use_aspects = {A = [1 : i32], B = [2 : i32]}} {
  // CHECK-LABEL: func.func private @uses_excluded
  // CHECK-NOT: aspect.used
  // CHECK: func.return
  // AFTER-LABEL: func.func private @uses_excluded
  // AFTER-SAME: aspect.used = [1 : i32]
  func.func private @uses_excluded() {
    %0 = "test.op"() : () -> !spirv.struct<A, (i32)>
    func.return
  }
  // CHECK-LABEL: func.func private @uses_both
  // CHECK-SAME: aspect.used = [2 : i32]
  // AFTER-LABEL: func.func private @uses_both
  // AFTER-SAME: aspect.used = [1 : i32, 2 : i32]
  func.func private @uses_both() {
    %0 = "test.op"() : () -> !spirv.struct<B, (i32)>
    func.call @uses_excluded() : () -> ()
    func.return
  }
  // CHECK-LABEL: func.func private @had_it
  // CHECK-SAME: aspect.used = [4 : i32]
  func.func private @had_it() attributes {aspect.used = [4 : i32]} {
    func.return
  }
  // CHECK-LABEL: func.func @calls_had_it
  // CHECK-NOT: aspect.used
  // CHECK: func.return
  // AFTER-LABEL: func.func @calls_had_it
  // AFTER-SAME: aspect.used = [4 : i32]
  func.func @calls_had_it() attributes {gpu.kernel} {
    func.call @had_it() : () -> ()
    func.return
  }
  // CHECK-LABEL: func.func private @declares
  // CHECK-SAME: aspect.used = [4 : i32]
  func.func private @declares() attributes {aspect.declared = [4 : i32]} {
    func.return
  }
  // CHECK-LABEL: func.func @calls_declares
  // CHECK-SAME: aspect.used = [4 : i32]
  func.func @calls_declares() attributes {gpu.kernel} {
    func.call @declares() : () -> ()
    func.return
  }
}
