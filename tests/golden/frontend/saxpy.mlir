builtin.module {
  func.func @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) attributes {gpu.kernel, kernel.parameters = [{name = "a", dtype = "f32"}, {name = "x", dtype = "f32", ndim = 1 : i32, access = "read", may_alias}, {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write", may_alias}], kernel.rank = 1 : i32, kernel.masked} {
    %0 = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    %1 = arith.index_cast %0 : index to i32
    %2 = kernel.global_range 0
    %3 = arith.cmpi slt, %0, %2 : index
    scf.if %3 {
      %4 = memref.load %x[%0] : memref<?xf32>
      %5 = arith.mulf %a, %4 : f32
      %6 = memref.load %y[%0] : memref<?xf32>
      %7 = arith.addf %5, %6 : f32
      memref.store %7, %y[%0] : memref<?xf32>
    }
    func.return
  }
}
