"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader, StorageBuffer8BitAccess, StorageBuffer16BitAccess], [SPV_KHR_storage_buffer_storage_class, SPV_KHR_16bit_storage, SPV_KHR_8bit_storage]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "b", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i8, stride=1> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {non_writable} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "s", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "h", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, binding = 2 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @b}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i8, stride=1> [0])>, StorageBuffer>
    %2 = "spirv.AccessChain"(%1, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i8, stride=1> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i8, StorageBuffer>
    %3 = "spirv.Load"(%2) : (!spirv.ptr<i8, StorageBuffer>) -> i8
    %4 = "spirv.SConvert"(%3) : (i8) -> i32
    %5 = "spirv.mlir.addressof"() <{variable = @s}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>
    %6 = "spirv.AccessChain"(%5, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i16, StorageBuffer>
    %7 = "spirv.UConvert"(%4) : (i32) -> i16
    "spirv.Store"(%6, %7) : (!spirv.ptr<i16, StorageBuffer>, i16) -> ()
    %8 = "spirv.mlir.addressof"() <{variable = @h}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
    %9 = "spirv.AccessChain"(%8, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f16, StorageBuffer>
    %10 = "spirv.Load"(%9) : (!spirv.ptr<f16, StorageBuffer>) -> f16
    %11 = "spirv.FConvert"(%10) : (f16) -> f32
    %12 = "spirv.FAdd"(%11, %11) : (f32, f32) -> f32
    %13 = "spirv.FConvert"(%12) : (f32) -> f16
    "spirv.Store"(%9, %13) : (!spirv.ptr<f16, StorageBuffer>, f16) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
