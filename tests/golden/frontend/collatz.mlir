builtin.module {
  func.func private @collatz_step(%0: i32) -> i32 {
    %1 = arith.constant 1 : i32
    %2 = arith.constant 0 : i32
    %3 = arith.constant 3 : i32
    %4 = arith.andi %0, %1 : i32
    %5 = arith.cmpi eq, %4, %2 : i32
    %6 = arith.shrsi %0, %1 : i32
    %7 = arith.muli %3, %0 : i32
    %8 = arith.addi %7, %1 : i32
    %9 = arith.select %5, %6, %8 : i32
    func.return %9 : i32
  }
  func.func @collatz(%n: memref<?xi32>, %steps: memref<?xi32>, %limit: i32) attributes {gpu.kernel, kernel.parameters = [{name = "n", dtype = "i32", ndim = 1 : i32, access = "read"}, {name = "steps", dtype = "i32", ndim = 1 : i32, access = "write"}, {name = "limit", dtype = "i32"}], kernel.rank = 1 : i32, kernel.masked} {
    %0 = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
    %1 = arith.index_cast %0 : index to i32
    %2 = arith.constant 0 : i32
    %3 = arith.constant false
    %4 = arith.constant 1 : i32
    %5 = arith.constant true
    %6 = arith.constant -1 : i32
    %7 = kernel.global_range 0
    %8 = arith.cmpi slt, %0, %7 : index
    scf.if %8 {
      %9 = memref.load %n[%0] : memref<?xi32>
      %10 = arith.cmpi sle, %9, %2 : i32
      scf.if %10 {
      } else {
        %11 = memref.load %n[%0] : memref<?xi32>
        %12, %13, %14 = scf.while (%15 = %2, %16 = %3, %17 = %11) : (i32, i1, i32) -> (i32, i1, i32) {
          %18 = arith.cmpi slt, %15, %limit : i32
          %19 = arith.xori %16, %5 : i1
          %20 = arith.andi %18, %19 : i1
          scf.condition(%20) %15, %16, %17 : i32, i1, i32
        } do {
        ^bb0(%21: i32, %22: i1, %23: i32):
          %24 = arith.cmpi eq, %23, %4 : i32
          %25, %26 = scf.if %24 -> (i1, i32) {
            memref.store %21, %steps[%0] : memref<?xi32>
            scf.yield %5, %23 : i1, i32
          } else {
            %27 = func.call @collatz_step(%23) : (i32) -> i32
            scf.yield %3, %27 : i1, i32
          }
          %28 = arith.addi %21, %4 : i32
          scf.yield %28, %25, %26 : i32, i1, i32
        }
        scf.if %13 {
        } else {
          memref.store %6, %steps[%0] : memref<?xi32>
        }
      }
    }
    func.return
  }
}
