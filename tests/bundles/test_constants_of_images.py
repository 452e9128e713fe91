"""Each device image lists the specialization constants that its own kernels read, under SpecIds of its own."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device

TEXT = """
lp.compile_options(device_code_split={!r})
A = lp.SpecializationId(lp.f32, 2.0)
B = lp.SpecializationId(lp.FixedArray[lp.i32, 2], [3, 4])
def helper(x):
    return x * A
@lp.kernel
def aaa(x: lp.Array[lp.f32]): x[lp.global_id(0)] = helper(x[lp.global_id(0)]) + A + lp.f32(B[0] + B[1])
@lp.kernel
def bbb(x: lp.Array[lp.f32]): x[lp.global_id(0)] = lp.f32(B[1])
@lp.kernel
def ccc(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
"""


@pytest.mark.behaviour("SC-32")
@pytest.mark.parametrize("state", [lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE], ids=lambda s: s.name)
def test_each_image_lists_what_it_references(context, make_module, state):
    unit = make_module(TEXT.format("per_kernel"))
    bundle = lp.get_kernel_bundle(context, state=state, kernel_ids=[unit.aaa, unit.bbb, unit.ccc])
    found = {image.kernels[0]: {c.name for c in image.spec_constants} for image in bundle}
    assert found == {"aaa": {"A", "B"}, "bbb": {"B"}, "ccc": set()}
    for image in bundle:
        ids = [leaf.spec_id for constant in image.spec_constants for leaf in constant.leaves]
        assert sorted(ids) == list(range(len(ids)))  # two uses of A are one SpecId
    (whole,) = lp.get_kernel_bundle(context, state=state, kernel=make_module(TEXT.format("off")).aaa)
    assert [len(constant.leaves) for constant in sorted(whole.spec_constants, key=lambda c: c.name)] == [1, 2]


@pytest.mark.behaviour("SC-32")
@pytest.mark.parametrize(
    "state", [lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE], ids=lambda s: s.name
)
def test_they_are_told_as_the_ids_tell_them(context, make_module, state):
    unit = make_module(TEXT.format("per_kernel"))
    bundle = lp.get_kernel_bundle(context, state=state, kernel=unit.aaa)
    (image,) = (image for image in bundle if image.has_kernel(unit.aaa))
    found = {constant.id: constant for constant in image.spec_constants}
    assert found.keys() == {unit.A, unit.B}
    for id_, constant in found.items():
        assert (constant.name, constant.type) == (id_.name, id_.type)
        assert constant.size_bytes == sum(leaf.size_bytes for leaf in constant.leaves)
    assert found[unit.A].default == 2.0 and found[unit.B].default.tolist() == [3, 4]
    assert [leaf.offset_bytes for leaf in found[unit.B].leaves] == [0, 4]


@pytest.mark.behaviour("SC-32")
def test_they_are_equal_by_content(context, make_module):
    unit = make_module(
        "A = lp.SpecializationId(lp.FixedArray[lp.f32, 2], [1.0, float('nan')])\n"
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[0] = A[0] + A[1]\n"
    )
    source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=unit.k)
    emulated = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
    first, second, third = (
        next(image.spec_constants for image in bundle if not image.frozen)
        for bundle in (lp.build(source), source, emulated)
    )
    assert first == second and hash(first) == hash(second) and len({*first, *second}) == 1
    assert first != third  # which is emulated


def test_constants_of_foreign_modules_have_no_id(context, make_module):
    unit = make_module(TEXT.format("per_kernel"))
    (own,) = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=unit.bbb)
    (foreign,) = lp.vulkan.make_kernel_bundle(own.spirv(), context, state=lp.BundleState.EXECUTABLE)
    constants = [(c.id, c.type, c.default) for c in foreign.spec_constants]
    assert constants[:2] == [(None, "u32", 3), (None, "u32", 4)]
