"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "i", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "f", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.addressof"() <{variable = @i}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>
    %2 = "spirv.AccessChain"(%1, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<i32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<i32, StorageBuffer>
    %3 = "spirv.mlir.addressof"() <{variable = @f}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %4 = "spirv.AccessChain"(%3, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %5 = "spirv.Load"(%2) : (!spirv.ptr<i32, StorageBuffer>) -> i32
    %6 = "spirv.Load"(%4) : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %7 = "spirv.IEqual"(%5, %0) : (i32, i32) -> i1
    %8 = "spirv.CompositeConstruct"(%5, %5, %5) : (i32, i32, i32) -> vector<3xi32>
    %9 = "spirv.CompositeConstruct"(%6, %6, %6) : (f32, f32, f32) -> vector<3xf32>
    %10 = "spirv.GL.Trunc"(%6) : (f32) -> f32
    %11 = "spirv.GL.Fract"(%6) : (f32) -> f32
    %12 = "spirv.GL.FindILsb"(%5) : (i32) -> i32
    %13 = "spirv.GL.FindSMsb"(%5) : (i32) -> i32
    %14 = "spirv.GL.Asinh"(%6) : (f32) -> f32
    %15 = "spirv.GL.Acosh"(%6) : (f32) -> f32
    %16 = "spirv.GL.Atanh"(%6) : (f32) -> f32
    %17 = "spirv.GL.Exp2"(%6) : (f32) -> f32
    %18 = "spirv.GL.Log2"(%6) : (f32) -> f32
    %19 = "spirv.GL.Atan2"(%6, %6) : (f32, f32) -> f32
    %20 = "spirv.GL.NMin"(%6, %6) : (f32, f32) -> f32
    %21 = "spirv.GL.NMax"(%6, %6) : (f32, f32) -> f32
    %22 = "spirv.GL.Step"(%6, %6) : (f32, f32) -> f32
    %23 = "spirv.GL.Cross"(%9, %9) : (vector<3xf32>, vector<3xf32>) -> vector<3xf32>
    %24 = "spirv.GL.NClamp"(%6, %6, %6) : (f32, f32, f32) -> f32
    %25 = "spirv.GL.SmoothStep"(%6, %6, %6) : (f32, f32, f32) -> f32
    %26 = "spirv.GL.Normalize"(%9) : (vector<3xf32>) -> vector<3xf32>
    %27 = "spirv.GL.Length"(%9) : (vector<3xf32>) -> f32
    %28 = "spirv.IAdd"(%8, %8) : (vector<3xi32>, vector<3xi32>) -> vector<3xi32>
    %29 = "spirv.IEqual"(%8, %8) : (vector<3xi32>, vector<3xi32>) -> vector<3xi1>
    "spirv.Store"(%2, %5) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
