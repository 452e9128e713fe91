"""Whole modules: golden IR of small kernels, attributes, locations, specialization constants, helpers."""

from __future__ import annotations

import importlib.util
import math
import os
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.ir.parse import parse_module

GOLDEN = Path(__file__).parent.parent / "golden" / "frontend"


def _golden_kernels():
    spec = importlib.util.spec_from_file_location("golden_kernels", GOLDEN / "golden_kernels.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: k for name, k in vars(module).items() if type(k).__name__ == "KernelFunction"}


KERNELS = _golden_kernels()


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name):
    module = build_module([KERNELS[name]])
    module.verify()
    text = str(module) + "\n"
    file = GOLDEN / f"{name}.mlir"
    if os.environ.get("LAPILLI_UPDATE_GOLDEN"):
        file.write_text(text)
    assert file.read_text() == text


@pytest.mark.parametrize("name", KERNELS)
def test_printed_ir_parses_again(name):
    text = str(build_module([KERNELS[name]]))

    assert text == str(parse_module(text, f"{name}.mlir").module)


@pytest.mark.parametrize("name", KERNELS)
def test_every_op_has_its_place(name):
    kernel = KERNELS[name]
    source = kernel.source
    last = source.tree.end_lineno
    for op in build_module([kernel]).walk():
        if op.name in ("builtin.module",):
            continue
        assert isinstance(op.location, FileLineColLoc), op
        assert source.file == op.location.filename.data
        assert 1 <= op.location.line.data <= last
        assert op.location.column.data >= 1


def _attribute(kernel, **options):
    module = build_module([kernel], **options)
    return next(f for f in module.ops if "gpu.kernel" in f.attributes).attributes


def test_access_follows_use_through_helpers():
    def store(a, i, v):
        a[i] = v

    def load(a, i):
        return a[i]

    @lp.kernel
    def k(
        r: lp.Array[lp.f32], w: lp.Array[lp.f32], rw: lp.Array[lp.f32], unused: lp.Array[lp.f32],
        i: lp.In[lp.f32], o: lp.Out[lp.f32],
    ):  # fmt: skip
        store(w, 0, load(r, 1))
        rw[0] += load(i, 0)
        store(o, 0, 1)

    entries = _attribute(k)["kernel.parameters"].data
    assert {e.data["name"].data: e.data["access"].data for e in entries} == {
        "r": "read",
        "w": "write",
        "rw": "read_write",
        "unused": "read",
        "i": "read",
        "o": "write",
    }


def test_barrier_leaves_the_kernel_unmasked():
    def synchronise():
        lp.barrier()

    @lp.kernel
    def k(x: lp.Array[lp.f32]):
        i = lp.local_id(0)
        x[i] = 1.0
        synchronise()
        x[i] = x[i] + 1.0

    attributes = _attribute(k)
    assert "kernel.masked" not in attributes
    assert "kernel.global_range" not in str(build_module([k]))


def test_rank_is_inferred_from_the_dimensions_used():
    def row():
        return lp.global_id(1)

    @lp.kernel
    def k(x: lp.Array[lp.f32]):
        x[row()] = 1.0

    assert _attribute(k)["kernel.rank"].value.data == 2
    assert _attribute(k, rank=3)["kernel.rank"].value.data == 3
    text = str(build_module([k]))
    assert text.count("kernel.global_range") == 2
    assert "gpu.global_id" in text.split("@k")[0]


def test_contract_false_is_passed_on():
    @lp.kernel(contract=False)
    def k(x: lp.Array[lp.f32]):
        x[0] = x[1] * x[2] + x[3]

    assert "kernel.no_contraction" in _attribute(k)


def test_helper_is_compiled_once_for_each_combination_of_types():
    def twice(v):
        return v + v

    @lp.kernel
    def k(x: lp.Array[lp.f32], n: lp.Array[lp.i32]):
        x[0] = twice(x[1]) + twice(x[2])
        n[0] = twice(n[1])

    text = str(build_module([k]))
    assert text.count("func.func private") == 2
    assert "@twice_1(" in text
    assert text.count("func.call") == 3


def test_two_kernels_share_a_helper():
    def twice(v):
        return v + v

    @lp.kernel
    def one(x: lp.Array[lp.f32]):
        x[0] = twice(x[1])

    @lp.kernel
    def two(x: lp.Array[lp.f32]):
        x[1] = twice(x[0])

    module = build_module([one, two])
    module.verify()
    assert [f.sym_name.data for f in module.ops] == ["twice", "one", "two"]


def test_captured_values_are_weak():
    factor, flag = 0.1, True

    @lp.kernel
    def k(x: lp.Array[lp.f64]):
        if flag:
            x[0] = x[0] * factor + math.pi
        else:
            x[0] = undefined_name  # noqa: F821

    text = str(build_module([k]))
    assert "1.000000e-01 : f64" in text
    assert "3.1415926535897931 : f64" in text or f"{math.pi!r} : f64" in text


def test_specialization_constants_are_declared_once_with_their_defaults():
    scale = lp.SpecializationId(lp.f32, 2.5)
    flags = lp.SpecializationId(lp.FixedArray[lp.bool_, 2], [True, False])

    @lp.kernel
    def k(x: lp.Array[lp.f32]):
        if flags[0]:
            x[0] = scale * scale
        if flags[1]:
            x[1] = scale

    text = str(build_module([k]))
    assert text.count("spec_constant.declare") == 2
    assert text.count("spec_constant.get") == 2
    assert "[true, false]" in text
    assert 'short_name = "scale", lapilli_type = "f32"' in text


def test_kernel_name_option_is_the_symbol():
    @lp.kernel(name="my.kernel")
    def k(x: lp.Array[lp.f32]):
        x[0] = 1.0

    assert 'func.func @"my.kernel"' in str(build_module([k])) or "func.func @my.kernel" in str(
        build_module([k])
    )
