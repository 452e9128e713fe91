// RUN: -p 'split-modules{mode=per_kernel}'

// Kernels inside a gpu.module keep it around them.

// CHECK: builtin.module {
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: gpu.module @m {
// CHECK-NEXT: gpu.func @first() kernel {
// CHECK: builtin.module {
// CHECK-NEXT: gpu.module @m {
// CHECK-NOT: @first
// CHECK: gpu.func @second() kernel {
// CHECK-NOT: gpu.module
// CHECK: builtin.module {
// CHECK-NEXT: func.func @third
"gpu.module"() <{sym_name = "m"}> ({
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    "gpu.return"() : () -> ()
  }) {sym_name = "first"} : () -> ()
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    "gpu.return"() : () -> ()
  }) {sym_name = "second"} : () -> ()
}) : () -> ()
func.func @third() attributes {gpu.kernel} {
  func.return
}
