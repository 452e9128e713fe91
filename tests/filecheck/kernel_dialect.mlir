// RUN:
// RUN[GENERIC]: --print-op-generic

// A kernel with everything that the dialect has to say of it, and a helper.

// CHECK-LABEL: func.func @convolution.row(%image: memref<?x?xf32>, %gain: f32)
// CHECK-SAME: attributes {gpu.kernel, kernel.parameters = [{name = "image", dtype = "f32", ndim = 2 : i32, access = "read"}, {name = "gain", dtype = "f32"}], kernel.rank = 2 : i32, kernel.masked, kernel.local_size = array<i32: 4, 16>}
// CHECK-NEXT: %0 = kernel.global_range 0
// CHECK-NEXT: %1 = kernel.global_range 1
// CHECK-NEXT: %2 = kernel.global_range 1 {note}
// CHECK-NEXT: func.return
// GENERIC: %0 = "kernel.global_range"() <{dimension = 0 : i32}> : () -> index
// GENERIC-NEXT: %1 = "kernel.global_range"() <{dimension = 1 : i32}> : () -> index
func.func @"convolution.row"(%image: memref<?x?xf32>, %gain: f32) attributes {gpu.kernel,
    kernel.parameters = [{name = "image", dtype = "f32", ndim = 2 : i32, access = "read"}, {name = "gain", dtype = "f32"}],
    kernel.rank = 2 : i32, kernel.masked, kernel.local_size = array<i32: 4, 16>} {
  %0 = kernel.global_range 0
  %1 = "kernel.global_range"() {dimension = 1 : i32} : () -> index
  %2 = kernel.global_range 1 {note}
  func.return
}

// CHECK-LABEL: func.func private @helper
// CHECK: kernel.global_range 2
func.func private @helper() {
  %0 = kernel.global_range 2
  func.return
}
