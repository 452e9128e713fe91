"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "f", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %i = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %b = "spirv.mlir.addressof"() <{variable = @f}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %f = "spirv.AccessChain"(%b, %i, %i) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %x = "spirv.Load"(%f) : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %p = "spirv.FOrdEqual"(%x, %x) : (f32, f32) -> i1
    %v27 = "spirv.EXT.AtomicFMin"(%f, %x) <{memory_scope = #spirv.scope<Device>, semantics = #spirv.memory_semantics<None>}> : (!spirv.ptr<f32, StorageBuffer>, f32) -> f32
    %v28 = "spirv.EXT.AtomicFMax"(%f, %x) <{memory_scope = #spirv.scope<Device>, semantics = #spirv.memory_semantics<None>}> : (!spirv.ptr<f32, StorageBuffer>, f32) -> f32
    %v29 = "spirv.AtomicLoad"(%f) <{memory_scope = #spirv.scope<Device>, semantics = #spirv.memory_semantics<Acquire|UniformMemory>}> : (!spirv.ptr<f32, StorageBuffer>) -> f32
    "spirv.AtomicStore"(%f, %x) <{memory_scope = #spirv.scope<Device>, semantics = #spirv.memory_semantics<None>}> : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [1 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
