builtin.module {
  func.func @flags(%a: memref<?xi8>, %b: i8, %y: memref<?xi8>) attributes {gpu.kernel, kernel.parameters = [{name = "a", dtype = "bool", ndim = 1 : i32, access = "read"}, {name = "b", dtype = "u8"}, {name = "y", dtype = "bool", ndim = 1 : i32, access = "write"}], kernel.rank = 1 : i32, kernel.masked} {
    %0 = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.constant 0 : i8
    %3 = arith.constant 1 : i8
    %4 = arith.constant 5 : i8
    %5 = arith.constant false
    %6 = arith.constant 0 : i32
    %7 = arith.constant true
    %8 = kernel.global_range 0
    %9 = arith.cmpi slt, %0, %8 : index
    scf.if %9 {
      %10 = memref.load %a[%0] : memref<?xi8>
      %11 = arith.cmpi ne, %10, %2 : i8
      %12 = arith.cmpi ult, %3, %b : i8
      %13 = arith.cmpi ult, %b, %4 : i8
      %14 = arith.andi %12, %13 : i1
      %15 = arith.andi %11, %14 : i1
      %16 = arith.cmpi eq, %1, %6 : i32
      %17 = arith.ori %15, %16 : i1
      %18 = arith.extui %17 : i1 to i8
      memref.store %18, %y[%0] : memref<?xi8>
    }
    func.return
  }
}
