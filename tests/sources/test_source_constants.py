"""Specialization constants that a Python text declares, and ``lp.SpecValues`` for them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import lapilli as lp

from .source_text import create

pytestmark = pytest.mark.device

TEXT = """
import lapilli as lp

GAIN = lp.SpecializationId(lp.i32, 2)
TABLE: object = lp.SpecializationId(lp.FixedArray[lp.f32, 2, 2], [[1, 2], [3, 4]])
IS_ON = lp.SpecializationId(lp.bool_, True)
UNUSED = lp.SpecializationId(lp.f32)

@lp.struct
class Window:
    low: lp.f32
    high: lp.i32 = 4

WINDOW = lp.SpecializationId(Window, 1.5)
WIDE = lp.SpecializationId(Window, high=9)

def tenfold(): return GAIN * 10

@lp.kernel
def read(x: lp.Out[lp.f32]):
    x[0] = lp.f32(GAIN)
    x[1] = TABLE[1, 0]
    x[2] = 1.0 if IS_ON else 0.0
    x[3] = WINDOW.low + lp.f32(WINDOW.high)
    x[4] = lp.f32(tenfold())
    x[5] = lp.f32(WIDE.high)

@lp.kernel
def read_by_handler(x: lp.Out[lp.f32], kh: lp.KernelHandler):
    x[0] = lp.f32(kh.get_specialization_constant(GAIN))

@lp.kernel(local_size="TILE")
def tiles(x: lp.Array[lp.i32], *, TILE: lp.Spec[lp.i32] = 3):
    x[lp.global_id(0)] = TILE * 100 + lp.local_range(0)

@lp.kernel(local_size=(GAIN,))
def pairs(x: lp.Array[lp.i32], *, TILE: lp.Spec[lp.i32] = 3):
    x[lp.global_id(0)] = TILE * 100 + lp.local_range(0)

@lp.kernel
def plain(x: lp.Array[lp.i32]):
    x[0] = 1
"""
DEFAULTS = [2, 3, 1, 5.5, 20, 9]
GIVEN = {"GAIN": 7, "TABLE": [[5, 6], [7, 8]], "IS_ON": False, "WINDOW": (2.0, 3), "UNUSED": 1.0}


@pytest.fixture
def source(context):
    return create(context, source=TEXT)


@pytest.fixture
def run(queue):
    def launch(bundle, name, n=6, dtype=lp.f32):
        x = lp.zeros(n, dtype, device=queue.device)
        queue.parallel_for(n if dtype is lp.i32 else 1, bundle.ext_oneapi_get_kernel(name), x).wait()
        return x.numpy().tolist()

    return launch


def by_name(bundle):
    return {constant.name: constant for constant in bundle.specialization_constants}


@pytest.mark.behaviour("SC-13", "SC-15", "SC-19", "SRC-26")
def test_constants_of_a_text(source, run):
    built = lp.build(source)
    assert run(built, "read") == DEFAULTS
    assert run(built, "read_by_handler")[0] == 2
    assert built.contains_specialization_constants()
    found = by_name(built)
    assert set(found) == {"GAIN", "TABLE", "IS_ON", "WINDOW", "WIDE", "TILE"}
    assert built.has_specialization_constant(found["GAIN"])
    assert built.get_specialization_constant(found["GAIN"]) == 2
    (image,) = built
    assert found["GAIN"] in {constant.id for constant in image.spec_constants}


@pytest.mark.behaviour("SC-17", "SC-19", "SC-21")
def test_values_of_a_build(source, run):
    built, given = lp.build(source), lp.build(source, props=[lp.SpecValues(GIVEN)])
    assert run(given, "read") == [7, 7, 0, 5, 70, 9]
    assert run(given, "read_by_handler")[0] == 7
    assert run(built, "read") == DEFAULTS, "a build of its own"
    gain, table = by_name(given)["GAIN"], by_name(given)["TABLE"]
    assert given.get_specialization_constant(gain) == 7
    np.testing.assert_array_equal(given.specialization_constants[table], [[5, 6], [7, 8]])
    compiled = lp.compile(source, props=[lp.SpecValues({"GAIN": np.int8(8)})])
    assert compiled.get_specialization_constant(gain) == 8
    assert run(lp.link(compiled), "read")[0] == 8
    with pytest.raises(lp.InvalidError, match="GAIN"):
        lp.link([compiled, lp.compile(source, props=[lp.SpecValues({"GAIN": 9})])])


@pytest.mark.behaviour("KB-10")
def test_what_is_built_of_one_text_has_the_same_constants(source):
    built, again = lp.build(source), lp.build(source)
    assert built == again
    assert set(built.specialization_constants) == set(again.specialization_constants)
    assert built != lp.build(source, props=[lp.SpecValues({"GAIN": 3})])
    del built, again
    gc.collect()
    from lapilli.frontend.python_source import _texts

    assert TEXT not in _texts, "a text lives as long as its constants"


@pytest.mark.behaviour("SC-34")
def test_local_sizes(source, run):
    assert run(lp.build(source), "tiles", dtype=lp.i32) == [303] * 6
    assert run(lp.build(source), "pairs", dtype=lp.i32) == [302] * 6
    given = lp.build(source, props=[lp.SpecValues({"tiles.TILE": 2, "pairs.TILE": 5, "GAIN": 3})])
    assert run(given, "tiles", dtype=lp.i32) == [202] * 6
    assert run(given, "pairs", dtype=lp.i32) == [503] * 6
    with pytest.raises(
        lp.InvalidError, match="the local size TILE is 0"
    ):  # as a launch says of other kernels
        lp.build(source, props=[lp.SpecValues({"tiles.TILE": 0})])


def test_a_local_size_that_the_text_makes_0(context):
    text = TEXT.replace("TILE: lp.Spec[lp.i32] = 3", "TILE: lp.Spec[lp.i32] = 0")
    assert text != TEXT
    wrong = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text)
    with pytest.raises(lp.BuildError, match=r":\d+:\d+: error: .*the local size TILE is 0"):
        lp.build(wrong)


def test_two_values_of_one_constant(context):
    one = create(context, source=TEXT[: TEXT.index("@lp.kernel(local_size=(GAIN,))")])
    lp.build(one, props=[lp.SpecValues({"TILE": 2, "tiles.TILE": 2})])
    with pytest.raises(
        lp.KernelArgumentError, match=r"'TILE' and 'tiles.TILE' are one .*found 2 and 3; expected one"
    ):
        lp.build(one, props=[lp.SpecValues({"TILE": 2, "tiles.TILE": 3})])


def test_values_that_no_constant_takes(source, queue):
    with pytest.raises(lp.KernelArgumentError, match="several specialization constants 'TILE'"):
        lp.build(source, props=[lp.SpecValues({"TILE": 2})])
    with pytest.raises(lp.KernelArgumentError, match=r"no specialization constant 'NOPE'.*'GAIN'"):
        lp.build(source, props=[lp.SpecValues({"NOPE": 2})])
    for value in (1.5, 2**40, [1]):
        with pytest.raises(lp.KernelArgumentError, match="GAIN"):
            lp.build(source, props=[lp.SpecValues({"GAIN": value})])
    x = lp.zeros(6, lp.i32, device=queue.device)
    with pytest.raises(lp.InvalidError, match=r"lp.SpecValues\(\{'TILE'"):
        queue.parallel_for(6, lp.build(source).ext_oneapi_get_kernel("tiles"), x, TILE=3)


def test_constants_in_a_bundle_file(source, run, context, queue, tmp_path):
    lp.build(source).save(tmp_path / "made.lpk")
    inputs = lp.load_kernel_bundle(context, tmp_path / "made.lpk", state=lp.BundleState.INPUT)
    inputs.set_specialization_constant(by_name(inputs)["GAIN"], 6)
    (tile,) = (c for c in inputs.specialization_constants if c.symbol.endswith("tiles.TILE"))
    inputs.set_specialization_constant(tile, 1)
    built = lp.build(inputs)
    x = lp.zeros(6, lp.i32, device=queue.device)
    queue.parallel_for(6, built.get_kernel("tiles"), x)
    assert x.numpy().tolist() == [101] * 6
    y = lp.zeros(6, device=queue.device)
    queue.parallel_for(1, built.get_kernel("read"), y)
    assert y.numpy()[0] == 6


@pytest.mark.behaviour("SRC-15")
@pytest.mark.parametrize(
    "line",
    [
        "X = lp.SpecializationId(lp.i32, 1.5)",
        "X = lp.SpecializationId()",
        "X = lp.SpecializationId(lp.i32, 1, 2)",
        "X = lp.SpecializationId(3)",
        "X = lp.SpecializationId(lp.FixedArray[lp.f32, 10**9])",
        "X = lp.SpecializationId(lp.i32, **{})",
        "X = lp.zeros(3)",
        "X = (lp.SpecializationId(lp.i32, 3), 1)",
    ],
)
def test_what_is_no_constant_is_found_at_its_line(context, line):
    text = f"import lapilli as lp\n{line}\n@lp.kernel\ndef k(x: lp.Array[lp.i32]): x[0] = 1\n"
    with pytest.raises(lp.BuildError, match=":2:"):
        lp.build(create(context, source=text))
