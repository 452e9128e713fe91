builtin.module {
  func.func @reverse_in_group(%x: memref<?xf32>) attributes {gpu.kernel, kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read_write", may_alias}], kernel.rank = 1 : i32} {
    %0 = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
    %1 = arith.index_cast %0 : index to i32
    %2 = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.constant 1 : i32
    %5 = arith.subi %3, %4 : i32
    %6 = arith.subi %5, %1 : i32
    %7 = arith.index_cast %6 : i32 to index
    %8 = memref.load %x[%7] : memref<?xf32>
    "gpu.barrier"() : () -> ()
    memref.store %8, %x[%0] : memref<?xf32>
    func.return
  }
}
