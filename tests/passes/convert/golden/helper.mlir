spec_constant.declare @m.SCALE : f32 = [2.0 : f32] {short_name = "SCALE", lapilli_type = "f32"}
func.func private @scaled(%v: f32) -> f32 {
  %scale = spec_constant.get @m.SCALE : f32
  %w = arith.mulf %v, %scale : f32
  func.return %w : f32
}
func.func private @move(%a: memref<?xf32>, %b: memref<?xf32>, %i: index) {
  %v = memref.load %a[%i] : memref<?xf32>
  %w = func.call @scaled(%v) : (f32) -> f32
  memref.store %w, %b[%i] : memref<?xf32>
  func.return
}
func.func @k(%x: memref<?xf32>, %y: memref<?xf32>) attributes {
    gpu.kernel, kernel.local_size = array<i32: 32>, kernel.rank = 1 : i32} {
  %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
  func.call @move(%x, %y, %i) : (memref<?xf32>, memref<?xf32>, index) -> ()
  func.return
}
// -----
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.6, [Shader], []>}> ({
  "spirv.SpecConstant"() <{sym_name = "m.SCALE", default_value = 2.000000e+00 : f32}> {spec_id = 0 : i32} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "__builtin__LocalInvocationId__", type = !spirv.ptr<vector<3xi32>, Input>}> {built_in = "LocalInvocationId"} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "k.arg0", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "k.arg1", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.func"() <{sym_name = "scaled", function_type = (f32) -> f32, function_control = #spirv.function_control<None>}> ({
  ^bb0(%0: f32):
    %1 = "spirv.mlir.referenceof"() <{spec_const = @m.SCALE}> : () -> f32
    %2 = "spirv.FMul"(%0, %1) : (f32, f32) -> f32
    "spirv.ReturnValue"(%2) : (f32) -> ()
  }) : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @__builtin__LocalInvocationId__}> : () -> !spirv.ptr<vector<3xi32>, Input>
    %2 = "spirv.Load"(%1) : (!spirv.ptr<vector<3xi32>, Input>) -> vector<3xi32>
    %3 = "spirv.CompositeExtract"(%2) <{indices = [0 : i32]}> : (vector<3xi32>) -> i32
    %4 = "spirv.mlir.addressof"() <{variable = @k.arg0}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %5 = "spirv.mlir.addressof"() <{variable = @k.arg1}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %6 = "spirv.AccessChain"(%4, %0, %3) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %7 = "spirv.Load"(%6) : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %8 = "spirv.FunctionCall"(%7) <{callee = @scaled}> : (f32) -> f32
    %9 = "spirv.AccessChain"(%5, %0, %3) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    "spirv.Store"(%9, %8) : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = [@__builtin__LocalInvocationId__, @k.arg0, @k.arg1]}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [32 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
