builtin.module {
  spec_constant.declare @golden_kernels.COEFF : !spirv.array<3 x !spirv.array<3 x f32>> = [0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] {short_name = "COEFF", lapilli_type = "FixedArray[f32, 3, 3]"}
  func.func @convolution(%image: memref<?x?xf32>, %result: memref<?x?xf32>) attributes {gpu.kernel, kernel.parameters = [{name = "image", dtype = "f32", ndim = 2 : i32, access = "read"}, {name = "result", dtype = "f32", ndim = 2 : i32, access = "write"}], kernel.rank = 2 : i32, kernel.masked} {
    %0 = "gpu.global_id"() <{dimension = #gpu<dim y>}> : () -> index
    %1 = arith.index_cast %0 : index to i32
    %2 = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.constant 0 : index
    %5 = memref.dim %image, %4 : memref<?x?xf32>
    %6 = arith.index_cast %5 : index to i32
    %7 = arith.constant 1 : index
    %8 = memref.dim %image, %7 : memref<?x?xf32>
    %9 = arith.index_cast %8 : index to i32
    %10 = arith.constant 0.000000e+00 : f32
    %11 = arith.constant -1 : i32
    %12 = arith.constant 2 : i32
    %13 = arith.constant 1 : i32
    %14 = arith.constant 0 : i32
    %15 = spec_constant.get @golden_kernels.COEFF : !spirv.array<3 x !spirv.array<3 x f32>>
    %16 = "spirv.Variable"(%15) <{storage_class = #spirv.storage_class<Function>}> : (!spirv.array<3 x !spirv.array<3 x f32>>) -> !spirv.ptr<!spirv.array<3 x !spirv.array<3 x f32>>, Function>
    %17 = kernel.global_range 0
    %18 = arith.cmpi slt, %0, %17 : index
    %19 = kernel.global_range 1
    %20 = arith.cmpi slt, %2, %19 : index
    %21 = arith.andi %18, %20 : i1
    scf.if %21 {
      %22 = scf.for %23 = %11 to %12 step %13 iter_args(%24 = %10) -> (f32) : i32 {
        %25 = scf.for %26 = %11 to %12 step %13 iter_args(%27 = %24) -> (f32) : i32 {
          %28 = arith.addi %1, %23 : i32
          %29 = arith.maxsi %28, %14 : i32
          %30 = arith.subi %6, %13 : i32
          %31 = arith.minsi %29, %30 : i32
          %32 = arith.addi %3, %26 : i32
          %33 = arith.maxsi %32, %14 : i32
          %34 = arith.subi %9, %13 : i32
          %35 = arith.minsi %33, %34 : i32
          %36 = arith.addi %23, %13 : i32
          %37 = arith.addi %26, %13 : i32
          %38 = "spirv.AccessChain"(%16, %36, %37) : (!spirv.ptr<!spirv.array<3 x !spirv.array<3 x f32>>, Function>, i32, i32) -> !spirv.ptr<f32, Function>
          %39 = "spirv.Load"(%38) : (!spirv.ptr<f32, Function>) -> f32
          %40 = arith.index_cast %31 : i32 to index
          %41 = arith.index_cast %35 : i32 to index
          %42 = memref.load %image[%40, %41] : memref<?x?xf32>
          %43 = arith.mulf %39, %42 : f32
          %44 = arith.addf %27, %43 : f32
          scf.yield %44 : f32
        }
        scf.yield %25 : f32
      }
      memref.store %22, %result[%0, %2] : memref<?x?xf32>
    }
    func.return
  }
}
