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
    %3 = arith.constant 1 : i32
    %4 = arith.constant false
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
        %12 = arith.cmpi slt, %2, %limit : i32
        %13 = arith.select %12, %limit, %2 : i32
        %14, %15, %16, %17 = scf.while (%18 = %2, %19 = %2, %20 = %4, %21 = %11) : (i32, i32, i1, i32) -> (i32, i32, i1, i32) {
          %22 = arith.cmpi ult, %18, %13 : i32
          %23 = arith.xori %20, %5 : i1
          %24 = arith.andi %22, %23 : i1
          scf.condition(%24) %18, %19, %20, %21 : i32, i32, i1, i32
        } do {
        ^bb0(%25: i32, %26: i32, %27: i1, %28: i32):
          %29 = arith.cmpi eq, %28, %3 : i32
          %30, %31 = scf.if %29 -> (i1, i32) {
            memref.store %26, %steps[%0] : memref<?xi32>
            scf.yield %5, %28 : i1, i32
          } else {
            %32 = func.call @collatz_step(%28) : (i32) -> i32
            scf.yield %4, %32 : i1, i32
          }
          %33 = arith.addi %25, %3 : i32
          %34 = arith.addi %26, %3 : i32
          scf.yield %33, %34, %30, %31 : i32, i32, i1, i32
        }
        scf.if %16 {
        } else {
          memref.store %6, %steps[%0] : memref<?xi32>
        }
      }
    }
    func.return
  }
}
