"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader, Float64, Int64, Float16, Int16, StorageBuffer16BitAccess], [SPV_KHR_storage_buffer_storage_class, SPV_KHR_16bit_storage]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "d", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "l", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "h", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, binding = 2 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "s", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>, binding = 3 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @d}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>
    %2 = "spirv.AccessChain"(%1, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f64, StorageBuffer>
    %3 = "spirv.Load"(%2) : (!spirv.ptr<f64, StorageBuffer>) -> f64
    %4 = "spirv.Constant"() <{value = -2.500000e+00 : f64}> : () -> f64
    %5 = "spirv.FAdd"(%3, %4) : (f64, f64) -> f64
    "spirv.Store"(%2, %5) : (!spirv.ptr<f64, StorageBuffer>, f64) -> ()
    %6 = "spirv.mlir.addressof"() <{variable = @l}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>
    %7 = "spirv.AccessChain"(%6, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i64, StorageBuffer>
    %8 = "spirv.Load"(%7) : (!spirv.ptr<i64, StorageBuffer>) -> i64
    %9 = "spirv.Constant"() <{value = -1099511627776 : i64}> : () -> i64
    %10 = "spirv.IAdd"(%8, %9) : (i64, i64) -> i64
    "spirv.Store"(%7, %10) : (!spirv.ptr<i64, StorageBuffer>, i64) -> ()
    %11 = "spirv.mlir.addressof"() <{variable = @h}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
    %12 = "spirv.AccessChain"(%11, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f16, StorageBuffer>
    %13 = "spirv.Load"(%12) : (!spirv.ptr<f16, StorageBuffer>) -> f16
    %14 = "spirv.Constant"() <{value = 0x7c00 : f16}> : () -> f16
    %15 = "spirv.FAdd"(%13, %14) : (f16, f16) -> f16
    "spirv.Store"(%12, %15) : (!spirv.ptr<f16, StorageBuffer>, f16) -> ()
    %16 = "spirv.mlir.addressof"() <{variable = @s}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>
    %17 = "spirv.AccessChain"(%16, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i16, StorageBuffer>
    %18 = "spirv.Load"(%17) : (!spirv.ptr<i16, StorageBuffer>) -> i16
    %19 = "spirv.Constant"() <{value = -2 : i16}> : () -> i16
    %20 = "spirv.IAdd"(%18, %19) : (i16, i16) -> i16
    "spirv.Store"(%17, %20) : (!spirv.ptr<i16, StorageBuffer>, i16) -> ()
    %21 = "spirv.mlir.addressof"() <{variable = @l}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>
    %22 = "spirv.AccessChain"(%21, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i64, stride=8> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i64, StorageBuffer>
    %23 = "spirv.SConvert"(%0) : (i32) -> i64
    "spirv.Store"(%22, %23) : (!spirv.ptr<i64, StorageBuffer>, i64) -> ()
    %24 = "spirv.Load"(%22) : (!spirv.ptr<i64, StorageBuffer>) -> i64
    %25 = "spirv.UConvert"(%24) : (i64) -> i32
    %26 = "spirv.mlir.addressof"() <{variable = @h}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>
    %27 = "spirv.AccessChain"(%26, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f16, stride=2> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f16, StorageBuffer>
    %28 = "spirv.Load"(%27) : (!spirv.ptr<f16, StorageBuffer>) -> f16
    %29 = "spirv.FConvert"(%28) : (f16) -> f32
    %30 = "spirv.mlir.addressof"() <{variable = @d}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>
    %31 = "spirv.AccessChain"(%30, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f64, stride=8> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f64, StorageBuffer>
    %32 = "spirv.Load"(%31) : (!spirv.ptr<f64, StorageBuffer>) -> f64
    %33 = "spirv.ConvertFToS"(%32) : (f64) -> i64
    %34 = "spirv.Constant"() <{value = 0x7fc00000 : f32}> : () -> f32
    %35 = "spirv.Constant"() <{value = 0xff800000 : f32}> : () -> f32
    %36 = "spirv.Constant"() <{value = 1.000000e-01 : f64}> : () -> f64
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
