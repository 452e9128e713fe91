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
    %10 = "spirv.IAdd"(%5, %5) : (i32, i32) -> i32
    %11 = "spirv.ISub"(%5, %5) : (i32, i32) -> i32
    %12 = "spirv.IMul"(%5, %5) : (i32, i32) -> i32
    %13 = "spirv.SDiv"(%5, %5) : (i32, i32) -> i32
    %14 = "spirv.UDiv"(%5, %5) : (i32, i32) -> i32
    %15 = "spirv.SRem"(%5, %5) : (i32, i32) -> i32
    %16 = "spirv.SMod"(%5, %5) : (i32, i32) -> i32
    %17 = "spirv.UMod"(%5, %5) : (i32, i32) -> i32
    %18 = "spirv.FAdd"(%6, %6) : (f32, f32) -> f32
    %19 = "spirv.FSub"(%6, %6) : (f32, f32) -> f32
    %20 = "spirv.FMul"(%6, %6) : (f32, f32) -> f32
    %21 = "spirv.FDiv"(%6, %6) : (f32, f32) -> f32
    %22 = "spirv.FRem"(%6, %6) : (f32, f32) -> f32
    %23 = "spirv.FMod"(%6, %6) : (f32, f32) -> f32
    %24 = "spirv.SNegate"(%5) : (i32) -> i32
    %25 = "spirv.FNegate"(%6) : (f32) -> f32
    %26 = "spirv.IAddCarry"(%5, %5) : (i32, i32) -> !spirv.struct<(i32, i32)>
    %27 = "spirv.ISubBorrow"(%5, %5) : (i32, i32) -> !spirv.struct<(i32, i32)>
    %28 = "spirv.UMulExtended"(%5, %5) : (i32, i32) -> !spirv.struct<(i32, i32)>
    %29 = "spirv.SMulExtended"(%5, %5) : (i32, i32) -> !spirv.struct<(i32, i32)>
    %30 = "spirv.VectorTimesScalar"(%9, %6) : (vector<3xf32>, f32) -> vector<3xf32>
    %31 = "spirv.Dot"(%9, %9) : (vector<3xf32>, vector<3xf32>) -> f32
    %32 = "spirv.IEqual"(%5, %5) : (i32, i32) -> i1
    %33 = "spirv.INotEqual"(%5, %5) : (i32, i32) -> i1
    %34 = "spirv.SLessThan"(%5, %5) : (i32, i32) -> i1
    %35 = "spirv.SLessThanEqual"(%5, %5) : (i32, i32) -> i1
    %36 = "spirv.SGreaterThan"(%5, %5) : (i32, i32) -> i1
    %37 = "spirv.SGreaterThanEqual"(%5, %5) : (i32, i32) -> i1
    %38 = "spirv.ULessThan"(%5, %5) : (i32, i32) -> i1
    %39 = "spirv.ULessThanEqual"(%5, %5) : (i32, i32) -> i1
    %40 = "spirv.UGreaterThan"(%5, %5) : (i32, i32) -> i1
    %41 = "spirv.UGreaterThanEqual"(%5, %5) : (i32, i32) -> i1
    %42 = "spirv.FOrdEqual"(%6, %6) : (f32, f32) -> i1
    %43 = "spirv.FOrdNotEqual"(%6, %6) : (f32, f32) -> i1
    %44 = "spirv.FOrdLessThan"(%6, %6) : (f32, f32) -> i1
    %45 = "spirv.FOrdLessThanEqual"(%6, %6) : (f32, f32) -> i1
    %46 = "spirv.FOrdGreaterThan"(%6, %6) : (f32, f32) -> i1
    %47 = "spirv.FOrdGreaterThanEqual"(%6, %6) : (f32, f32) -> i1
    %48 = "spirv.FUnordEqual"(%6, %6) : (f32, f32) -> i1
    %49 = "spirv.FUnordNotEqual"(%6, %6) : (f32, f32) -> i1
    %50 = "spirv.FUnordLessThan"(%6, %6) : (f32, f32) -> i1
    %51 = "spirv.FUnordLessThanEqual"(%6, %6) : (f32, f32) -> i1
    %52 = "spirv.FUnordGreaterThan"(%6, %6) : (f32, f32) -> i1
    %53 = "spirv.FUnordGreaterThanEqual"(%6, %6) : (f32, f32) -> i1
    %54 = "spirv.LogicalAnd"(%7, %7) : (i1, i1) -> i1
    %55 = "spirv.LogicalOr"(%7, %7) : (i1, i1) -> i1
    %56 = "spirv.LogicalEqual"(%7, %7) : (i1, i1) -> i1
    %57 = "spirv.LogicalNotEqual"(%7, %7) : (i1, i1) -> i1
    %58 = "spirv.LogicalNot"(%7) : (i1) -> i1
    %59 = "spirv.IsNan"(%6) : (f32) -> i1
    %60 = "spirv.IsInf"(%6) : (f32) -> i1
    %61 = "spirv.Select"(%7, %5, %5) : (i1, i32, i32) -> i32
    %62 = "spirv.Select"(%7, %6, %6) : (i1, f32, f32) -> f32
    %63 = "spirv.BitwiseAnd"(%5, %5) : (i32, i32) -> i32
    %64 = "spirv.BitwiseOr"(%5, %5) : (i32, i32) -> i32
    %65 = "spirv.BitwiseXor"(%5, %5) : (i32, i32) -> i32
    %66 = "spirv.Not"(%5) : (i32) -> i32
    %67 = "spirv.BitReverse"(%5) : (i32) -> i32
    %68 = "spirv.BitCount"(%5) : (i32) -> i32
    %69 = "spirv.ShiftLeftLogical"(%5, %5) : (i32, i32) -> i32
    %70 = "spirv.ShiftRightLogical"(%5, %5) : (i32, i32) -> i32
    %71 = "spirv.ShiftRightArithmetic"(%5, %5) : (i32, i32) -> i32
    %72 = "spirv.BitFieldSExtract"(%5, %5, %5) : (i32, i32, i32) -> i32
    %73 = "spirv.BitFieldUExtract"(%5, %5, %5) : (i32, i32, i32) -> i32
    %74 = "spirv.BitFieldInsert"(%5, %5, %5, %5) : (i32, i32, i32, i32) -> i32
    %75 = "spirv.ConvertFToS"(%6) : (f32) -> i32
    %76 = "spirv.ConvertFToU"(%6) : (f32) -> i32
    %77 = "spirv.ConvertSToF"(%5) : (i32) -> f32
    %78 = "spirv.ConvertUToF"(%5) : (i32) -> f32
    %79 = "spirv.Bitcast"(%5) : (i32) -> f32
    %80 = "spirv.GL.FAbs"(%6) : (f32) -> f32
    %81 = "spirv.GL.SAbs"(%5) : (i32) -> i32
    %82 = "spirv.GL.FSign"(%6) : (f32) -> f32
    %83 = "spirv.GL.SSign"(%5) : (i32) -> i32
    %84 = "spirv.GL.Round"(%6) : (f32) -> f32
    %85 = "spirv.GL.RoundEven"(%6) : (f32) -> f32
    %86 = "spirv.GL.Floor"(%6) : (f32) -> f32
    %87 = "spirv.GL.Ceil"(%6) : (f32) -> f32
    %88 = "spirv.GL.Sqrt"(%6) : (f32) -> f32
    %89 = "spirv.GL.InverseSqrt"(%6) : (f32) -> f32
    %90 = "spirv.GL.FindUMsb"(%5) : (i32) -> i32
    %91 = "spirv.GL.Sin"(%6) : (f32) -> f32
    %92 = "spirv.GL.Cos"(%6) : (f32) -> f32
    %93 = "spirv.GL.Tan"(%6) : (f32) -> f32
    %94 = "spirv.GL.Asin"(%6) : (f32) -> f32
    %95 = "spirv.GL.Acos"(%6) : (f32) -> f32
    %96 = "spirv.GL.Atan"(%6) : (f32) -> f32
    %97 = "spirv.GL.Sinh"(%6) : (f32) -> f32
    %98 = "spirv.GL.Cosh"(%6) : (f32) -> f32
    %99 = "spirv.GL.Tanh"(%6) : (f32) -> f32
    %100 = "spirv.GL.Exp"(%6) : (f32) -> f32
    %101 = "spirv.GL.Log"(%6) : (f32) -> f32
    %102 = "spirv.GL.Pow"(%6, %6) : (f32, f32) -> f32
    %103 = "spirv.GL.FMin"(%6, %6) : (f32, f32) -> f32
    %104 = "spirv.GL.UMin"(%5, %5) : (i32, i32) -> i32
    %105 = "spirv.GL.SMin"(%5, %5) : (i32, i32) -> i32
    %106 = "spirv.GL.FMax"(%6, %6) : (f32, f32) -> f32
    %107 = "spirv.GL.UMax"(%5, %5) : (i32, i32) -> i32
    %108 = "spirv.GL.SMax"(%5, %5) : (i32, i32) -> i32
    %109 = "spirv.GL.FClamp"(%6, %6, %6) : (f32, f32, f32) -> f32
    %110 = "spirv.GL.UClamp"(%5, %5, %5) : (i32, i32, i32) -> i32
    %111 = "spirv.GL.SClamp"(%5, %5, %5) : (i32, i32, i32) -> i32
    %112 = "spirv.GL.FMix"(%6, %6, %6) : (f32, f32, f32) -> f32
    %113 = "spirv.GL.Fma"(%6, %6, %6) : (f32, f32, f32) -> f32
    %114 = "spirv.GL.Ldexp"(%6, %5) : (f32, i32) -> f32
    %115 = "spirv.GL.FrexpStruct"(%6) : (f32) -> !spirv.struct<(f32, i32)>
    %116 = "spirv.IAdd"(%8, %8) : (vector<3xi32>, vector<3xi32>) -> vector<3xi32>
    %117 = "spirv.IEqual"(%8, %8) : (vector<3xi32>, vector<3xi32>) -> vector<3xi1>
    "spirv.Store"(%2, %5) : (!spirv.ptr<i32, StorageBuffer>, i32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
