"""Elements of fixed arrays at indices known at run time only, where the arrays are values: what the IR says of them."""

from __future__ import annotations

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv


@lp.struct
class Few:
    pairs: lp.FixedArray[lp.f32x2, 3]


@lp.struct
class Many:
    pairs: lp.FixedArray[lp.f32x2, 17]


@lp.struct
class Rows:
    pairs: lp.FixedArray[lp.f32x2, 2, 3]


@lp.kernel
def few(x: lp.Array[Few], i: lp.i32, o: lp.Out[lp.f32]):
    here = x[0]
    here.pairs[i].x = 7.0
    o[0] = here.pairs[2].x


@lp.kernel
def many(x: lp.Array[Many], i: lp.i32, o: lp.Out[lp.f32]):
    here = x[0]
    here.pairs[i].x = 7.0
    o[0] = here.pairs[2].x


@lp.kernel
def rows(x: lp.Array[Rows], i: lp.i32, j: lp.i32, o: lp.Out[lp.f32]):
    here = x[0]
    row = here.pairs[i]
    o[0] = row[j].x


def ir_of(kernel: object) -> str:
    text = inspect(kernel, "ir", env=TargetEnv())  # type: ignore[arg-type]
    assert isinstance(text, str)
    return text


def test_elements_of_small_arrays_are_chosen() -> None:
    text = ir_of(few)
    assert "spirv.Store" not in text and text.count("arith.cmpi eq") >= 3


def test_elements_of_large_arrays_go_through_memory() -> None:
    assert "spirv.Store" in ir_of(many)


def test_rows_are_read_where_they_lie() -> None:
    """The array is stored once for each component, and a row of it not again."""
    text = ir_of(rows)
    chains = [line for line in text.splitlines() if "spirv.AccessChain" in line]
    assert text.count("spirv.Store") <= 2
    assert any(line.count("i32, i32") for line in chains), chains
