"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.SpecConstant"() <{sym_name = "user", default_value = 5 : i32}> {spec_id = 0 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "local_size_x", default_value = 64 : i32}> {spec_id = 1 : i32} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "y", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "first", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @y}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %2 = "spirv.AccessChain"(%1, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    %3 = "spirv.mlir.referenceof"() <{spec_const = @local_size_x}> : () -> i32
    %4 = "spirv.mlir.referenceof"() <{spec_const = @user}> : () -> i32
    %5 = "spirv.IAdd"(%3, %4) : (i32, i32) -> i32
    "spirv.Store"(%2, %5) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.func"() <{sym_name = "module.second", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @first, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @first, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> {spec_constant.local_size_ids = array<i32: 1, 2, 3>} : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @module.second, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @module.second, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> {spec_constant.local_size_ids = array<i32: 1, 2, 3>} : () -> ()
}) : () -> ()
