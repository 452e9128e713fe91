"""Specialization constants of every type, in every scope, by every way of setting them; on every device.

The cases of SYCL's conformance suite for specialization constants, from Python: one name in many scopes, defaults of
composites, several constants, and the ways launch, command group and kernel bundle.
"""

from __future__ import annotations

import copy
import pickle
from types import ModuleType

import numpy as np
import pytest

import lapilli as lp
from tests.host_bf16 import require_host_numbers

pytestmark = pytest.mark.device

SAME = lp.SpecializationId(lp.i32, 1)
ALSO = SAME  # another name of the same constant


class Outer:
    SAME = lp.SpecializationId(lp.i32, 2)

    class Inner:
        SAME = lp.SpecializationId(lp.i32, 3)

    class Float:
        SAME = lp.SpecializationId(lp.f32, 4.5)


class Other:
    SAME = lp.SpecializationId(lp.i32, 5)


def module_with_same(number: int) -> ModuleType:
    module = ModuleType(f"stress_{number}")
    exec(f"import lapilli as lp\nSAME = lp.SpecializationId(lp.i32, {number})\n", module.__dict__)
    return module


first, second, third, fourth, fifth = map(module_with_same, (6, 7, 8, 9, 10))


@lp.kernel
def same_names(out: lp.Out[lp.f32], kh: lp.KernelHandler):
    out[0] = lp.f32(kh.get_specialization_constant(SAME))
    out[1] = lp.f32(Outer.SAME)
    out[2] = lp.f32(kh.get_specialization_constant(Outer.Inner.SAME))
    out[3] = kh.get_specialization_constant(Outer.Float.SAME)
    out[4] = lp.f32(Other.SAME)
    out[5] = lp.f32(first.SAME)
    out[6] = lp.f32(second.SAME)
    out[7] = lp.f32(kh.get_specialization_constant(third.SAME))
    out[8] = lp.f32(fourth.SAME)
    out[9] = lp.f32(kh.get_specialization_constant(fifth.SAME))


TEN = (
    SAME, Outer.SAME, Outer.Inner.SAME, Outer.Float.SAME, Other.SAME,
    first.SAME, second.SAME, third.SAME, fourth.SAME, fifth.SAME,
)  # fmt: skip
DEFAULTS = [1, 2, 3, 4.5, 5, 6, 7, 8, 9, 10]


def run(device, kernel, out, values, way):
    """Launches a kernel with values of specialization constants, by one of the ways that there are."""
    if way == "launch":
        kernel[1].spec(values)(out)
    elif way == "queue":
        lp.Queue(device).parallel_for(1, kernel, out, spec=values)
    elif way == "group":
        with lp.Queue(device).submit() as h:
            for constant, value in values.items():
                h.set_specialization_constant(constant, value)
                np.testing.assert_equal(h.get_specialization_constant(constant), value)
            h.parallel_for(1, kernel, out)
    elif way == "older group":
        with lp.Queue(device).submit() as h:
            for constant, value in values.items():
                np.testing.assert_equal(h.set_spec_constant(constant, value).get(), value)
            h.parallel_for(1, kernel, out)
    else:
        context = lp.Context([device])
        bundle = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=kernel)
        for constant, value in values.items():
            bundle.set_specialization_constant(constant, value)
            np.testing.assert_equal(bundle.get_specialization_constant(constant), value)
        with lp.Queue(context=context).submit() as h:
            h.use_kernel_bundle(lp.build(bundle))
            h.parallel_for(1, kernel, out)
    return out.numpy()


WAYS = ["launch", "queue", "group", "older group", "bundle"]


@pytest.mark.behaviour("SC-05")
@pytest.mark.parametrize("way", WAYS)
def test_ten_constants_of_one_name(device, way):
    out = lp.zeros(10, device=device)
    assert run(device, same_names, out, {}, way).tolist() == DEFAULTS
    values = {constant: 100 + number for number, constant in enumerate(TEN)}
    assert run(device, same_names, out, values, way).tolist() == list(range(100, 110))
    some = {second.SAME: -1, Outer.Inner.SAME: -2}
    expected = [some.get(constant, value) for constant, value in zip(TEN, DEFAULTS, strict=True)]
    assert run(device, same_names, out, some, way).tolist() == expected


def test_another_name_of_a_constant_is_the_same_constant(device):
    out = lp.zeros(10, device=device)
    assert run(device, same_names, out, {ALSO: 50}, "group")[0] == 50
    assert {constant.name for constant in TEN} == {"SAME"}
    assert len({constant.symbol for constant in TEN}) == 10


@pytest.mark.behaviour("SC-03")
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_ids_are_only_referred_to(device, copied):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copied(SAME)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        SAME.__reduce__()


@pytest.mark.behaviour("SC-06")
@pytest.mark.parametrize(
    "use", [bool, int, float, range, lambda c: c + 1, lambda c: [1, 2][c], lambda c: c < 3]
)
def test_an_id_is_no_value_on_the_host(use):
    with pytest.raises(TypeError):
        use(SAME)


# Types and defaults


@lp.struct
class Plain:
    """No default of its own."""

    a: lp.i32
    b: lp.f32


@lp.struct
class WithDefaults:
    a: lp.i32 = 7
    b: lp.f32 = 2.5
    c: lp.bool_ = True


@lp.struct
class Padded:
    flag: lp.bool_
    number: lp.f32 = 3.0
    more: lp.FixedArray[lp.bool_, 3]
    pair: lp.i32x2


@lp.struct
class Nested:
    inner: WithDefaults
    rows: lp.FixedArray[lp.f32, 2, 2]
    outer: Padded


def scalars(value):
    """The scalars of a host value in C order, as floats."""
    if isinstance(value, Plain):
        parts = (value.a, value.b)
    elif isinstance(value, WithDefaults):
        parts = (value.a, value.b, value.c)
    elif isinstance(value, Padded):
        parts = (value.flag, value.number, value.more, value.pair)
    elif isinstance(value, Nested):
        parts = (value.inner, value.rows, value.outer)
    else:
        return [float(item) for item in np.asarray(value).reshape(-1)]
    return [item for part in parts for item in scalars(part)]


PLAIN = lp.SpecializationId(Plain)
DEFAULTED = lp.SpecializationId(WithDefaults)
ARGUMENTS = lp.SpecializationId(WithDefaults, 1, 1.5)
PADDED = lp.SpecializationId(Padded, Padded(True, 4.0, [True, False, True], (8, 9)))
NESTED = lp.SpecializationId(Nested)
VECTOR = lp.SpecializationId(lp.i32x3, 1, 2, 3)
BOOLS = lp.SpecializationId(lp.FixedArray[lp.bool_, 2, 2], [[True, False], [False, True]])
COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
ZEROS = lp.SpecializationId(lp.FixedArray[lp.u32, 4])


@lp.kernel
def read_plain(out: lp.Out[lp.f32]):
    v = PLAIN
    out[0] = lp.f32(v.a)
    out[1] = v.b


@lp.kernel
def read_defaulted(out: lp.Out[lp.f32]):
    v = DEFAULTED
    out[0] = lp.f32(v.a)
    out[1] = v.b
    out[2] = 1.0 if v.c else 0.0


@lp.kernel
def read_arguments(out: lp.Out[lp.f32], kh: lp.KernelHandler):
    v = kh.get_specialization_constant(ARGUMENTS)
    out[0] = lp.f32(v.a)
    out[1] = v.b
    out[2] = 1.0 if v.c else 0.0


@lp.kernel
def read_padded(out: lp.Out[lp.f32]):
    out[0] = 1.0 if PADDED.flag else 0.0
    out[1] = PADDED.number
    for i in range(3):
        out[2 + i] = 1.0 if PADDED.more[i] else 0.0
    out[5] = lp.f32(PADDED.pair.x)
    out[6] = lp.f32(PADDED.pair.y)


@lp.kernel
def read_nested(out: lp.Out[lp.f32], kh: lp.KernelHandler):
    v = kh.get_specialization_constant(NESTED)
    out[0] = lp.f32(v.inner.a)
    out[1] = v.inner.b
    out[2] = 1.0 if v.inner.c else 0.0
    for i in range(2):
        for j in range(2):
            out[3 + 2 * i + j] = v.rows[i, j]
    out[7] = 1.0 if v.outer.flag else 0.0
    out[8] = v.outer.number
    for i in range(3):
        out[9 + i] = 1.0 if v.outer.more[i] else 0.0
    out[12] = lp.f32(v.outer.pair.x)
    out[13] = lp.f32(v.outer.pair.y)


@lp.kernel
def read_vector(out: lp.Out[lp.f32]):
    out[0] = lp.f32(VECTOR.x)
    out[1] = lp.f32(VECTOR.y)
    out[2] = lp.f32(VECTOR.z)


@lp.kernel
def read_bools(out: lp.Out[lp.f32]):
    for i in range(2):
        for j in range(2):
            out[2 * i + j] = 1.0 if BOOLS[i, j] else 0.0


@lp.kernel
def read_coeff(out: lp.Out[lp.f32], kh: lp.KernelHandler):
    c = kh.get_specialization_constant(COEFF)
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = c[i][j]


@lp.kernel
def read_zeros(out: lp.Out[lp.f32]):
    for i in range(4):
        out[i] = lp.f32(ZEROS[i])


COMPOSITES = [
    (read_plain, PLAIN, Plain(0, 0.0), Plain(-3, 9.5)),
    (read_defaulted, DEFAULTED, WithDefaults(7, 2.5, True), WithDefaults(0, 0.0, False)),
    (read_arguments, ARGUMENTS, WithDefaults(1, 1.5, True), WithDefaults(3, c=False)),
    (read_padded, PADDED, PADDED.default, Padded(False, 1.0, [False, True, True], (-1, 2**20))),
    (read_nested, NESTED, Nested(), Nested(WithDefaults(1, 2, False), [[1, 2], [3, 4]], PADDED.default)),
    (read_vector, VECTOR, (1, 2, 3), (-1, 0, 2**20)),
    (read_bools, BOOLS, [[1, 0], [0, 1]], [[0, 1], [1, 1]]),
    (read_coeff, COEFF, np.arange(1, 10), np.arange(9).reshape(3, 3) * 0.25),
    (read_zeros, ZEROS, np.zeros(4), [1, 2, 3, 2**24]),
]


@pytest.mark.behaviour("SC-01", "SC-02", "SC-09", "SC-10")
@pytest.mark.parametrize(
    ("kernel", "constant", "default", "value"), COMPOSITES, ids=lambda v: getattr(v, "name", "")
)
def test_composites(device, kernel, constant, default, value):
    assert scalars(constant.default) == scalars(default)
    out = lp.zeros(14, device=device)
    expected = scalars(default)
    is_struct = isinstance(value, Plain | WithDefaults | Padded | Nested)
    given = value if is_struct else np.asarray(value, dtype=constant.default.dtype)
    for way in WAYS:
        assert run(device, kernel, out, {}, way)[: len(expected)].tolist() == expected, way
        assert run(device, kernel, out, {constant: given}, way)[: len(expected)].tolist() == scalars(value), (
            way
        )
    assert run(device, kernel, out, {constant: value}, "launch")[: len(expected)].tolist() == scalars(value)


SCALARS = [
    (lp.bool_, True, False), (lp.i8, -1, 100), (lp.u8, 1, 255), (lp.i16, -2, 30000), (lp.u16, 2, 65535),
    (lp.i32, -3, 2**31 - 1), (lp.u32, 3, 2**32 - 1), (lp.i64, -4, -(2**62)), (lp.u64, 4, 2**63),
    (lp.f16, 0.5, -65504.0), (lp.bf16, 1.5, -2.0), (lp.f32, 2.5, float("inf")), (lp.f64, 0.1, 1e300),
]  # fmt: skip


@pytest.mark.behaviour("SC-01", "SC-02", "SC-10")
@pytest.mark.parametrize(("dtype", "default", "value"), SCALARS, ids=lambda v: getattr(v, "name", ""))
def test_scalars(device, dtype, default, value):
    require_host_numbers(dtype)
    given, empty = lp.SpecializationId(dtype, default), lp.SpecializationId(dtype)
    assert given.default == default and empty.default == 0

    @lp.kernel
    def read(out: lp.Out[dtype], kh: lp.KernelHandler):
        out[0] = given
        out[1] = kh.get_specialization_constant(empty)

    out = lp.zeros(2, dtype, device=device)
    if not lp.is_compatible([read], device):
        with pytest.raises(lp.KernelNotSupportedError):
            read[1](out)
        pytest.skip(f"{device.selector} lacks {dtype.name}")
    bundle = lp.get_kernel_bundle(lp.Context([device]), state=lp.BundleState.INPUT, kernel=read)
    assert bundle.has_specialization_constant(given)
    for way in WAYS:
        assert run(device, read, out, {}, way).tolist() == [default, 0], way
        assert run(device, read, out, {given: value, empty: default}, way).tolist() == [value, default], way


# Several constants, kernels and helpers

FACTOR = lp.SpecializationId(lp.i32, 3)


def scaled(kh: lp.KernelHandler, value: lp.i32) -> lp.i32:
    return value * kh.get_specialization_constant(FACTOR)


def twice(kh, value):
    return scaled(kh, value) + scaled(kh, 1)


@lp.kernel
def through_helpers(out: lp.Out[lp.i32], kh: lp.KernelHandler):
    out[0] = twice(kh, 10)


@pytest.mark.behaviour("SC-07")
@pytest.mark.parametrize("way", WAYS)
def test_a_handler_is_handed_on_to_helpers(device, way):
    out = lp.zeros(1, lp.i32, device=device)
    assert run(device, through_helpers, out, {}, way)[0] == 33
    assert run(device, through_helpers, out, {FACTOR: -2}, way)[0] == -22


@lp.kernel
def early(out: lp.Out[lp.i32], kh: lp.KernelHandler):
    out[0] = kh.get_specialization_constant(LATE) + LATE


LATE = lp.SpecializationId(lp.i32, 21)


@pytest.mark.behaviour("SC-04")
@pytest.mark.parametrize("way", WAYS)
def test_a_constant_defined_after_the_kernel(device, way):
    out = lp.zeros(1, lp.i32, device=device)
    assert run(device, early, out, {}, way)[0] == 42
    assert run(device, early, out, {LATE: 4}, way)[0] == 8


@pytest.mark.behaviour("SC-06")
def test_a_constant_bounds_a_loop_at_run_time(device):
    @lp.kernel
    def summed(out: lp.Out[lp.i32]):
        total = 0
        for i in range(FACTOR):
            total += i
        out[0] = total

    out = lp.zeros(1, lp.i32, device=device)
    for n in (3, 0, 100):
        assert run(device, summed, out, {FACTOR: n}, "launch")[0] == n * (n - 1) // 2


@pytest.mark.behaviour("SC-08")
def test_a_native_constant_is_one_of_the_binary(device):
    @lp.kernel
    def fresh(out: lp.Out[lp.i32]):
        out[0] = FACTOR

    out = lp.zeros(1, lp.i32, device=device)
    with lp.trace() as trace:
        for value in (1, 2, 1):
            assert run(device, fresh, out, {FACTOR: value}, "launch")[0] == value
    assert (trace.count("module"), trace.count("pipeline")) == (1, 2)
    text = fresh.inspect("spirv")
    assert "OpSpecConstant %" in text and "SpecId 0" in text


# The local size


@lp.kernel(local_size=("Z", "Y", "X"))
def boxes(out: lp.Out[lp.i32, 3], *, X: lp.Spec[lp.u32] = 4, Y: lp.Spec[lp.u32] = 1, Z: lp.Spec[lp.u32] = 1):
    i, j, k = lp.global_id(0), lp.global_id(1), lp.global_id(2)
    out[i, j, k] = (lp.local_id(0) * 10 + lp.local_id(1)) * 10 + lp.local_id(2) + 1000 * lp.i32(X * Y * Z)


@pytest.mark.behaviour("SC-34")
@pytest.mark.parametrize(("x", "y", "z"), [(4, 1, 1), (2, 2, 2), (1, 4, 2), (4, 4, 4)])
def test_a_specialised_local_size(device, x, y, z):
    out = lp.zeros((4, 4, 4), lp.i32, device=device)
    boxes[4, 4, 4](out, X=x, Y=y, Z=z)
    i, j, k = np.indices((4, 4, 4))
    np.testing.assert_array_equal(out.numpy(), (i % z * 10 + j % y) * 10 + k % x + 1000 * x * y * z)


@lp.kernel(local_size="2 * TILE")
def shared_tiles(out: lp.Out[lp.i32], *, TILE: lp.Spec[lp.i32] = 2):
    tile = lp.local.array(TILE * 2, lp.i32)
    tile[lp.local_id(0)] = lp.group_id(0)
    lp.barrier()
    out[lp.global_id(0)] = tile[2 * TILE - 1 - lp.local_id(0)]


@pytest.mark.behaviour("SC-34")
def test_derived_sizes_are_checked_on_the_host(device):
    out = lp.zeros(16, lp.i32, device=device)
    for tile in (2, 4, 1):
        shared_tiles[16](out, TILE=tile)
        assert out.numpy().tolist() == [i // (2 * tile) for i in range(16)]
    with pytest.raises(lp.InvalidError, match=r"local size 2 \* TILE is 0, expected at least 1; TILE = 0"):
        shared_tiles[16](out, TILE=0)
    limit = device.info.max_work_group_size
    with pytest.raises(
        lp.KernelNotSupportedError, match=rf"{limit}.*local_size is \(2 \* TILE\) with TILE = {limit}"
    ):
        shared_tiles[2 * limit](lp.zeros(2 * limit, lp.i32, device=device), TILE=limit)
    with pytest.raises(lp.NdRangeError, match="multiple of its local size"):
        shared_tiles[15](lp.zeros(15, lp.i32, device=device))
