"""Memory, values, control flow and what the interpreter refuses, in IR that other tools may write."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.interpret.arguments import SharedArray
from lapilli.ir.interpret.dispatch import HANDLERS

SHARED = "memref<?xi32, #spirv.storage_class<Workgroup>>"


def test_vectors_are_values(run_ir):
    y = np.zeros((2, 3), np.int32)
    lines = ["%c = arith.constant dense<[1, 2, 3]> : vector<3xi32>"]
    lines += ["%s = arith.constant dense<10> : vector<3xi32>", "%p = arith.muli %c, %s : vector<3xi32>"]
    lines += ["%k = arith.index_cast %i : index to i32"]
    lines += [
        '%e = "spirv.CompositeInsert"(%k, %p) <{indices = [1 : i32]}> : (i32, vector<3xi32>) -> vector<3xi32>'
    ]
    for n in range(3):
        lines += [f"%n{n} = arith.constant {n} : index"]
        lines += [
            f'%e{n} = "spirv.CompositeExtract"(%e) <{{indices = [{n} : i32]}}> : (vector<3xi32>) -> i32'
        ]
        lines += [f"memref.store %e{n}, %y[%i, %n{n}] : memref<?x?xi32>"]
    run_ir("\n".join(lines), y, parameters="%y: memref<?x?xi32>")
    assert y.tolist() == [[10, 0, 30], [10, 1, 30]]


def test_poison_is_zero(run_ir):
    y = np.int32([7, 7])
    lines = ["%p = ub.poison : i32", "%v = ub.poison : vector<3xi32>"]
    lines += ['%e = "spirv.CompositeExtract"(%v) <{indices = [1 : i32]}> : (vector<3xi32>) -> i32']
    lines += ["%t = arith.addi %p, %e : i32", "memref.store %t, %y[%i] : memref<?xi32>"]
    run_ir("\n".join(lines), y, parameters="%y: memref<?xi32>")
    assert y.tolist() == [0, 0]


def test_loops_carry_values_for_each_work_item(run_ir):
    y = np.zeros(5, np.int32)
    run_ir(
        """%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%start = arith.constant 100 : i32
%sum = scf.for %k = %zero to %i step %one iter_args(%acc = %start) -> (i32) {
  %n = arith.index_cast %k : index to i32
  %next = arith.addi %acc, %n : i32
  scf.yield %next : i32
}
memref.store %sum, %y[%i] : memref<?xi32>""",
        y,
        parameters="%y: memref<?xi32>",
    )
    assert y.tolist() == [100, 100, 101, 103, 106]


def test_while_loops_end_for_each_work_item_by_itself(run_ir):
    y = np.zeros(5, np.int32)
    run_ir(
        """%n = arith.index_cast %i : index to i32
%one = arith.constant 1 : i32
%zero = arith.constant 0 : i32
%left, %count = scf.while (%l = %n, %c = %zero) : (i32, i32) -> (i32, i32) {
  %more = arith.cmpi sgt, %l, %zero : i32
  scf.condition(%more) %l, %c : i32, i32
} do {
^bb0(%l : i32, %c : i32):
  %half = arith.shrui %l, %one : i32
  %next = arith.addi %c, %one : i32
  scf.yield %half, %next : i32, i32
}
memref.store %count, %y[%i] : memref<?xi32>""",
        y,
        parameters="%y: memref<?xi32>",
    )
    assert y.tolist() == [0, 1, 2, 2, 3]


def test_an_argument_may_be_memory_of_the_work_group(run_ir):
    body = """%l = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
%n = arith.index_cast %i : index to i32
memref.store %n, %t[%l] : TILE
"gpu.barrier"() : () -> ()
%c1 = arith.constant 1 : index
%x = arith.xori %l, %c1 : index
%v = memref.load %t[%x] : TILE
memref.store %v, %y[%i] : memref<?xi32>""".replace("TILE", SHARED)
    y = np.zeros(6, np.int32)
    parameters = f"%y: memref<?xi32>, %t: {SHARED}"
    run_ir(body, y, SharedArray((2,)), parameters=parameters, local=(2,))
    assert y.tolist() == [1, 0, 3, 2, 5, 4]
    with pytest.raises(lp.KernelTrap) as caught:
        run_ir(body, y, SharedArray((1,)), parameters=parameters, local=(2,))
    assert "index 1 is out of range of shared array 'arg1', of length 1" in str(caught.value)


def test_an_array_is_seen_in_c_order(run_ir):
    x, y = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros(12, np.int32)
    body = """%f = memref.collapse_shape %x [[0, 1]] : memref<?x?xi32> into memref<?xi32>
%v = memref.load %f[%i] : memref<?xi32>
memref.store %v, %y[%i] : memref<?xi32>"""
    parameters = "%x: memref<?x?xi32>, %y: memref<?xi32>"
    run_ir(body, x, y, parameters=parameters, n=12)
    assert y.tolist() == list(range(12))
    with pytest.raises(lp.KernelTrap):
        run_ir(body, x[:2], y, parameters=parameters, n=12)


def test_a_shared_array_of_a_helper_is_undefined_at_every_call(run_ir):
    y = np.zeros(2, np.int32)
    helper = f"""func.func @f(%n: i32, %store: i1) -> i32 {{
    %t = "memref.alloc"() <{{operandSegmentSizes = array<i32: 0, 0>}}> : () -> {SHARED.replace("?", "1")}
    %zero = arith.constant 0 : index
    scf.if %store {{
      memref.store %n, %t[%zero] : {SHARED.replace("?", "1")}
    }}
    %r = memref.load %t[%zero] : {SHARED.replace("?", "1")}
    func.return %r : i32
  }}"""
    body = """%n = arith.index_cast %i : index to i32
%true = arith.constant true
%a = func.call @f(%n, %true) : (i32, i1) -> i32
%b = func.call @f(%n, STORES) : (i32, i1) -> i32
memref.store %b, %y[%i] : memref<?xi32>"""
    parameters = "%y: memref<?xi32>, %false: i1"
    options = {"parameters": parameters, "local": (1,), "before": helper}
    run_ir(body.replace("STORES", "%true"), y, False, **options)
    assert y.tolist() == [0, 1]
    with pytest.raises(lp.KernelTrap) as caught:
        run_ir(body.replace("STORES", "%false"), y, False, **options)
    assert caught.value.code == "LP4111"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '"memref.dealloc"(%y) : (memref<?xi32>) -> ()',
            "the interpreter has no operation 'memref.dealloc'",
        ),
        ("func.call @f() : () -> ()", "function 'f' is called, and has no body here"),
        (
            "%n = arith.constant 0 : index\nscf.for %k = %n to %i step %n {\n  scf.yield\n}",
            "the step of an scf.for is positive; found 0",
        ),
    ],
)
def test_what_is_no_kernel_is_refused(run_ir, body, message):
    y = np.zeros(2, np.int32)
    with pytest.raises(lp.InvalidError) as caught:
        run_ir(body, y, parameters="%y: memref<?xi32>", before="func.func private @f() -> ()")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected 1 arguments, found 0"),
        ((np.zeros((2, 2), np.int32),), "parameter 'arg0' is a memref<?xi32>; found an array of (2, 2)"),
        ((np.zeros(2, np.int8),), "parameter 'arg0': expected 8 bytes, found 2"),
    ],
)
def test_arguments_that_do_not_fit_the_function_are_refused(run_ir, arguments, message):
    with pytest.raises(lp.InvalidError) as caught:
        run_ir("", *arguments, parameters="%y: memref<?xi32>", n=1)
    assert message in str(caught.value)


def test_every_operation_of_the_lowering_has_a_handler():
    from lapilli.passes.convert_to_spirv import (
        binary_handlers,
        cast_handlers,
        extrema_handlers,
        math_handlers,
    )

    lowered = {
        op.name
        for file in (binary_handlers, cast_handlers, extrema_handlers, math_handlers)
        for op in file.HANDLERS
    }
    assert len(lowered) > 50
    assert lowered - HANDLERS.keys() == set()
