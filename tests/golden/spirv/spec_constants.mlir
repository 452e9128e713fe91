"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.SpecConstant"() <{sym_name = "c0", default_value = 0.000000e+00 : f32}> {spec_id = 0 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "c1", default_value = 1.000000e+00 : f32}> {spec_id = 1 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "c2", default_value = 2.000000e+00 : f32}> {spec_id = 2 : i32} : () -> ()
  "spirv.SpecConstantComposite"() <{type = !spirv.array<3 x f32>, sym_name = "coeff", constituents = [@c0, @c1, @c2]}> : () -> ()
  "spirv.SpecConstant"() <{sym_name = "flag", default_value = true}> {spec_id = 3 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "n", default_value = -3 : i32}> {spec_id = 4 : i32} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "y", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.referenceof"() <{spec_const = @coeff}> : () -> !spirv.array<3 x f32>
    %2 = "spirv.mlir.referenceof"() <{spec_const = @flag}> : () -> i1
    %3 = "spirv.mlir.referenceof"() <{spec_const = @n}> : () -> i32
    %4 = "spirv.SpecConstantOperation"() ({
      %5 = "spirv.IMul"(%3, %3) : (i32, i32) -> i32
      "spirv.mlir.yield"(%5) : (i32) -> ()
    }) : () -> i32
    %6 = "spirv.SpecConstantOperation"() ({
      %7 = "spirv.Select"(%2, %4, %3) : (i1, i32, i32) -> i32
      "spirv.mlir.yield"(%7) : (i32) -> ()
    }) : () -> i32
    %8 = "spirv.Variable"(%1) <{storage_class = #spirv.storage_class<Function>}> : (!spirv.array<3 x f32>) -> !spirv.ptr<!spirv.array<3 x f32>, Function>
    %9 = "spirv.mlir.addressof"() <{variable = @y}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %10 = "spirv.AccessChain"(%9, %0, %4) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %11 = "spirv.CompositeExtract"(%1) <{indices = [1 : i32]}> : (!spirv.array<3 x f32>) -> f32
    %12 = "spirv.AccessChain"(%8, %3) : (!spirv.ptr<!spirv.array<3 x f32>, Function>, i32) -> !spirv.ptr<f32, Function>
    %13 = "spirv.Load"(%12) : (!spirv.ptr<f32, Function>) -> f32
    %14 = "spirv.Select"(%2, %11, %13) : (i1, f32, f32) -> f32
    "spirv.Store"(%10, %14) : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
