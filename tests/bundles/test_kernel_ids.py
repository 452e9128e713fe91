"""Kernel ids: which kernels there are, and how they are named."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lapilli as lp

from . import kernels, other_kernels


@pytest.mark.behaviour("KID-01")
def test_function_and_names_give_the_same_id():
    id_ = lp.get_kernel_id(kernels.looked_up)
    assert lp.get_kernel_id("looked_up") is id_
    assert lp.get_kernel_id(kernels.looked_up.qualified_name) is id_
    assert lp.get_kernel_id(id_) is id_
    assert lp.get_kernel_id("only here") is lp.get_kernel_id(other_kernels.named)
    assert kernels.looked_up.kernel_id is id_


@pytest.mark.behaviour("KID-02")
@pytest.mark.parametrize("name", ["nope", "", "looked_upp"])
def test_unknown_name_is_diagnosed(name):
    with pytest.raises(lp.UnknownKernelError) as caught:
        lp.get_kernel_id(name)
    assert caught.value.errc is lp.Errc.INVALID
    assert isinstance(caught.value, KeyError)
    assert repr(name) in str(caught.value)
    if name == "looked_upp":
        assert "did you mean 'looked_up'" in str(caught.value)


def test_short_name_of_two_kernels_is_refused_with_the_candidates():
    with pytest.raises(lp.InvalidError) as caught:
        lp.get_kernel_id("scaled")
    assert kernels.scaled.qualified_name in str(caught.value)
    assert other_kernels.scaled.qualified_name in str(caught.value)


@pytest.mark.behaviour("KID-03", "KID-05", "KB-09")
def test_ids_are_equal_only_for_the_same_kernel():
    first, second = lp.get_kernel_id(kernels.scaled), lp.get_kernel_id(other_kernels.scaled)
    assert first == lp.get_kernel_id(kernels.scaled)
    assert first != second
    assert first.get_name() == second.name == "scaled"
    assert copy.copy(first) is first and copy.deepcopy(first) is first
    assert {first: 1}[lp.get_kernel_id(kernels.scaled)] == 1
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(first)


@pytest.mark.behaviour("KID-04", "KB-11")
@pytest.mark.parametrize("kind", [lp.KernelId, lp.KernelBundle, lp.DeviceImage, lp.Kernel])
def test_classes_have_no_public_constructor(kind):
    with pytest.raises(TypeError, match="no public constructor"):
        kind()
    with pytest.raises(TypeError, match="no public constructor"):
        kind("x", y=1)


@pytest.mark.parametrize("selector", ["lavapipe", 3, None])
def test_devices_and_arrays_are_not_made_by_their_classes(selector):
    with pytest.raises(TypeError, match=r"no public constructor; lp\.device\(\)"):
        lp.Device(selector)
    with pytest.raises(lp.InvalidError, match=r"made by lp\.asarray"):
        lp.Array(selector, (3,), np.float32)


@pytest.mark.behaviour("KID-06")
def test_all_kernels_of_the_application_are_listed(fresh):
    fresh("""
assert lp.get_kernel_ids() == []

@lp.kernel
def a(x: lp.Array[lp.f32]): x[0] = 1.0
@lp.kernel
def b(x: lp.Array[lp.f32]): x[0] = 1.0
@lp.kernel(name="c c")
def c(x: lp.Array[lp.f32]): x[0] = 1.0
def make(number):
    @lp.kernel
    def inner(x: lp.Array[lp.f32]): x[0] = number
    return inner
made = [make(1), make(2)]

ids = lp.get_kernel_ids()
assert [i.name for i in ids] == ["a", "b", "c c", "inner", "inner"], ids
assert len(set(ids)) == 5
bundle = lp.get_kernel_bundle(context, state=EXECUTABLE)
assert set(bundle.get_kernel_ids()) == set(ids)
assert lp.get_kernel_ids() == ids
del made, bundle
""")


@pytest.mark.behaviour("KID-01")
def test_a_kernel_with_a_name_is_found_by_its_functions_name_too(fresh):
    fresh("""
@lp.kernel(name="given")
def a(x: lp.Array[lp.f32]): x[0] = 1.0
@lp.kernel(name="c")
def b(x: lp.Array[lp.f32]): x[0] = 1.0
@lp.kernel(name="d")
def c(x: lp.Array[lp.f32]): x[0] = 1.0
class Other:
    @lp.kernel(name="e")
    def a2(x: lp.Array[lp.f32]): x[0] = 1.0
    @lp.kernel(name="f")
    def c2(x: lp.Array[lp.f32]): x[0] = 1.0
class Same:
    @lp.kernel(name="g")
    def c2(x: lp.Array[lp.f32]): x[0] = 1.0

bundle = lp.get_kernel_bundle(context, state=EXECUTABLE)
for name, kernel in {"a": a, "given": a, "__main__.a": a, "c": b, "d": c, "a2": Other.a2}.items():
    assert lp.get_kernel_id(name) is kernel.kernel_id, name
    assert bundle.has_kernel(name) and bundle.get_kernel(name) == bundle.get_kernel(kernel), name
for ask in (lp.get_kernel_id, bundle.get_kernel):
    try:
        ask("c2")
    except lp.InvalidError as error:
        assert "Other.c2" in str(error) and "Same.c2" in str(error)
    else:
        raise AssertionError("c2 is the function of two kernels")
""")


def test_a_kernel_that_is_defined_anew_replaces_the_old_one(fresh):
    fresh("""
source = "@lp.kernel\\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = {}\\n"
import linecache
def cell(number, value):
    text = source.format(value)
    linecache.cache[f"<cell {number}>"] = (len(text), None, text.splitlines(True), f"<cell {number}>")
    exec(compile(text, f"<cell {number}>", "exec"), globals())
cell(1, "missing")
old = k
cell(2, "2.0")
assert lp.get_kernel_ids() == [lp.get_kernel_id("k")] == [k.kernel_id]
assert lp.get_kernel_bundle(context, state=EXECUTABLE).has_kernel(k)
try:
    lp.is_compatible([old.kernel_id], device)
except lp.InvalidError as error:
    assert "defined anew" in str(error)
else:
    raise AssertionError("the old kernel is not of the application any more")
""")


@pytest.mark.behaviour("KID-03", "IMG-03")
def test_a_bundle_tells_a_new_definition_from_its_own(device, context):
    """Both have one qualified name, so the name alone does not say why the kernel is not there."""

    def define(value: int):
        @lp.kernel
        def k(x: lp.Array[lp.i32]):
            x[lp.global_id(0)] = value

        return k

    first = define(1)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=first)
    second = define(2)
    queue, x = lp.Queue(device, context=context), lp.zeros(4, lp.i32, device=device)
    with (
        pytest.raises(lp.KernelNotFoundError, match="but of the same name another definition of it"),
        queue.submit() as h,
    ):
        h.use_kernel_bundle(bundle)
        h.parallel_for(4, second, x)
    with pytest.raises(lp.UnknownKernelError, match="get a bundle of this one"):
        bundle.get_kernel(second)
    with pytest.raises(lp.UnknownKernelError) as caught:
        bundle.get_kernel("other")
    assert "of the same name" not in str(caught.value)


@pytest.mark.behaviour("KID-08")
def test_kernels_without_a_name_of_their_own_need_one(device):
    """Closures of one ``def`` are told apart by ``name=``, before and after they were launched."""

    def make(name, value):
        @lp.kernel(name=name)
        def nameless(x: lp.Array[lp.f32]):
            x[lp.global_id(0)] = value

        return nameless

    made = [make("named one", 1.0), make("named two", 2.0)]
    x, queue = lp.zeros(2, device=device), lp.Queue(device)
    for kernel, name, value in zip(made, ("named one", "named two"), (1.0, 2.0), strict=True):
        queue.parallel_for(2, kernel, x)
        assert x.numpy().tolist() == [value] * 2
        assert lp.get_kernel_id(name) is kernel.kernel_id and kernel.kernel_id.get_name() == name
    assert made[0].kernel_id != made[1].kernel_id
    unnamed = [make(None, 3.0), make(None, 4.0)]
    assert unnamed[0].kernel_id != unnamed[1].kernel_id
    assert {kernel.kernel_id.get_name() for kernel in unnamed} == {"nameless"}


@pytest.mark.behaviour("KID-08")
def test_a_function_that_is_no_kernel_has_no_id():
    with pytest.raises(lp.InvalidError, match="is no kernel"):
        lp.get_kernel_id(lambda: None)
    with pytest.raises(lp.InvalidError, match="is no kernel"):
        lp.get_kernel_id(test_a_function_that_is_no_kernel_has_no_id)
    with pytest.raises(TypeError, match="a kernel function or its name"):
        lp.get_kernel_id(3)


@pytest.mark.behaviour("KID-01")
def test_a_name_means_what_the_program_has_under_it(context, make_module):
    text = "@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0\nother = lp.reqd_work_group_size(4)(k)\n"
    unit = make_module(text)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel_ids=[unit.k, unit.other])
    for kernel in (unit.k, unit.other):  # and not the newest of what decorators made of one function
        unit.k = kernel
        assert lp.get_kernel_id(f"{unit.__name__}.k") is lp.get_kernel_id(kernel)
        assert bundle.get_kernel("k") == bundle.get_kernel(f"{unit.__name__}.k") == bundle.get_kernel(kernel)


@pytest.mark.behaviour("GKB-21", "IMG-07")
def test_what_an_image_calls_a_kernel_names_it_in_its_bundle(device, context, make_module, tmp_path):
    text = "@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0\nother = lp.reqd_work_group_size(4)(k)\n"
    unit = make_module(text)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel_ids=[unit.k, unit.other])
    bundle.save(tmp_path / "k.lpk")
    loaded = lp.load_kernel_bundle(context, tmp_path / "k.lpk")
    for each in (bundle, loaded):
        named = {name: image.requirements.work_group_sizes for image in each for name in image.kernels}
        assert named == {"k": (), "k~2": ((4,),)}
        assert each.has_kernel("k~2")
        size = lp.info.kernel_device_specific.compile_work_group_size
        assert max(each.get_kernel("k~2").get_info(size, device)) == 4
        assert not each.has_kernel("k~3")


def test_a_name_in_a_file_means_what_the_program_has_under_it(context, make_module, tmp_path):
    unit = make_module("@lp.kernel\ndef fill(out: lp.Array[lp.i32]):\n    out[lp.global_id(0)] = 7\n")
    again = lp.kernel(unit.fill.source.function)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel_ids=[unit.fill])
    bundle.save(tmp_path / "fill.lpk")
    loaded = lp.load_kernel_bundle(context, tmp_path / "fill.lpk")
    assert loaded.has_kernel(unit.fill)
    assert not loaded.has_kernel(again)
