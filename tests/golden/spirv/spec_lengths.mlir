"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.SpecConstant"() <{sym_name = "TILE", default_value = 8 : i32}> {spec_id = 0 : i32} : () -> ()
  "spirv.SpecConstantExpression"() <{sym_name = "n", opcode = "IAdd", operands_ = [@TILE, 1 : i32], type = i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "shared", type = !spirv.ptr<!spirv.spec_array<@n x f32>, Workgroup>}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "f", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %i = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %b = "spirv.mlir.addressof"() <{variable = @f}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %f = "spirv.AccessChain"(%b, %i, %i) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %x = "spirv.Load"(%f) : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %p = "spirv.FOrdEqual"(%x, %x) : (f32, f32) -> i1
    %s = "spirv.mlir.addressof"() <{variable = @shared}> : () -> !spirv.ptr<!spirv.spec_array<@n x f32>, Workgroup>
    %sp = "spirv.AccessChain"(%s, %i) : (!spirv.ptr<!spirv.spec_array<@n x f32>, Workgroup>, i32) -> !spirv.ptr<f32, Workgroup>
    "spirv.Store"(%sp, %x) : (!spirv.ptr<f32, Workgroup>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [1 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
