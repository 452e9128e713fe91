"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.SpecConstant"() <{sym_name = "c0", default_value = 0.000000e+00 : f32}> {spec_id = 0 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "c1", default_value = 1.000000e+00 : f32}> {spec_id = 1 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "c2", default_value = 2.000000e+00 : f32}> {spec_id = 2 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "c3", default_value = 3.000000e+00 : f32}> {spec_id = 3 : i32} : () -> ()
  "spirv.SpecConstantComposite"() <{type = !spirv.array<2 x f32>, sym_name = "r0", constituents = [@c0, @c1]}> : () -> ()
  "spirv.SpecConstantComposite"() <{type = !spirv.array<2 x f32>, sym_name = "r1", constituents = [@c2, @c3]}> : () -> ()
  "spirv.SpecConstantComposite"() <{type = !spirv.array<2 x !spirv.array<2 x f32>>, sym_name = "m", constituents = [@r0, @r1]}> : () -> ()
  "spirv.SpecConstant"() <{sym_name = "d", default_value = 1.000000e-01 : f64}> {spec_id = 4 : i32} : () -> ()
  "spirv.SpecConstant"() <{sym_name = "l", default_value = 8589934592 : i64}> {spec_id = 5 : i32} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "y", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %1 = "spirv.mlir.referenceof"() <{spec_const = @m}> : () -> !spirv.array<2 x !spirv.array<2 x f32>>
    %2 = "spirv.mlir.referenceof"() <{spec_const = @d}> : () -> f64
    %3 = "spirv.FConvert"(%2) : (f64) -> f32
    %4 = "spirv.mlir.referenceof"() <{spec_const = @l}> : () -> i64
    %5 = "spirv.UConvert"(%4) : (i64) -> i32
    %6 = "spirv.mlir.addressof"() <{variable = @y}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %7 = "spirv.AccessChain"(%6, %0, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %8 = "spirv.CompositeExtract"(%1) <{indices = [1 : i32, 0 : i32]}> : (!spirv.array<2 x !spirv.array<2 x f32>>) -> f32
    "spirv.Store"(%7, %8) : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = []}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
