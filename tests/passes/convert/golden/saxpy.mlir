func.func @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) attributes {
    gpu.kernel, kernel.rank = 1 : i32, kernel.masked, kernel.parameters = [
      {name = "a", dtype = "f32"},
      {name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
      {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write"}]} {
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %n = kernel.global_range 0
  %inside = arith.cmpi slt, %i, %n : index
  scf.if %inside {
    %xi = memref.load %x[%i] : memref<?xf32>
    %yi = memref.load %y[%i] : memref<?xf32>
    %ax = arith.mulf %a, %xi : f32
    %sum = arith.addf %ax, %yi : f32
    memref.store %sum, %y[%i] : memref<?xf32>
  }
  func.return
}
// -----
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.6, [Shader], []>}> ({
  "spirv.SpecConstant"() <{sym_name = "__local_size_x", default_value = 64 : i32}> {spec_id = 0 : i32} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "__builtin__GlobalInvocationId__", type = !spirv.ptr<vector<3xi32>, Input>}> {built_in = "GlobalInvocationId"} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "saxpy.x", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0, NonWritable])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {non_writable} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "saxpy.y", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "saxpy.arguments", type = !spirv.ptr<!spirv.struct<(i32 [0], i32 [4], f32 [8])>, PushConstant>}> : () -> ()
  "spirv.func"() <{sym_name = "saxpy", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.mlir.referenceof"() <{spec_const = @__local_size_x}> : () -> i32
    %1 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %2 = "spirv.Constant"() <{value = 1 : i32}> : () -> i32
    %3 = "spirv.Constant"() <{value = 2 : i32}> : () -> i32
    %4 = "spirv.mlir.addressof"() <{variable = @saxpy.arguments}> : () -> !spirv.ptr<!spirv.struct<(i32 [0], i32 [4], f32 [8])>, PushConstant>
    %5 = "spirv.AccessChain"(%4, %1) : (!spirv.ptr<!spirv.struct<(i32 [0], i32 [4], f32 [8])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %6 = "spirv.Load"(%5) : (!spirv.ptr<i32, PushConstant>) -> i32
    %7 = "spirv.AccessChain"(%4, %2) : (!spirv.ptr<!spirv.struct<(i32 [0], i32 [4], f32 [8])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %8 = "spirv.Load"(%7) : (!spirv.ptr<i32, PushConstant>) -> i32
    %9 = "spirv.AccessChain"(%4, %3) : (!spirv.ptr<!spirv.struct<(i32 [0], i32 [4], f32 [8])>, PushConstant>, i32) -> !spirv.ptr<f32, PushConstant>
    %10 = "spirv.Load"(%9) : (!spirv.ptr<f32, PushConstant>) -> f32
    %11 = "spirv.mlir.addressof"() <{variable = @__builtin__GlobalInvocationId__}> : () -> !spirv.ptr<vector<3xi32>, Input>
    %12 = "spirv.Load"(%11) : (!spirv.ptr<vector<3xi32>, Input>) -> vector<3xi32>
    %13 = "spirv.CompositeExtract"(%12) <{indices = [0 : i32]}> : (vector<3xi32>) -> i32
    %14 = "spirv.IMul"(%8, %0) : (i32, i32) -> i32
    %15 = "spirv.IAdd"(%13, %14) : (i32, i32) -> i32
    %16 = "spirv.mlir.addressof"() <{variable = @saxpy.x}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0, NonWritable])>, StorageBuffer>
    %17 = "spirv.mlir.addressof"() <{variable = @saxpy.y}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %18 = "spirv.SLessThan"(%15, %6) : (i32, i32) -> i1
    "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> ({
      "spirv.BranchConditional"(%18) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb1:
      %19 = "spirv.AccessChain"(%16, %1, %15) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0, NonWritable])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
      %20 = "spirv.Load"(%19) : (!spirv.ptr<f32, StorageBuffer>) -> f32
      %21 = "spirv.AccessChain"(%17, %1, %15) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
      %22 = "spirv.Load"(%21) : (!spirv.ptr<f32, StorageBuffer>) -> f32
      %23 = "spirv.FMul"(%10, %20) : (f32, f32) -> f32
      %24 = "spirv.FAdd"(%23, %22) : (f32, f32) -> f32
      %25 = "spirv.AccessChain"(%17, %1, %15) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
      "spirv.Store"(%25, %24) : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
      "spirv.Branch"() [^bb2] : () -> ()
    ^bb2:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @saxpy, interface = [@__builtin__GlobalInvocationId__, @saxpy.x, @saxpy.y, @saxpy.arguments]}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @saxpy, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> {spec_constant.local_size_ids = array<i32: 0, 1, 2>} : () -> ()
}) : () -> ()
