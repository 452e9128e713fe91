"""trap-cooperation: which accesses and tests are checked, and what is left alone."""

from __future__ import annotations

from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.traps.cooperation import trap_cooperation

SHARED = "memref<64xf32, #spirv.storage_class<Workgroup>>"


def run(body: str, helpers: str = "") -> str:
    text = f"""
    {helpers}
    func.func @k(%n: i32, %a: memref<?xi32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %first = arith.constant 0 : index
      %value = arith.constant 2.5 : f32
      %i = gpu.thread_id x
      {body}
      func.return
    }}"""
    module = parse_module(text).module
    verify_module(module)
    trap_cooperation(module)
    verify_module(module)
    return str(module)


def test_a_kernel_in_a_straight_line_is_left_alone() -> None:
    body = """
      %x = memref.load %a[%i] : memref<?xi32>
      gpu.barrier
      memref.store %x, %a[%i] : memref<?xi32>"""
    after = run(body)
    assert "kernel.check" not in after
    assert after.count("gpu.barrier") == 1


def test_an_array_that_nobody_reads_has_no_bits() -> None:
    after = run(f"%tile = memref.alloc() : {SHARED}\n memref.store %value, %tile[%i] : {SHARED}")
    assert after.count("memref.alloc") == 1


def test_stores_set_bits_and_loads_check_them() -> None:
    after = run(
        f"""
      %tile = memref.alloc() : {SHARED}
      memref.store %value, %tile[%i] : {SHARED}
      gpu.barrier
      %x = memref.load %tile[%i] : {SHARED}"""
    )
    assert "memref<2xi32, #spirv.storage_class<Workgroup>>" in after
    cleared, stored, checked = (
        after.index(s) for s in ("scf.for", "kernel.atomic_rmw", "kernel.atomic_load")
    )
    assert cleared < after.index("gpu.barrier") < stored < checked < after.index("kernel.check")
    assert stored < after.index("memref.store %value")
    assert "element [{0}] of shared array 'tile' is read before anything was written to it" in after


def test_an_array_with_another_use_is_left_alone() -> None:
    after = run(
        f"""
      %tile = memref.alloc() : {SHARED}
      %x = memref.load %tile[%i] : {SHARED}
      memref.dealloc %tile : {SHARED}"""
    )
    assert "kernel.check" not in after


def test_arrays_too_large_for_every_device_have_a_way_out() -> None:
    large = "memref<4000xi32, #spirv.storage_class<Workgroup>>"
    after = run(f"%tile = memref.alloc() : {large}\n %x = memref.load %tile[%i] : {large}")
    assert after.count("kernel.without_notes") == 1
    small = "memref<3900xi32, #spirv.storage_class<Workgroup>>"
    assert "kernel.without_notes" not in run(
        f"%tile = memref.alloc() : {small}\n %x = memref.load %tile[%i] : {small}"
    )


def test_a_test_from_memory_is_compared_with_the_first_work_items() -> None:
    after = run(
        """
      %x = memref.load %a[%first] : memref<?xi32>
      %c = arith.cmpi slt, %x, %n : i32
      scf.if %c {
        gpu.barrier
      }"""
    )
    assert after.count("gpu.barrier") == 3
    assert "the condition" in after
    assert "scf.if %c {" not in after


def test_tests_that_are_equal_for_the_group_are_not_compared() -> None:
    after = run(
        """
      %g = gpu.block_id x
      %j = arith.index_cast %g : index to i32
      scf.for %k = %zero to %n step %one : i32 {
        %c = arith.cmpi slt, %j, %k : i32
        scf.if %c {
          gpu.barrier
        }
      }"""
    )
    assert after.count("gpu.barrier") == 1


def test_all_branches_around_a_barrier_are_compared_and_no_other() -> None:
    after = run(
        """
      %x = memref.load %a[%first] : memref<?xi32>
      scf.for %k = %zero to %x step %one : i32 {
        %c = arith.cmpi slt, %x, %k : i32
        scf.if %c {
          memref.store %k, %a[%i] : memref<?xi32>
        }
        scf.if %c {
          gpu.barrier
        }
      }"""
    )
    assert after.count("kernel.check") == 2
    assert "the end of the loop" in after


def test_helpers_with_barriers_are_inlined_and_others_are_not() -> None:
    helpers = """
    func.func private @waits(%n: i32) -> i32 {
      gpu.barrier
      func.return %n : i32
    }
    func.func private @adds(%n: i32) -> i32 {
      %m = arith.addi %n, %n : i32
      func.return %m : i32
    }
    func.func private @calls(%n: i32) -> i32 {
      %m = func.call @waits(%n) : (i32) -> i32
      func.return %m : i32
    }"""
    after = run(
        """
      %x = func.call @calls(%n) : (i32) -> i32
      %y = func.call @adds(%x) : (i32) -> i32
      memref.store %y, %a[%i] : memref<?xi32>""",
        helpers,
    )
    kernel = after[after.index("@k(") :]
    assert "call @calls" not in kernel
    assert "call @waits" not in kernel
    assert "call @adds" in kernel
    assert "gpu.barrier" in kernel
