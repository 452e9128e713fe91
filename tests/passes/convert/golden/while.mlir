func.func @collatz(%x: memref<?xi32>) attributes {
    gpu.kernel, kernel.local_size = array<i32: 32>, kernel.rank = 1 : i32} {
  %i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %start = memref.load %x[%i] : memref<?xi32>
  %steps, %last = scf.while (%n = %none, %v = %start) : (i32, i32) -> (i32, i32) {
    %more = arith.cmpi ugt, %v, %one : i32
    scf.condition(%more) %n, %v : i32, i32
  } do {
  ^bb0(%n: i32, %v: i32):
    %bit = arith.andi %v, %one : i32
    %odd = arith.cmpi ne, %bit, %none : i32
    %following = scf.if %odd -> (i32) {
      %three = arith.constant 3 : i32
      %triple = arith.muli %v, %three : i32
      %up = arith.addi %triple, %one : i32
      scf.yield %up : i32
    } else {
      %half = arith.shrui %v, %one : i32
      scf.yield %half : i32
    }
    %count = arith.addi %n, %one : i32
    scf.yield %count, %following : i32, i32
  }
  memref.store %steps, %x[%i] : memref<?xi32>
  func.return
}
// -----
"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.6, [Shader], []>}> ({
  "spirv.GlobalVariable"() <{sym_name = "__builtin__GlobalInvocationId__", type = !spirv.ptr<vector<3xi32>, Input>}> {built_in = "GlobalInvocationId"} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "collatz.arg0", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "collatz.arguments", type = !spirv.ptr<!spirv.struct<(i32 [0])>, PushConstant>}> : () -> ()
  "spirv.func"() <{sym_name = "collatz", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 32 : i32}> : () -> i32
    %1 = "spirv.Constant"() <{value = 1 : i32}> : () -> i32
    %2 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %3 = "spirv.Constant"() <{value = 3 : i32}> : () -> i32
    %4 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<i32, Function>
    %5 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<i32, Function>
    %6 = "spirv.mlir.addressof"() <{variable = @collatz.arguments}> : () -> !spirv.ptr<!spirv.struct<(i32 [0])>, PushConstant>
    %7 = "spirv.AccessChain"(%6, %2) : (!spirv.ptr<!spirv.struct<(i32 [0])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %8 = "spirv.Load"(%7) : (!spirv.ptr<i32, PushConstant>) -> i32
    %9 = "spirv.mlir.addressof"() <{variable = @__builtin__GlobalInvocationId__}> : () -> !spirv.ptr<vector<3xi32>, Input>
    %10 = "spirv.Load"(%9) : (!spirv.ptr<vector<3xi32>, Input>) -> vector<3xi32>
    %11 = "spirv.CompositeExtract"(%10) <{indices = [0 : i32]}> : (vector<3xi32>) -> i32
    %12 = "spirv.IMul"(%8, %0) : (i32, i32) -> i32
    %13 = "spirv.IAdd"(%11, %12) : (i32, i32) -> i32
    %14 = "spirv.mlir.addressof"() <{variable = @collatz.arg0}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %15 = "spirv.AccessChain"(%14, %2, %13) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    %16 = "spirv.Load"(%15) : (!spirv.ptr<i32, StorageBuffer>) -> i32
    "spirv.mlir.loop"() <{loop_control = #spirv.loop_control<None>}> ({
      "spirv.Branch"(%2, %16) [^bb1] : (i32, i32) -> ()
    ^bb1(%17: i32, %18: i32):
      %19 = "spirv.UGreaterThan"(%18, %1) : (i32, i32) -> i1
      "spirv.Store"(%4, %17) : (!spirv.ptr<i32, Function>, i32) -> ()
      "spirv.BranchConditional"(%19) [^bb2, ^bb4] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb2:
      %20 = "spirv.BitwiseAnd"(%18, %1) : (i32, i32) -> i32
      %21 = "spirv.INotEqual"(%20, %2) : (i32, i32) -> i1
      "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> ({
        "spirv.BranchConditional"(%21) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
      ^bb1:
        %22 = "spirv.IMul"(%18, %3) : (i32, i32) -> i32
        %23 = "spirv.IAdd"(%22, %1) : (i32, i32) -> i32
        "spirv.Store"(%5, %23) : (!spirv.ptr<i32, Function>, i32) -> ()
        "spirv.Branch"() [^bb3] : () -> ()
      ^bb2:
        %24 = "spirv.ShiftRightLogical"(%18, %1) : (i32, i32) -> i32
        "spirv.Store"(%5, %24) : (!spirv.ptr<i32, Function>, i32) -> ()
        "spirv.Branch"() [^bb3] : () -> ()
      ^bb3:
        "spirv.mlir.merge"() : () -> ()
      }) : () -> ()
      %25 = "spirv.Load"(%5) : (!spirv.ptr<i32, Function>) -> i32
      %26 = "spirv.IAdd"(%17, %1) : (i32, i32) -> i32
      "spirv.Branch"() [^bb3] : () -> ()
    ^bb3:
      "spirv.Branch"(%26, %25) [^bb1] : (i32, i32) -> ()
    ^bb4:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    %27 = "spirv.Load"(%4) : (!spirv.ptr<i32, Function>) -> i32
    %28 = "spirv.AccessChain"(%14, %2, %13) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    "spirv.Store"(%28, %27) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @collatz, interface = [@__builtin__GlobalInvocationId__, @collatz.arg0, @collatz.arguments]}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @collatz, execution_mode = #spirv.execution_mode<LocalSize>, values = [32 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
