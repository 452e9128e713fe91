"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "x", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "twice", function_type = (i32) -> i32, function_control = #spirv.function_control<None>}> ({
  ^bb0(%0: i32):
    %1 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %2 = "spirv.SLessThan"(%0, %1) : (i32, i32) -> i1
    "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<DontFlatten>}> ({
      "spirv.BranchConditional"(%2) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb1:
      "spirv.ReturnValue"(%1) : (i32) -> ()
    ^bb2:
      "spirv.Branch"() [^bb3] : () -> ()
    ^bb3:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    %3 = "spirv.IAdd"(%0, %0) : (i32, i32) -> i32
    "spirv.ReturnValue"(%3) : (i32) -> ()
  }) : () -> ()
  "spirv.func"() <{sym_name = "nothing", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.Constant"() <{value = 1 : i32}> : () -> i32
    %2 = "spirv.Constant"() <{value = 10 : i32}> : () -> i32
    %3 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<i32, Function>
    %4 = "spirv.mlir.addressof"() <{variable = @x}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %5 = "spirv.AccessChain"(%4, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    "spirv.Store"(%3, %0) : (!spirv.ptr<i32, Function>, i32) -> ()
    "spirv.FunctionCall"() <{callee = @nothing}> : () -> ()
    "spirv.mlir.loop"() <{loop_control = #spirv.loop_control<Unroll>}> ({
      "spirv.Branch"(%0, %1) [^bb1] : (i32, i32) -> ()
    ^bb1(%6: i32, %7: i32):
      "spirv.Store"(%3, %7) : (!spirv.ptr<i32, Function>, i32) -> ()
      %8 = "spirv.IEqual"(%7, %2) : (i32, i32) -> i1
      "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> ({
        "spirv.BranchConditional"(%8) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
      ^bb1:
        "spirv.Store"(%5, %7) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
        "spirv.Branch"() [^bb2] : () -> ()
      ^bb2:
        "spirv.mlir.merge"() : () -> ()
      }) : () -> ()
      %9 = "spirv.SLessThan"(%6, %2) : (i32, i32) -> i1
      "spirv.BranchConditional"(%9) [^bb2, ^bb4] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb2:
      %10 = "spirv.SGreaterThan"(%7, %2) : (i32, i32) -> i1
      "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<Flatten>}> ({
        "spirv.BranchConditional"(%10) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
      ^bb1:
        "spirv.Store"(%3, %6) : (!spirv.ptr<i32, Function>, i32) -> ()
        "spirv.Branch"() [^bb3] : () -> ()
      ^bb2:
        "spirv.Store"(%3, %1) : (!spirv.ptr<i32, Function>, i32) -> ()
        "spirv.Branch"() [^bb3] : () -> ()
      ^bb3:
        "spirv.mlir.merge"() : () -> ()
      }) : () -> ()
      %11 = "spirv.Load"(%3) : (!spirv.ptr<i32, Function>) -> i32
      "spirv.Branch"() [^bb3] : () -> ()
    ^bb3:
      %12 = "spirv.IAdd"(%6, %1) : (i32, i32) -> i32
      %13 = "spirv.FunctionCall"(%11) <{callee = @twice}> : (i32) -> i32
      "spirv.Branch"(%12, %13) [^bb1] : (i32, i32) -> ()
    ^bb4:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    "spirv.mlir.selection"() <{selection_control = #spirv.selection_control<None>}> ({
      %14 = "spirv.IEqual"(%0, %1) : (i32, i32) -> i1
      "spirv.BranchConditional"(%14) [^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
    ^bb1:
      "spirv.Unreachable"() : () -> ()
    ^bb2:
      "spirv.mlir.merge"() : () -> ()
    }) : () -> ()
    %15 = "spirv.Load"(%3) : (!spirv.ptr<i32, Function>) -> i32
    "spirv.Store"(%5, %15) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
