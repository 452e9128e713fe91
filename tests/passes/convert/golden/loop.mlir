func.func @total(%x: memref<?x?xi32>, %out: memref<?xi32>) attributes {
    gpu.kernel, kernel.local_size = array<i32: 32>, kernel.rank = 1 : i32} {
  %row = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %columns = memref.dim %x, %one : memref<?x?xi32>
  %total = scf.for %column = %zero to %columns step %one iter_args(%sum = %none) -> (i32) {
    %v = memref.load %x[%row, %column] : memref<?x?xi32>
    %next = arith.addi %sum, %v : i32
    scf.yield %next : i32
  }
  memref.store %total, %out[%row] : memref<?xi32>
  func.return
}
// -----
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.6, [Shader], []>}> ({
  "spirv.GlobalVariable"() <{sym_name = "__builtin__GlobalInvocationId__", type = !spirv.ptr<vector<3xi32>, Input>}> {built_in = "GlobalInvocationId"} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "total.arg0", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "total.arg1", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "total.arguments", type = !spirv.ptr<!spirv.struct<(i32 [0], i32 [4])>, PushConstant>}> : () -> ()
  "spirv.func"() <{sym_name = "total", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 32 : i32}> : () -> i32
    %1 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %2 = "spirv.Constant"() <{value = 1 : i32}> : () -> i32
    %3 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<i32, Function>
    %4 = "spirv.mlir.addressof"() <{variable = @total.arguments}> : () -> !spirv.ptr<!spirv.struct<(i32 [0], i32 [4])>, PushConstant>
    %5 = "spirv.AccessChain"(%4, %1) : (!spirv.ptr<!spirv.struct<(i32 [0], i32 [4])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %6 = "spirv.Load"(%5) : (!spirv.ptr<i32, PushConstant>) -> i32
    %7 = "spirv.AccessChain"(%4, %2) : (!spirv.ptr<!spirv.struct<(i32 [0], i32 [4])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %8 = "spirv.Load"(%7) : (!spirv.ptr<i32, PushConstant>) -> i32
    %9 = "spirv.mlir.addressof"() <{variable = @__builtin__GlobalInvocationId__}> : () -> !spirv.ptr<vector<3xi32>, Input>
    %10 = "spirv.Load"(%9) : (!spirv.ptr<vector<3xi32>, Input>) -> vector<3xi32>
    %11 = "spirv.CompositeExtract"(%10) <{indices = [0 : i32]}> : (vector<3xi32>) -> i32
    %12 = "spirv.IMul"(%6, %0) : (i32, i32) -> i32
    %13 = "spirv.IAdd"(%11, %12) : (i32, i32) -> i32
    %14 = "spirv.mlir.addressof"() <{variable = @total.arg0}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %15 = "spirv.mlir.addressof"() <{variable = @total.arg1}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    "spirv.mlir.loop"() <{loop_control = #spirv.loop_control<None>}> ({
      "spirv.Branch"(%1, %1) [^bb1] : (i32, i32) -> ()
    ^bb1(%16: i32, %17: i32):
      "spirv.Store"(%3, %17) : (!spirv.ptr<i32, Function>, i32) -> ()
      %18 = "spirv.SLessThan"(%16, %8) : (i32, i32) -> i1
      "spirv.BranchConditional"(%18) [^bb2, ^bb4] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb2:
      %19 = "spirv.IMul"(%13, %8) : (i32, i32) -> i32
      %20 = "spirv.IAdd"(%19, %16) : (i32, i32) -> i32
      %21 = "spirv.AccessChain"(%14, %1, %20) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
      %22 = "spirv.Load"(%21) : (!spirv.ptr<i32, StorageBuffer>) -> i32
      %23 = "spirv.IAdd"(%17, %22) : (i32, i32) -> i32
      "spirv.Branch"() [^bb3] : () -> ()
    ^bb3:
      %24 = "spirv.IAdd"(%16, %2) : (i32, i32) -> i32
      "spirv.Branch"(%24, %23) [^bb1] : (i32, i32) -> ()
    ^bb4:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    %25 = "spirv.Load"(%3) : (!spirv.ptr<i32, Function>) -> i32
    %26 = "spirv.AccessChain"(%15, %1, %13) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    "spirv.Store"(%26, %25) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @total, interface = [@__builtin__GlobalInvocationId__, @total.arg0, @total.arg1, @total.arguments]}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @total, execution_mode = #spirv.execution_mode<LocalSize>, values = [32 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
