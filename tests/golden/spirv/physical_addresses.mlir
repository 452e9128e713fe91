"spirv.module"() <{addressing_model = #spirv.addressing_model<PhysicalStorageBuffer64>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader, Int64, PhysicalStorageBufferAddresses], [SPV_KHR_storage_buffer_storage_class, SPV_KHR_physical_storage_buffer]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "args", type = !spirv.ptr<!spirv.struct<(i64 [0])>, PushConstant>}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @args}> : () -> !spirv.ptr<!spirv.struct<(i64 [0])>, PushConstant>
    %2 = "spirv.AccessChain"(%1, %0) : (!spirv.ptr<!spirv.struct<(i64 [0])>, PushConstant>, i32) -> !spirv.ptr<i64, PushConstant>
    %3 = "spirv.Load"(%2) : (!spirv.ptr<i64, PushConstant>) -> i64
    %4 = "spirv.ConvertUToPtr"(%3) : (i64) -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, PhysicalStorageBuffer>
    %5 = "spirv.AccessChain"(%4, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, PhysicalStorageBuffer>, i32, i32) -> !spirv.ptr<f32, PhysicalStorageBuffer>
    %6 = "spirv.Load"(%5) <{memory_access = #spirv.memory_access<Aligned>, alignment = 4 : i32}> : (!spirv.ptr<f32, PhysicalStorageBuffer>) -> f32
    "spirv.Store"(%5, %6) <{memory_access = #spirv.memory_access<Aligned>, alignment = 4 : i32}> : (!spirv.ptr<f32, PhysicalStorageBuffer>, f32) -> ()
    %7 = "spirv.ConvertPtrToU"(%5) : (!spirv.ptr<f32, PhysicalStorageBuffer>) -> i64
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
