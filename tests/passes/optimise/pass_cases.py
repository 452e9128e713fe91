"""What single passes make of IR: by pass and what it shows, a text before and behind it, None where it stays."""

from __future__ import annotations

CASES = {
    ("reduce-strength", "from 0 and in steps of 1"): (
        """
        func.func @f(%x : memref<?xf32>, %v : f32, %n : i32, %w : index) {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          scf.for %k = %zero to %n step %one : i32 {
            %i = arith.index_cast %k : i32 to index
            %p = arith.muli %i, %w : index
            memref.store %v, %x[%p] : memref<?xf32>
          }
          func.return
        }""",
        """
        func.func @f(%x : memref<?xf32>, %v : f32, %n : i32, %w : index) {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %0 = arith.index_cast %zero : i32 to index
          %1 = scf.for %k = %zero to %n step %one iter_args(%p = %0) -> (index) : i32 {
            %i = arith.index_cast %k : i32 to index
            memref.store %v, %x[%p] : memref<?xf32>
            %2 = arith.addi %p, %w : index
            scf.yield %2 : index
          }
          func.return
        }""",
    ),
    ("reduce-strength", "any start and step, beside what the loop carries"): (
        """
        func.func @f(%x : memref<?xi32>, %j : index, %a : i32, %n : i32, %s : i32, %w : i32) -> i32 {
          %r = scf.for %k = %a to %n step %s iter_args(%b = %a) -> (i32) : i32 {
            %p = arith.muli %w, %k : i32
            %c = arith.addi %p, %b : i32
            scf.yield %c : i32
          }
          func.return %r : i32
        }""",
        """
        func.func @f(%x : memref<?xi32>, %j : index, %a : i32, %n : i32, %s : i32, %w : i32) -> i32 {
          %0 = arith.muli %a, %w : i32
          %1 = arith.muli %s, %w : i32
          %r, %2 = scf.for %k = %a to %n step %s iter_args(%b = %a, %p = %0) -> (i32, i32) : i32 {
            %c = arith.addi %p, %b : i32
            %3 = arith.addi %p, %1 : i32
            scf.yield %c, %3 : i32, i32
          }
          func.return %r : i32
        }""",
    ),
    ("reduce-strength", "not by powers of two, nor by what the loop changes"): (
        """
        func.func @f(%a : i32, %n : i32) -> i32 {
          %eight = arith.constant 8 : i32
          %r = scf.for %k = %a to %n step %eight iter_args(%b = %a) -> (i32) : i32 {
            %p = arith.muli %k, %eight : i32
            %q = arith.muli %k, %b : i32
            %c = arith.addi %p, %q : i32
            scf.yield %c : i32
          }
          func.return %r : i32
        }""",
        None,
    ),
    ("lift-breaks", "a value that leaves with the break, and what follows in an else"): (
        """
        func.func @f(%x : memref<?xf32>, %n : i32, %at : index, %a : f32) -> f32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %false = arith.constant false
          %true = arith.constant true
          %k, %left, %z = scf.while (%k = %zero, %left = %false, %z = %a) : (i32, i1, f32) -> (i32, i1, f32) {
            %t = arith.cmpi slt, %k, %n : i32
            %stays = arith.xori %left, %true : i1
            %go = arith.andi %t, %stays : i1
            scf.condition(%go) %k, %left, %z : i32, i1, f32
          } do {
          ^bb0(%j : i32, %no : i1, %y : f32):
            %s = arith.mulf %y, %y : f32
            %c = arith.cmpf ogt, %s, %a : f32
            %set, %w = scf.if %c -> (i1, f32) {
              scf.yield %true, %s : i1, f32
            } else {
              memref.store %s, %x[%at] : memref<?xf32>
              %v = arith.addf %s, %y : f32
              scf.yield %false, %v : i1, f32
            }
            %m = arith.addi %j, %one : i32
            scf.yield %m, %set, %w : i32, i1, f32
          }
          func.return %z : f32
        }""",
        """
        func.func @f(%x: memref<?xf32>, %n: i32, %at: index, %a: f32) -> f32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %false = arith.constant false
          %true = arith.constant true
          %k, %left, %0, %1, %2 = scf.while (%k_1 = %zero, %z = %a) : (i32, f32) -> (i32, i1, f32, f32, i1) {
            %t = arith.cmpi slt, %k_1, %n : i32
            %s = arith.mulf %z, %z : f32
            %c = arith.cmpf ogt, %s, %a : f32
            %3 = arith.xori %c, %true : i1
            %4 = arith.andi %t, %3 : i1
            %5 = arith.xori %false, %true : i1
            %6 = arith.andi %t, %5 : i1
            scf.condition(%4) %k_1, %false, %z, %s, %6 : i32, i1, f32, f32, i1
          } do {
          ^bb0(%j: i32, %no: i1, %y: f32, %7: f32, %8: i1):
            %set, %w = scf.if %false -> (i1, f32) {
              scf.yield %true, %7 : i1, f32
            } else {
              memref.store %7, %x[%at] : memref<?xf32>
              %v = arith.addf %7, %y : f32
              scf.yield %false, %v : i1, f32
            }
            %m = arith.addi %j, %one : i32
            scf.yield %m, %w : i32, f32
          }
          %z_1 = arith.select %2, %1, %0 : f32
          func.return %z_1 : f32
        }""",
    ),
    ("lift-breaks", "not behind what the loop carries on, nor behind a store"): (
        """
        func.func @f(%x : memref<?xf32>, %n : i32, %at : index, %a : f32) -> f32 {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %false = arith.constant false
          %true = arith.constant true
          %k, %left, %z = scf.while (%k = %zero, %left = %false, %z = %a) : (i32, i1, f32) -> (i32, i1, f32) {
            %stays = arith.xori %left, %true : i1
            scf.condition(%stays) %k, %left, %z : i32, i1, f32
          } do {
          ^bb0(%j : i32, %no : i1, %y : f32):
            %s = arith.mulf %y, %y : f32
            %c = arith.cmpf ogt, %s, %a : f32
            scf.yield %j, %c, %s : i32, i1, f32
          }
          %l, %ended, %w = scf.while (%p = %zero, %gone = %false, %q = %a) : (i32, i1, f32) -> (i32, i1, f32) {
            %on = arith.xori %gone, %true : i1
            scf.condition(%on) %p, %gone, %q : i32, i1, f32
          } do {
          ^bb0(%i : i32, %off : i1, %x1 : f32):
            memref.store %x1, %x[%at] : memref<?xf32>
            %d = arith.cmpf ogt, %x1, %a : f32
            scf.yield %i, %d, %x1 : i32, i1, f32
          }
          %r = arith.addf %z, %w : f32
          func.return %r : f32
        }""",
        None,
    ),
    ("linearise-indices", "known and unknown extents, shared and private arrays"): (
        """
        func.func @f(%x : memref<?x?x4xf32>, %i : index, %j : index) {
          %s = memref.alloc() : memref<8x16xf32, #spirv.storage_class<Workgroup>>
          %v = memref.load %x[%i, %j, %i] : memref<?x?x4xf32>
          memref.store %v, %s[%j, %i] : memref<8x16xf32, #spirv.storage_class<Workgroup>>
          func.return
        }""",
        """
        func.func @f(%x : memref<?x?x4xf32>, %i : index, %j : index) {
          %0 = memref.collapse_shape %x [[0 : i64, 1 : i64, 2 : i64]] : memref<?x?x4xf32> into memref<?xf32>
          %1 = arith.constant 1 : index
          %2 = memref.dim %x, %1 : memref<?x?x4xf32>
          %3 = arith.constant 4 : index
          %s = memref.alloc() : memref<8x16xf32, #spirv.storage_class<Workgroup>>
          %4 = memref.collapse_shape %s [[0 : i64, 1 : i64]] : memref<8x16xf32, #spirv.storage_class<Workgroup>>
               into memref<128xf32, #spirv.storage_class<Workgroup>>
          %5 = arith.constant 16 : index
          %6 = arith.muli %i, %2 : index
          %7 = arith.addi %6, %j : index
          %8 = arith.muli %7, %3 : index
          %9 = arith.addi %8, %i : index
          %v = memref.load %0[%9] : memref<?xf32>
          %10 = arith.muli %j, %5 : index
          %11 = arith.addi %10, %i : index
          memref.store %v, %4[%11] : memref<128xf32, #spirv.storage_class<Workgroup>>
          func.return
        }""",
    ),
    ("linearise-indices", "ids of 64 bits stay"): (
        """
        func.func @f(%x : memref<?x?xf32>, %v : f32, %i : index) attributes {gpu.kernel,
            kernel.rank = 1 : i32, kernel.wide} {
          memref.store %v, %x[%i, %i] : memref<?x?xf32>
          func.return
        }""",
        """
        func.func @f(%x : memref<?x?xf32>, %v : f32, %i : index) attributes {gpu.kernel,
            kernel.rank = 1 : i32, kernel.wide} {
          memref.store %v, %x[%i, %i] : memref<?x?xf32>
          func.return
        }""",
    ),
    ("hoist-invariants", "only what may run without a round"): (
        """
        func.func @f(%x : memref<?xf32>, %a : f32, %n : index, %s : index) {
          scf.for %i = %s to %n step %s {
            %p = arith.mulf %a, %a : f32
            %v = memref.load %x[%s] : memref<?xf32>
            %q = arith.addf %p, %v : f32
            memref.store %q, %x[%i] : memref<?xf32>
          }
          func.return
        }""",
        """
        func.func @f(%x : memref<?xf32>, %a : f32, %n : index, %s : index) {
          %p = arith.mulf %a, %a : f32
          scf.for %i = %s to %n step %s {
            %v = memref.load %x[%s] : memref<?xf32>
            %q = arith.addf %p, %v : f32
            memref.store %q, %x[%i] : memref<?xf32>
          }
          func.return
        }""",
    ),
    ("hoist-invariants", "loads of arrays that nobody writes"): (
        """
        func.func @f(%x : memref<?xf32>, %y : memref<?xf32>, %z : memref<?xf32>, %n : index, %s : index) attributes {
            kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
                                 {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write"},
                                 {name = "z", dtype = "f32", ndim = 1 : i32, access = "read", may_alias}]} {
          scf.for %i = %s to %n step %s {
            %v = memref.load %x[%s] : memref<?xf32>
            %w = memref.load %x[%i] : memref<?xf32>
            %u = memref.load %z[%s] : memref<?xf32>
            %p = arith.addf %v, %w : f32
            %q = arith.addf %p, %u : f32
            memref.store %q, %y[%i] : memref<?xf32>
          }
          func.return
        }""",
        """
        func.func @f(%x : memref<?xf32>, %y : memref<?xf32>, %z : memref<?xf32>, %n : index, %s : index) attributes {
            kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
                                 {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write"},
                                 {name = "z", dtype = "f32", ndim = 1 : i32, access = "read", may_alias}]} {
          %v = memref.load %x[%s] : memref<?xf32>
          scf.for %i = %s to %n step %s {
            %w = memref.load %x[%i] : memref<?xf32>
            %u = memref.load %z[%s] : memref<?xf32>
            %p = arith.addf %v, %w : f32
            %q = arith.addf %p, %u : f32
            memref.store %q, %y[%i] : memref<?xf32>
          }
          func.return
        }""",
    ),
    ("canonicalize", "constant branch"): (
        """
        func.func @f(%x : memref<?xi32>, %i : index) {
          %c = arith.constant true
          %v = scf.if %c -> (i32) {
            %a = arith.constant 1 : i32
            scf.yield %a : i32
          } else {
            %b = arith.constant 2 : i32
            scf.yield %b : i32
          }
          memref.store %v, %x[%i] : memref<?xi32>
          func.return
        }""",
        """
        func.func @f(%x : memref<?xi32>, %i : index) {
          %a = arith.constant 1 : i32
          memref.store %a, %x[%i] : memref<?xi32>
          func.return
        }""",
    ),
    ("canonicalize", "loop without trips"): (
        """
        func.func @f(%a : f32) -> f32 {
          %low = arith.constant 5 : index
          %one = arith.constant 1 : index
          %r = scf.for %i = %low to %low step %one iter_args(%b = %a) -> (f32) {
            %c = arith.addf %b, %b : f32
            scf.yield %c : f32
          }
          func.return %r : f32
        }""",
        "func.func @f(%a : f32) -> f32 { func.return %a : f32 }",
    ),
    ("canonicalize", "loop with one trip"): (
        """
        func.func @f(%x : memref<?xf32>, %a : f32) -> f32 {
          %low = arith.constant 5 : index
          %high = arith.constant 6 : index
          %one = arith.constant 1 : index
          %r = scf.for %i = %low to %high step %one iter_args(%b = %a) -> (f32) {
            memref.store %b, %x[%i] : memref<?xf32>
            %c = arith.addf %b, %b : f32
            scf.yield %c : f32
          }
          func.return %r : f32
        }""",
        """
        func.func @f(%x : memref<?xf32>, %a : f32) -> f32 {
          %low = arith.constant 5 : index
          memref.store %a, %x[%low] : memref<?xf32>
          %c = arith.addf %a, %a : f32
          func.return %c : f32
        }""",
    ),
    ("canonicalize", "carried in vain"): (
        """
        func.func @f(%x : memref<?xf32>, %a : f32, %n : index, %s : index) {
          %r:3 = scf.for %i = %n to %s step %n iter_args(%b = %a, %same = %a, %t = %a) -> (f32, f32, f32) {
            %c = arith.addf %b, %same : f32
            memref.store %c, %x[%i] : memref<?xf32>
            %d = arith.mulf %c, %c : f32
            scf.yield %c, %same, %d : f32, f32, f32
          }
          memref.store %r#0, %x[%n] : memref<?xf32>
          func.return
        }""",
        """
        func.func @f(%x : memref<?xf32>, %a : f32, %n : index, %s : index) {
          %r = scf.for %i = %n to %s step %n iter_args(%b = %a) -> (f32) {
            %c = arith.addf %b, %a : f32
            memref.store %c, %x[%i] : memref<?xf32>
            scf.yield %c : f32
          }
          memref.store %r, %x[%n] : memref<?xf32>
          func.return
        }""",
    ),
    ("canonicalize", "unused results of a branch"): (
        """
        func.func @f(%p : i1, %a : f32, %b : f32) -> f32 {
          %r:3 = scf.if %p -> (f32, f32, f32) {
            %c = arith.addf %a, %b : f32
            scf.yield %c, %a, %b : f32, f32, f32
          } else {
            scf.yield %a, %b, %b : f32, f32, f32
          }
          %s = arith.subf %r#1, %r#2 : f32
          func.return %s : f32
        }""",
        """
        func.func @f(%p : i1, %a : f32, %b : f32) -> f32 {
          %r = scf.if %p -> (f32) {
            scf.yield %a : f32
          } else {
            scf.yield %b : f32
          }
          %s = arith.subf %r, %b : f32
          func.return %s : f32
        }""",
    ),
    ("cse", "loads stay known where numbers are widened and divided"): (
        """
        func.func @f(%x : memref<?xi8>, %y : memref<?xi32>, %i : index, %n : i32) {
          %a = memref.load %x[%i] : memref<?xi8>
          %p = arith.extsi %a : i8 to i32
          %q = arith.remui %p, %n : i32
          %b = memref.load %x[%i] : memref<?xi8>
          %s = arith.extsi %b : i8 to i32
          %t = arith.remui %s, %n : i32
          %r = arith.addi %q, %t : i32
          memref.store %r, %y[%i] : memref<?xi32>
          func.return
        }""",
        """
        func.func @f(%x : memref<?xi8>, %y : memref<?xi32>, %i : index, %n : i32) {
          %a = memref.load %x[%i] : memref<?xi8>
          %p = arith.extsi %a : i8 to i32
          %q = arith.remui %p, %n : i32
          %r = arith.addi %q, %q : i32
          memref.store %r, %y[%i] : memref<?xi32>
          func.return
        }""",
    ),
    ("cse", "loads end at a store, except from arrays that are only read"): (
        """
        func.func @f(%x : memref<?xf32>, %y : memref<?xf32>, %i : index) attributes {gpu.kernel,
            kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
                                 {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write"},
                                 {name = "i", dtype = "i32"}]} {
          %a = memref.load %x[%i] : memref<?xf32>
          %b = memref.load %y[%i] : memref<?xf32>
          %c = memref.load %y[%i] : memref<?xf32>
          %d = arith.addf %b, %c : f32
          memref.store %d, %y[%i] : memref<?xf32>
          %e = memref.load %x[%i] : memref<?xf32>
          %g = memref.load %y[%i] : memref<?xf32>
          %h = arith.addf %a, %e : f32
          %k = arith.addf %g, %h : f32
          memref.store %k, %y[%i] : memref<?xf32>
          func.return
        }""",
        """
        func.func @f(%x : memref<?xf32>, %y : memref<?xf32>, %i : index) attributes {gpu.kernel,
            kernel.parameters = [{name = "x", dtype = "f32", ndim = 1 : i32, access = "read"},
                                 {name = "y", dtype = "f32", ndim = 1 : i32, access = "read_write"},
                                 {name = "i", dtype = "i32"}]} {
          %a = memref.load %x[%i] : memref<?xf32>
          %b = memref.load %y[%i] : memref<?xf32>
          %d = arith.addf %b, %b : f32
          memref.store %d, %y[%i] : memref<?xf32>
          %g = memref.load %y[%i] : memref<?xf32>
          %h = arith.addf %a, %a : f32
          %k = arith.addf %g, %h : f32
          memref.store %k, %y[%i] : memref<?xf32>
          func.return
        }""",
    ),
    ("cse", "a branch's values stay inside, outer ones go in"): (
        """
        func.func @f(%p : i1, %a : i32, %b : i32, %x : memref<?xi32>, %i : index) {
          scf.if %p {
            %c = arith.addi %a, %b : i32
            memref.store %c, %x[%i] : memref<?xi32>
          }
          %d = arith.addi %b, %a : i32
          scf.if %p {
            %e = arith.addi %a, %b : i32
            memref.store %e, %x[%i] : memref<?xi32>
          }
          memref.store %d, %x[%i] : memref<?xi32>
          func.return
        }""",
        """
        func.func @f(%p : i1, %a : i32, %b : i32, %x : memref<?xi32>, %i : index) {
          scf.if %p {
            %c = arith.addi %a, %b : i32
            memref.store %c, %x[%i] : memref<?xi32>
          }
          %d = arith.addi %b, %a : i32
          scf.if %p {
            memref.store %d, %x[%i] : memref<?xi32>
          }
          memref.store %d, %x[%i] : memref<?xi32>
          func.return
        }""",
    ),
    ("cse", "a loop that stores invalidates what was loaded before it"): (
        """
        func.func @f(%x : memref<?xi32>, %n : index, %s : index) {
          %a = memref.load %x[%n] : memref<?xi32>
          scf.for %i = %n to %s step %n {
            %b = memref.load %x[%n] : memref<?xi32>
            memref.store %b, %x[%i] : memref<?xi32>
          }
          memref.store %a, %x[%s] : memref<?xi32>
          func.return
        }""",
        None,
    ),
    ("cse", "barriers end loads"): (
        """
        func.func @f(%x : memref<?xi32>, %n : index) -> i32 {
          %a = memref.load %x[%n] : memref<?xi32>
          "gpu.barrier"() : () -> ()
          %b = memref.load %x[%n] : memref<?xi32>
          %c = arith.addi %a, %b : i32
          func.return %c : i32
        }""",
        None,
    ),
    ("dce", "what has no effect goes, with its operands and its loops"): (
        """
        func.func @f(%x : memref<?xi32>, %n : index, %p : i1) {
          %a = memref.load %x[%n] : memref<?xi32>
          %b = arith.addi %a, %a : i32
          %r = scf.for %i = %n to %n step %n iter_args(%c = %b) -> (i32) {
            %d = arith.addi %c, %b : i32
            scf.yield %d : i32
          }
          scf.if %p {
            %e = arith.addi %r, %b : i32
          }
          "gpu.barrier"() : () -> ()
          func.return
        }""",
        """
        func.func @f(%x : memref<?xi32>, %n : index, %p : i1) {
          "gpu.barrier"() : () -> ()
          func.return
        }""",
    ),
    ("dce", "what a branch gives in vain goes, and what was private to it"): (
        """
        func.func @f(%p : i1, %a : i32, %b : i32) -> i32 {
          %v = "spirv.Variable"() <{storage_class = #spirv.storage_class<Function>}> : () -> !spirv.ptr<i32, Function>
          %r, %s = scf.if %p -> (i32, i32) {
            "spirv.Store"(%v, %a) : (!spirv.ptr<i32, Function>, i32) -> ()
            %c = "spirv.Load"(%v) : (!spirv.ptr<i32, Function>) -> i32
            scf.yield %c, %a : i32, i32
          } else {
            scf.yield %b, %b : i32, i32
          }
          func.return %s : i32
        }""",
        """
        func.func @f(%p : i1, %a : i32, %b : i32) -> i32 {
          %s = scf.if %p -> (i32) {
            scf.yield %a : i32
          } else {
            scf.yield %b : i32
          }
          func.return %s : i32
        }""",
    ),
    ("dce", "a while loop need not end"): (
        """
        func.func @f(%p : i1) {
          scf.while () : () -> () {
            scf.condition(%p)
          } do {
            scf.yield
          }
          func.return
        }""",
        None,
    ),
}
