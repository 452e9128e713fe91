"""Built-in kernels: they belong to a device, are executable only, and run like any other kernel."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)
DTYPES = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}


@lp.kernel
def of_the_application(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


def ids_of(device: lp.Device) -> tuple[lp.KernelId, ...]:
    return device.get_info(lp.info.device.built_in_kernel_ids)


def id_named(device: lp.Device, name: str) -> lp.KernelId:
    (found,) = (id_ for id_ in ids_of(device) if id_.name == name)
    return found


@pytest.mark.behaviour("BIK-01", "KID-07", "ST-04")
def test_a_device_lists_them_and_they_can_be_had(device, context):
    ids = ids_of(device)
    assert ids and ids == device.info.built_in_kernel_ids == device.built_in_kernel_ids
    assert device.get_info(lp.info.device.built_in_kernels) == tuple(id_.get_name() for id_ in ids)
    stems = {id_.name.rpartition("_")[0] for id_ in ids}
    assert stems == {
        *("fill", "copy", "iota", "reduce", "inclusive_scan", "exclusive_scan", "transpose", "histogram")
    }
    for id_ in ids:
        assert lp.is_compatible([id_], device)
        assert lp.get_kernel_id(id_) is id_
        assert lp.has_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_])
    with lp.trace() as trace:
        bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=ids[:2])
    assert set(bundle.kernel_ids) == set(ids[:2])  # what is not asked for is not compiled
    assert trace.count("compile") <= 2


@pytest.mark.behaviour("KID-06", "KID-03")
def test_they_are_none_of_the_application(device):
    ids = ids_of(device)
    assert len(set(ids)) == len(ids) and ids_of(device) == ids
    assert not set(ids) & set(lp.get_kernel_ids())
    for name in (ids[0].name, ids[0].qualified_name):
        with pytest.raises(lp.UnknownKernelError):
            lp.get_kernel_id(name)


@pytest.mark.behaviour("BIK-02")
def test_they_are_executable_only(device, context):
    id_ = ids_of(device)[0]
    for state, expected in ((INPUT, False), (OBJECT, False), (EXECUTABLE, True)):
        assert lp.has_kernel_bundle(context, state=state, kernel_ids=[id_]) is expected
        assert lp.has_kernel_bundle(context, [device], state=state, kernel=id_) is expected
        both = [id_, of_the_application]
        assert lp.has_kernel_bundle(context, state=state, kernel_ids=both) is expected
        bundle = lp.get_kernel_bundle(context, state=state, kernel_ids=both)
        assert bundle.has_kernel(id_) is expected and bundle.has_kernel(of_the_application)
        assert lp.get_kernel_bundle(context, state=state, kernel_ids=[id_]).empty() is not expected


@pytest.mark.behaviour("BIK-03", "GKB-01", "GKB-03")
def test_they_come_by_id_only_and_mix_with_other_kernels(fresh):
    fresh("""
@lp.kernel
def own(x: lp.Array[lp.f32]): x[lp.global_id(0)] += 1.0
ids = device.info.built_in_kernel_ids
mixed = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[ids[0], own, ids[3]])
assert set(mixed.kernel_ids) == {ids[0], ids[3], own.kernel_id}
queue = lp.Queue(device, context=context)
x = lp.zeros(4, device=device)
for kernel, args in ((mixed.get_kernel(ids[0]), (x, 2.0)), (own, (x,))):
    with queue.submit() as group:
        group.use_kernel_bundle(mixed)
        group.parallel_for(4, kernel, *args)
queue.wait()
assert x.numpy().tolist() == [3.0] * 4
for state in (INPUT, OBJECT, EXECUTABLE):
    for devs in (None, [device]):
        plain = lp.get_kernel_bundle(context, devs, state=state)
        assert plain.kernel_ids == (own.kernel_id,)
assert lp.get_kernel_ids() == [own.kernel_id]
assert lp.this_module.get(context, EXECUTABLE).kernel_ids == (own.kernel_id,)
""")


@pytest.mark.behaviour("GKB-06")
def test_a_selector_never_sees_them(fresh):
    fresh("""
@lp.kernel
def own(x: lp.Array[lp.f32]): x[lp.global_id(0)] += 1.0
ids = device.info.built_in_kernel_ids
kept = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=ids)  # they are compiled and alive
for state in (INPUT, OBJECT, EXECUTABLE):
    seen = []
    lp.get_kernel_bundle(context, state=state, selector=seen.append)
    assert len(seen) == 1
    assert [id_ for image in seen for id_ in image.kernel_ids] == [own.kernel_id]
    assert not any(image.has_kernel(id_) for image in seen for id_ in ids)
""")


@pytest.mark.behaviour("BIK-04", "ISC-05", "KID-03")
def test_they_fit_their_own_device_only(device):
    others = [d for d in lp.devices() if d is not device]
    others.append(device.masked(without=[lp.Aspect.FP64]))  # a device of its own on the same hardware
    id_ = ids_of(device)[0]
    for other in others:
        foreign = id_named(other, id_.name)
        assert foreign is not id_ and foreign != id_
        assert not lp.is_compatible([id_], other) and lp.is_compatible([foreign], other)
        assert not lp.is_compatible([id_, foreign], other)
        context = lp.Context([other])
        assert not lp.has_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_])
        with pytest.raises(lp.InvalidError, match=id_.name) as caught:
            lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_])
        assert caught.value.errc is lp.Errc.INVALID
        assert f"(it is built into '{device.selector}')" in str(caught.value)
    pair = lp.Context([device, others[-1]])
    bundle = lp.get_kernel_bundle(pair, state=EXECUTABLE, kernel_ids=[id_])
    assert bundle.has_kernel(id_, device) and not bundle.has_kernel(id_, others[-1])
    (image,) = bundle
    assert image.is_compatible(device) and not image.is_compatible(others[-1])


@pytest.fixture
def run(device, context):
    """Runs a built-in kernel by its name."""
    queue = lp.Queue(device, context=context)

    def call(name: str, range_: object, *args: object, **named: object) -> None:
        bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=id_named(device, name))
        with lp.trace() as trace, queue.submit() as group:
            group.use_kernel_bundle(bundle)
            group.parallel_for(range_, bundle.get_kernel(name), *args, **named)
        queue.wait()
        assert trace.count("compile") == trace.count("module") == trace.count("pipeline") == 0

    return call


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("length", [1, 63, 64, 65, 1000])
def test_one_dimensional_results(device, run, element, length):
    dtype = DTYPES[element]
    values = np.random.default_rng(length).integers(0, 100, length).astype(dtype)  # sums are exact in f32
    x = lp.asarray(values, device=device)
    out = lp.zeros_like(x)
    run(f"fill_{element}", length, out, 7)
    np.testing.assert_array_equal(out.numpy(), np.full(length, 7, dtype))
    run(f"copy_{element}", length, x, out=out)
    np.testing.assert_array_equal(out.numpy(), values)
    run(f"iota_{element}", length, out, 3, 2)
    np.testing.assert_array_equal(out.numpy(), 3 + 2 * np.arange(length, dtype=dtype))
    total = lp.zeros(1, x.dtype, device=device)
    run(f"reduce_{element}", 64, x, total)
    assert total.numpy()[0] == values.sum(dtype=dtype)
    run(f"inclusive_scan_{element}", 64, x, out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(values, dtype=dtype))
    run(f"exclusive_scan_{element}", 64, x, out)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(values, dtype=dtype) - values)


@pytest.mark.parametrize("element", DTYPES)
def test_transpose_and_histogram(device, run, element):
    values = np.random.default_rng(7).integers(0, 100, (20, 50)).astype(DTYPES[element])
    x = lp.asarray(values, device=device)
    out = lp.zeros((50, 20), x.dtype, device=device)
    run(f"transpose_{element}", (20, 50), x, out)
    np.testing.assert_array_equal(out.numpy(), values.T)
    flat = lp.asarray(values.ravel(), device=device)
    counts = lp.zeros(10, lp.u32, device=device)
    run(f"histogram_{element}", flat.size, flat, counts, 10, 90)
    np.testing.assert_array_equal(counts.numpy(), np.histogram(values, 10, (10, 90))[0])


def test_wrong_arguments_and_ranges(device, run):
    out = lp.zeros(4, device=device)
    for args, named in (
        ((out,), {}),
        ((out, 1, 2), {}),
        ((out, 1), {"value": 2}),
        ((out, 1), {"nothing": 2}),
    ):
        with pytest.raises(lp.KernelArgumentError, match="fill_f32"):
            run("fill_f32", 4, *args, **named)
    with pytest.raises(lp.KernelArgumentError, match="out"):
        run("fill_f32", 4, lp.zeros(4, lp.i32, device=device), 1)
    with pytest.raises(lp.NdRangeError):
        run("reduce_f32", 65, out, lp.zeros(1, device=device))
    run("fill_f32", 100, out, 3)  # beyond the array nothing happens
    assert out.numpy().tolist() == [3.0] * 4


@pytest.mark.behaviour("BIK-05", "INT-06")
def test_questions_for_built_in_kernels_only(device, context):
    info = lp.info
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[*ids_of(device), of_the_application])
    for name, count in (("fill_f32", 2), ("iota_i32", 3), ("histogram_u32", 4)):
        kernel = bundle.get_kernel(name)
        assert kernel.get_info(info.kernel.num_args) == kernel.info.num_args == count
    size = bundle.get_kernel("fill_f32").get_info(info.kernel_device_specific.global_work_size, device)
    assert size[:2] == (1, 1) and size[2] >= 2**16
    two = bundle.get_kernel("transpose_f32").get_info(info.kernel_device_specific.global_work_size, device)
    assert two[0] == 1 and min(two[1:]) >= 2**16
    ordinary = bundle.get_kernel(of_the_application)
    with pytest.raises(lp.InvalidError, match="num_args"):
        ordinary.get_info(info.kernel.num_args)
    with pytest.raises(lp.InvalidError, match="global_work_size"):
        ordinary.get_info(info.kernel_device_specific.global_work_size, device)
