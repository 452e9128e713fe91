// RUN: -p propagate-aspects

// Types are looked through; pointers and memrefs are not (ASP-03, ASP-04, ASP-11, ASP-12).

builtin.module attributes {aspect.types_that_use_aspects = {Amx = [9 : i32], Both = [9 : i32, 12 : i32]}} {
  // CHECK-LABEL: func.func @f16_value
  // CHECK-SAME: aspect.used = [5 : i32]
  func.func @f16_value(%x: f32) attributes {gpu.kernel} {
    %0 = arith.truncf %x : f32 to f16
    func.return
  }
  // CHECK-LABEL: func.func @f64_parameter
  // CHECK-SAME: aspect.used = [6 : i32]
  func.func @f64_parameter(%x: f64) attributes {gpu.kernel} {
    func.return
  }
  // CHECK-LABEL: func.func private @f64_result
  // CHECK-SAME: aspect.used = [6 : i32]
  func.func private @f64_result() -> f64 {
    %0 = "test.op"() : () -> f64
    func.return %0 : f64
  }
  // CHECK-LABEL: func.func @vector
  // CHECK-SAME: aspect.used = [6 : i32]
  func.func @vector() attributes {gpu.kernel} {
    %0 = "test.op"() : () -> vector<4xf64>
    func.return
  }
  // CHECK-LABEL: func.func @array_in_struct
  // CHECK-SAME: aspect.used = [5 : i32, 6 : i32]
  func.func @array_in_struct() attributes {gpu.kernel} {
    %0 = "test.op"() : () -> !spirv.struct<(f32, !spirv.array<2 x !spirv.struct<(f16, f64)>>)>
    func.return
  }
  // CHECK-LABEL: func.func @named
  // CHECK-SAME: aspect.used = [9 : i32]
  func.func @named() attributes {gpu.kernel} {
    %0 = "test.op"() : () -> !spirv.struct<Amx, (f32)>
    func.return
  }
  // CHECK-LABEL: func.func @named_inside
  // CHECK-SAME: aspect.used = [9 : i32, 12 : i32]
  func.func @named_inside() attributes {gpu.kernel} {
    %0 = "test.op"() : () -> !spirv.array<2 x !spirv.struct<Outer, (f32, !spirv.struct<Both, (f32)>)>>
    func.return
  }
  // CHECK-LABEL: func.func @allocation
  // CHECK-SAME: aspect.used = [9 : i32]
  func.func @allocation() attributes {gpu.kernel} {
    %0 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<!spirv.struct<Amx, (f32)>, Function>
    func.return
  }
  // CHECK-LABEL: func.func @pointers
  // CHECK-NOT: aspect.used
  // CHECK-SAME: {
  func.func @pointers(%0: memref<?xf64>, %1: !spirv.ptr<!spirv.struct<Amx, (f32)>, StorageBuffer>) attributes {gpu.kernel} {
    func.return
  }
  // CHECK-LABEL: func.func @load
  // CHECK-SAME: aspect.used = [6 : i32]
  func.func @load(%0: memref<?xf64>, %i: index) attributes {gpu.kernel} {
    %1 = memref.load %0[%i] : memref<?xf64>
    func.return
  }
  // CHECK-LABEL: func.func @loop_carried
  // CHECK-SAME: aspect.used = [6 : i32]
  func.func @loop_carried(%i: index) attributes {gpu.kernel} {
    "test.op"() ({
    ^bb0(%x: f64):
      "test.termop"() : () -> ()
    }) : () -> ()
    func.return
  }
  // CHECK-LABEL: func.func @plain
  // CHECK-SAME: attributes {gpu.kernel, aspect.fixed_targets = []}
  func.func @plain(%x: f32, %i: i32, %b: i1, %n: index) attributes {gpu.kernel} {
    func.return
  }
}
