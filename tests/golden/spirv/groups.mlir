"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "f", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %i = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %b = "spirv.mlir.addressof"() <{variable = @f}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %f = "spirv.AccessChain"(%b, %i, %i) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %x = "spirv.Load"(%f) : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %p = "spirv.FOrdEqual"(%x, %x) : (f32, f32) -> i1
    %v1 = "spirv.GroupNonUniformAll"(%p) <{execution_scope = #spirv.scope<Subgroup>}> : (i1) -> i1
    %v2 = "spirv.GroupNonUniformAny"(%p) <{execution_scope = #spirv.scope<Subgroup>}> : (i1) -> i1
    %v3 = "spirv.GroupNonUniformBallot"(%p) <{execution_scope = #spirv.scope<Subgroup>}> : (i1) -> vector<4xi32>
    %v4 = "spirv.GroupNonUniformBroadcast"(%x, %i) <{execution_scope = #spirv.scope<Subgroup>}> : (f32, i32) -> f32
    %v5 = "spirv.GroupNonUniformShuffle"(%x, %i) <{execution_scope = #spirv.scope<Subgroup>}> : (f32, i32) -> f32
    %v6 = "spirv.GroupNonUniformShuffleXor"(%x, %i) <{execution_scope = #spirv.scope<Subgroup>}> : (f32, i32) -> f32
    %v7 = "spirv.GroupNonUniformShuffleUp"(%x, %i) <{execution_scope = #spirv.scope<Subgroup>}> : (f32, i32) -> f32
    %v8 = "spirv.GroupNonUniformShuffleDown"(%x, %i) <{execution_scope = #spirv.scope<Subgroup>}> : (f32, i32) -> f32
    %v9 = "spirv.GroupNonUniformIAdd"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v10 = "spirv.GroupNonUniformIAdd"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<InclusiveScan>}> : (i32) -> i32
    %v11 = "spirv.GroupNonUniformIAdd"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<ExclusiveScan>}> : (i32) -> i32
    %v12 = "spirv.GroupNonUniformFAdd"(%x) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (f32) -> f32
    %v13 = "spirv.GroupNonUniformIMul"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v14 = "spirv.GroupNonUniformFMul"(%x) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (f32) -> f32
    %v15 = "spirv.GroupNonUniformSMin"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v16 = "spirv.GroupNonUniformUMin"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v17 = "spirv.GroupNonUniformFMin"(%x) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (f32) -> f32
    %v18 = "spirv.GroupNonUniformSMax"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v19 = "spirv.GroupNonUniformUMax"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v20 = "spirv.GroupNonUniformFMax"(%x) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (f32) -> f32
    %v21 = "spirv.GroupNonUniformBitwiseAnd"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v22 = "spirv.GroupNonUniformBitwiseOr"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v23 = "spirv.GroupNonUniformBitwiseXor"(%i) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i32) -> i32
    %v24 = "spirv.GroupNonUniformLogicalAnd"(%p) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i1) -> i1
    %v25 = "spirv.GroupNonUniformLogicalOr"(%p) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i1) -> i1
    %v26 = "spirv.GroupNonUniformLogicalXor"(%p) <{execution_scope = #spirv.scope<Subgroup>, group_operation = #spirv.group_operation<Reduce>}> : (i1) -> i1
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [1 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
