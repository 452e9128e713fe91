// RUN: -p propagate-aspects

// What SYCL takes for granted and Vulkan makes optional.

// 65536 VK_INT8, 65539 VK_STORAGE_8BIT
// CHECK-LABEL: func.func @bytes
// CHECK-SAME: aspect.used = [65536 : i32, 65539 : i32]
func.func @bytes(%a: memref<?xi8>, %i: index) attributes {gpu.kernel} {
  %0 = memref.load %a[%i] : memref<?xi8>
  func.return
}
// 65537 VK_INT16; a kernel's own variable needs no storage feature
// CHECK-LABEL: func.func @private_shorts
// CHECK-SAME: aspect.used = [65537 : i32]
func.func @private_shorts(%i: index, %v: i16) attributes {gpu.kernel} {
  %0 = memref.alloca() : memref<4xi16>
  memref.store %v, %0[%i] : memref<4xi16>
  func.return
}
// 5 FP16, 65540 VK_STORAGE_16BIT
// CHECK-LABEL: func.func @halves
// CHECK-SAME: aspect.used = [5 : i32, 65540 : i32]
func.func @halves(%a: memref<?xf16>, %i: index) attributes {gpu.kernel} {
  %0 = memref.load %a[%i] : memref<?xf16>
  func.return
}
// 65538 VK_INT64
// CHECK-LABEL: func.func @longs
// CHECK-SAME: aspect.used = [65538 : i32]
func.func @longs(%a: memref<?xi64>, %i: index) attributes {gpu.kernel} {
  %0 = memref.load %a[%i] : memref<?xi64>
  func.return
}
// Only 64-bit atomics are optional (ASP-05); 28 is ATOMIC64.
// CHECK-LABEL: func.func @atomic64
// CHECK-SAME: aspect.used = [28 : i32, 65538 : i32]
func.func @atomic64(%v: i64, %a: memref<?xi64>, %i: index) attributes {gpu.kernel} {
  %0 = "memref.atomic_rmw"(%v, %a, %i) <{kind = 0 : i64}> : (i64, memref<?xi64>, index) -> i64
  func.return
}
// CHECK-LABEL: func.func @atomic32
// CHECK-NOT: aspect.used
// CHECK: func.return
func.func @atomic32(%v: i32, %a: memref<?xi32>, %i: index) attributes {gpu.kernel} {
  %0 = "memref.atomic_rmw"(%v, %a, %i) <{kind = 0 : i64}> : (i32, memref<?xi32>, index) -> i32
  func.return
}
