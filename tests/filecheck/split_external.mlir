// RUN: -p 'split-modules{mode=off}'

// Exported functions are entry points too; their copies are not exported (SPL-17, A35).

// CHECK: builtin.module {
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: func.func @k
// CHECK: func.func private @exported() attributes {aspect.used = [6 : i32]}
// CHECK: builtin.module {
// CHECK-NEXT: func.func @exported() attributes {aspect.external, aspect.used = [6 : i32]}
// CHECK-NOT: @k
func.func @k() attributes {gpu.kernel, aspect.used = [5 : i32, 6 : i32]} {
  func.call @exported() : () -> ()
  func.return
}
func.func @exported() attributes {aspect.external, aspect.used = [6 : i32]} {
  func.return
}
