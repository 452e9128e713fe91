// RUN[KERNEL]: -p 'split-modules{mode=per_kernel}'
// RUN[SOURCE]: -p 'split-modules{mode=per_source}'
// RUN[SOURCE]: -p 'split-modules{mode=auto}'
// RUN[SOURCE]: -p split-modules
// RUN[OFF]: -p 'split-modules{mode=off}'
// FAIL[ERROR]: -p 'split-modules{mode=per_module}'

// SPL-01 to SPL-05, SPL-15, SPL-16.

// ERROR: error: unknown device code split mode 'per_module', expected one of auto, per_kernel, per_source, off

// KERNEL: builtin.module {
// KERNEL-NEXT: builtin.module {
// KERNEL-NEXT: spec_constant.declare @shared_constant
// KERNEL-NEXT: func.func @a
// KERNEL: func.func private @helper
// KERNEL: builtin.module {
// KERNEL-NEXT: func.func @b
// KERNEL: builtin.module {
// KERNEL-NEXT: spec_constant.declare @shared_constant
// KERNEL-NEXT: func.func @c
// KERNEL: func.func private @helper
// KERNEL-NOT: unused

// SOURCE: builtin.module {
// SOURCE-NEXT: builtin.module {
// SOURCE: func.func @a
// SOURCE: func.func @b
// SOURCE: builtin.module {
// SOURCE: func.func @c
// SOURCE-NOT: builtin.module

// OFF: builtin.module {
// OFF-NEXT: builtin.module {
// OFF: func.func @a
// OFF: func.func @b
// OFF: func.func @c
// OFF-NOT: builtin.module
// OFF-NOT: unused

spec_constant.declare @shared_constant : f32 = [1.0 : f32]
spec_constant.declare @unused_constant : f32 = [1.0 : f32]
func.func @a() attributes {gpu.kernel, aspect.unit = "first"} {
  func.call @helper() : () -> ()
  func.return
}
func.func @b() attributes {gpu.kernel, aspect.unit = "first"} {
  func.return
}
func.func @c() attributes {gpu.kernel, aspect.unit = "second"} {
  func.call @helper() : () -> ()
  func.return
}
func.func private @helper() {
  %0 = spec_constant.get @shared_constant : f32
  func.return
}
func.func private @unused_helper() {
  func.return
}
