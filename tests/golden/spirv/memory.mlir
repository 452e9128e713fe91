"spirv.module"() <{addressing_model = #spirv.addressing_model<Logical>, memory_model = #spirv.memory_model<GLSL450>, vce_triple = #spirv.vce<v1.3, [Shader], [SPV_KHR_storage_buffer_storage_class]>}> ({
  "spirv.GlobalVariable"() <{sym_name = "args", type = !spirv.ptr<!spirv.struct<(i32 [0], f32 [4])>, PushConstant>}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "__builtin__GlobalInvocationId__", type = !spirv.ptr<vector<3xi32>, Input>}> {built_in = "GlobalInvocationId"} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "tile", type = !spirv.ptr<!spirv.array<64 x f32>, Workgroup>}> : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "x", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, binding = 0 : i32, descriptor_set = 0 : i32}> {aliased} : () -> ()
  "spirv.GlobalVariable"() <{sym_name = "y", type = !spirv.ptr<!spirv.struct<(!spirv.rtarray<!spirv.struct<Pair, (f32 [0], vector<4xf32> [16])>, stride=32> [0])>, StorageBuffer>, binding = 1 : i32, descriptor_set = 0 : i32}> : () -> ()
  "spirv.func"() <{sym_name = "k", function_type = () -> (), function_control = #spirv.function_control<None>}> ({
    %0 = "spirv.Constant"() <{value = 1 : i32}> : () -> i32
    %1 = "spirv.Constant"() <{value = 0 : i32}> : () -> i32
    %2 = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<!spirv.array<3 x f32>, Function>
    %3 = "spirv.Constant"() <{value = 1.500000e+00 : f32}> : () -> f32
    %4 = "spirv.Variable"(%3) <{storage_class = #spirv.storage_class<Function>}> : (f32) -> !spirv.ptr<f32, Function>
    %5 = "spirv.mlir.addressof"() <{variable = @__builtin__GlobalInvocationId__}> : () -> !spirv.ptr<vector<3xi32>, Input>
    %6 = "spirv.Load"(%5) : (!spirv.ptr<vector<3xi32>, Input>) -> vector<3xi32>
    %7 = "spirv.CompositeExtract"(%6) <{indices = [0 : i32]}> : (vector<3xi32>) -> i32
    %8 = "spirv.mlir.addressof"() <{variable = @args}> : () -> !spirv.ptr<!spirv.struct<(i32 [0], f32 [4])>, PushConstant>
    %9 = "spirv.AccessChain"(%8, %1) : (!spirv.ptr<!spirv.struct<(i32 [0], f32 [4])>, PushConstant>, i32) -> !spirv.ptr<i32, PushConstant>
    %10 = "spirv.Load"(%9) : (!spirv.ptr<i32, PushConstant>) -> i32
    %11 = "spirv.mlir.addressof"() <{variable = @args}> : () -> !spirv.ptr<!spirv.struct<(i32 [0], f32 [4])>, PushConstant>
    %12 = "spirv.AccessChain"(%11, %0) : (!spirv.ptr<!spirv.struct<(i32 [0], f32 [4])>, PushConstant>, i32) -> !spirv.ptr<f32, PushConstant>
    %13 = "spirv.Load"(%12) : (!spirv.ptr<f32, PushConstant>) -> f32
    %14 = "spirv.mlir.addressof"() <{variable = @x}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
    %15 = "spirv.AccessChain"(%14, %1, %7) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>, i32, i32) -> !spirv.ptr<f32, StorageBuffer>
    %16 = "spirv.Load"(%15) <{memory_access = #spirv.memory_access<Aligned>, alignment = 4 : i32}> : (!spirv.ptr<f32, StorageBuffer>) -> f32
    %17 = "spirv.AccessChain"(%2, %10) : (!spirv.ptr<!spirv.array<3 x f32>, Function>, i32) -> !spirv.ptr<f32, Function>
    "spirv.Store"(%17, %16) : (!spirv.ptr<f32, Function>, f32) -> ()
    %18 = "spirv.Load"(%2) : (!spirv.ptr<!spirv.array<3 x f32>, Function>) -> !spirv.array<3 x f32>
    %19 = "spirv.CompositeExtract"(%18) <{indices = [2 : i32]}> : (!spirv.array<3 x f32>) -> f32
    %20 = "spirv.CompositeInsert"(%19, %18) <{indices = [1 : i32]}> : (f32, !spirv.array<3 x f32>) -> !spirv.array<3 x f32>
    "spirv.Store"(%2, %20) : (!spirv.ptr<!spirv.array<3 x f32>, Function>, !spirv.array<3 x f32>) -> ()
    %21 = "spirv.CompositeConstruct"(%16, %19, %13) : (f32, f32, f32) -> !spirv.array<3 x f32>
    %22 = "spirv.Load"(%4) : (!spirv.ptr<f32, Function>) -> f32
    "spirv.Store"(%4, %22) : (!spirv.ptr<f32, Function>, f32) -> ()
    %23 = "spirv.CompositeConstruct"(%16, %16, %16, %13) : (f32, f32, f32, f32) -> vector<4xf32>
    %24 = "spirv.VectorExtractDynamic"(%23, %10) : (vector<4xf32>, i32) -> f32
    %25 = "spirv.VectorInsertDynamic"(%23, %13, %10) : (vector<4xf32>, f32, i32) -> vector<4xf32>
    %26 = "spirv.VectorShuffle"(%23, %25) <{components = [0 : i32, 5 : i32, 2 : i32]}> : (vector<4xf32>, vector<4xf32>) -> vector<3xf32>
    %27 = "spirv.CompositeConstruct"(%26, %13) : (vector<3xf32>, f32) -> vector<4xf32>
    %28 = "spirv.mlir.addressof"() <{variable = @y}> : () -> !spirv.ptr<!spirv.struct<(!spirv.rtarray<!spirv.struct<Pair, (f32 [0], vector<4xf32> [16])>, stride=32> [0])>, StorageBuffer>
    %29 = "spirv.AccessChain"(%28, %1, %7, %0) : (!spirv.ptr<!spirv.struct<(!spirv.rtarray<!spirv.struct<Pair, (f32 [0], vector<4xf32> [16])>, stride=32> [0])>, StorageBuffer>, i32, i32, i32) -> !spirv.ptr<vector<4xf32>, StorageBuffer>
    "spirv.Store"(%29, %25) : (!spirv.ptr<vector<4xf32>, StorageBuffer>, vector<4xf32>) -> ()
    %30 = "spirv.Constant"() <{value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : vector<3xf32>}> : () -> vector<3xf32>
    %31 = "spirv.Constant"() <{value = dense<7> : vector<3xi32>}> : () -> vector<3xi32>
    %32 = "spirv.Constant"() <{value = [1.000000e+00 : f32, 2.000000e+00 : f32]}> : () -> !spirv.array<2 x f32>
    %33 = "spirv.Constant"() <{value = true}> : () -> i1
    %34 = "spirv.mlir.addressof"() <{variable = @tile}> : () -> !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
    %35 = "spirv.AccessChain"(%34, %10) : (!spirv.ptr<!spirv.array<64 x f32>, Workgroup>, i32) -> !spirv.ptr<f32, Workgroup>
    %36 = "spirv.Undef"() : () -> f32
    "spirv.Store"(%35, %36) : (!spirv.ptr<f32, Workgroup>, f32) -> ()
    %37 = "spirv.mlir.addressof"() <{variable = @tile}> : () -> !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
    %38 = "spirv.AccessChain"(%37, %1) : (!spirv.ptr<!spirv.array<64 x f32>, Workgroup>, i32) -> !spirv.ptr<f32, Workgroup>
    "spirv.CopyMemory"(%38, %15) : (!spirv.ptr<f32, Workgroup>, !spirv.ptr<f32, StorageBuffer>) -> ()
    "spirv.ControlBarrier"() <{execution_scope = #spirv.scope<Workgroup>, memory_scope = #spirv.scope<Workgroup>, memory_semantics = #spirv.memory_semantics<AcquireRelease|WorkgroupMemory>}> : () -> ()
    "spirv.MemoryBarrier"() <{memory_scope = #spirv.scope<Device>, memory_semantics = #spirv.memory_semantics<AcquireRelease|UniformMemory>}> : () -> ()
    %39 = "spirv.mlir.addressof"() <{variable = @tile}> : () -> !spirv.ptr<!spirv.array<64 x f32>, Workgroup>
    %40 = "spirv.AccessChain"(%39, %1) : (!spirv.ptr<!spirv.array<64 x f32>, Workgroup>, i32) -> !spirv.ptr<f32, Workgroup>
    %41 = "spirv.Load"(%40) : (!spirv.ptr<f32, Workgroup>) -> f32
    %42 = "spirv.FMul"(%41, %13) {no_contraction} : (f32, f32) -> f32
    "spirv.Store"(%15, %42) : (!spirv.ptr<f32, StorageBuffer>, f32) -> ()
    "spirv.Return"() : () -> ()
  }) : () -> ()
  "spirv.EntryPoint"() <{execution_model = #spirv.execution_model<GLCompute>, fn = @k, interface = [@__builtin__GlobalInvocationId__]}> : () -> ()
  "spirv.ExecutionMode"() <{fn = @k, execution_mode = #spirv.execution_mode<LocalSize>, values = [64 : i32, 1 : i32, 1 : i32]}> : () -> ()
}) : () -> ()
