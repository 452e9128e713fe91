"""Specialization constants of native modules in state INPUT: set before the bundle is built, by SpecId and by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapilli as lp

from .test_linked_natives import LIBRARY, importing

vulkan = lp.vulkan
INPUT, OBJECT = lp.BundleState.INPUT, lp.BundleState.OBJECT
SHADERS = Path(__file__).parent.parent / "shaders"


@pytest.fixture
def context(device: lp.Device) -> lp.Context:
    return lp.Context([device])


def module(name: str) -> bytes:
    return (SHADERS / f"{name}.spv").read_bytes()


def given(context: lp.Context, name: str = "spec_constants") -> lp.KernelBundle:
    return vulkan.make_kernel_bundle(module(name), context, state=INPUT)


def computed(bundle: lp.KernelBundle, kernel: str = "main") -> np.ndarray[Any, Any]:
    """The first of what a kernel stores: COUNT * SCALE + OFFSET, negated by NEGATE, + the local size."""
    out = lp.zeros(8, lp.f32, device=bundle.devices[0])
    lp.Queue(context=bundle.context).parallel_for(8, bundle.get_kernel(kernel), out).wait()
    return out.numpy()[0]


DEFAULT = 3 * 0.5 - 1 + 1


def test_a_bundle_has_the_constants_of_its_module(context: lp.Context):
    bundle = given(context)
    assert bundle.contains_specialization_constants()
    shown = {c.name: (c.spec_id, value) for c, value in bundle.specialization_constants.items()}
    assert {n: shown[n] for n in ("COUNT", "SCALE", "NEGATE", "OFFSET")} == {
        "COUNT": (0, 3), "SCALE": (1, 0.5), "NEGATE": (2, False), "OFFSET": (3, -1),
    }  # fmt: skip
    assert [bundle.has_specialization_constant(key) for key in (0, "SCALE", 10, 4, "NOPE")] == [1, 1, 1, 0, 0]
    (image,) = bundle
    assert [info.name for info in image.spec_constants] == ["COUNT", "SCALE", "NEGATE", "OFFSET"]
    for info in image.spec_constants:
        assert bundle.get_specialization_constant(info.id) == info.default


@pytest.mark.parametrize("values", [{0: 7, 10: 4, "OFFSET": np.int32(-5)}, {"SCALE": np.float64(2), 2: True}])
def test_values_are_given_to_the_build_or_set(context: lp.Context, values: dict[int | str, Any]):
    count, scale = values.get(0, 3), values.get("SCALE", 0.5)
    value = count * scale + values.get("OFFSET", -1)
    expected = (-value if values.get(2) else value) + values.get(10, 1)
    bundle = given(context)
    assert computed(lp.build(bundle, props=[lp.SpecValues(values)])) == expected
    assert computed(lp.link(lp.compile(bundle, props=[lp.SpecValues(values)]))) == expected
    assert computed(lp.build(bundle)) == DEFAULT  # which the property leaves as it is
    for key, item in values.items():
        bundle.set_specialization_constant(key, item)
        assert bundle.get_specialization_constant(key) == item
    assert bundle != given(context)
    assert computed(lp.build(bundle)) == computed(lp.link(lp.compile(bundle))) == expected
    # The property is the last to say.
    again = lp.build(bundle, props=[lp.SpecValues({0: 100, 1: 1, 2: False, 3: 0})])
    assert computed(again) == 100 + values.get(10, 1)


def test_what_is_built_has_them_for_good(context: lp.Context, tmp_path: Path):
    bundle = given(context)
    bundle.set_specialization_constant("COUNT", 9)
    for built, state in ((lp.build(bundle), lp.BundleState.EXECUTABLE), (lp.compile(bundle), OBJECT)):
        assert not built.contains_specialization_constants() and not built.specialization_constants
        with pytest.raises(TypeError, match=f"in state {state.name}; expected INPUT .*set it on the input"):
            built.set_specialization_constant("COUNT", 1)
        built.save(tmp_path / "native.lpk")
        loaded = lp.load_kernel_bundle(context, tmp_path / "native.lpk", state=state)
        assert computed(lp.link(loaded) if state is OBJECT else loaded) == DEFAULT + 6 * 0.5
    with pytest.raises(lp.InvalidError, match="link does not take the property SpecValues"):
        lp.link(lp.compile(bundle), props=[lp.SpecValues({0: 1})])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (4, 1, r"no specialization constant 4; it has <SpecId 0 'COUNT': u32 = 3>, <SpecId 1 "),
        ("NOPE", 1, "no specialization constant 'NOPE'"),
        ("COUNT", 0.5, r"SpecId 0: expected a value of type u32, found 0\.5"),
        (0, 1 << 32, "expected a value of type u32, found 4294967296"),
        (0, True, "expected a value of type u32, found True"),
        ("NEGATE", 2, "expected a value of type bool, found 2"),
        (1, 1e39, "expected a value of type f32"),
    ],
)
def test_wrong_keys_and_values(context: lp.Context, key: int | str, value: object, message: str):
    bundle = given(context)
    with pytest.raises(lp.KernelArgumentError, match=message):
        bundle.set_specialization_constant(key, value)
    with pytest.raises(lp.KernelArgumentError, match=message):
        lp.build(bundle, props=[lp.SpecValues({key: value})])
    assert computed(lp.build(bundle)) == DEFAULT


def test_other_mistakes(context: lp.Context):
    bundle = given(context)
    with pytest.raises(lp.KernelArgumentError, match=r"'COUNT' and 0 are one .*found 1 and 2; expected one"):
        lp.build(bundle, props=[lp.SpecValues({"COUNT": 1, 0: 2})])
    for wrong in (None, True, 1.0, lp.u32):
        with pytest.raises(lp.KernelArgumentError, match=r"takes an lp\.SpecializationId"):
            bundle.set_specialization_constant(wrong, 1)
    bundle.set_specialization_constant(10, 0)
    with pytest.raises(lp.InvalidError, match=r"local size \(x, y, z\) is \(0, 1, 1\).*SpecId 10 is 0"):
        lp.build(bundle)


def test_a_length_with_a_value_is_no_parameter(context: lp.Context):
    bundle = given(context, "shared_reverse")
    bundle.set_specialization_constant(4, 17)
    data = np.arange(16, dtype=np.int32)
    out = lp.asarray(data, device=context.devices[0])
    lp.Queue(context=context).parallel_for(16, lp.build(bundle).get_kernel("main"), out).wait()
    np.testing.assert_array_equal(out.numpy(), data[::-1] + 17)


def test_modules_that_use_one_spec_id(context: lp.Context):
    """Each has its own constant; of the joined bundle none is meant by the number alone."""
    text = lp.spirv.disassemble(module("spec_constants")).replace(
        'GLCompute %main "main"', 'GLCompute %main "two"'
    )
    first = given(context)
    both = vulkan.create_bundle(
        context, programs=[module("spec_constants"), lp.spirv.assemble(text)], state=INPUT
    )
    with pytest.raises(
        lp.KernelArgumentError, match=r"several specialization constant 0; .*before the bundles are"
    ):
        both.set_specialization_constant(0, 9)
    of_first, of_second = (c for c in both.specialization_constants if c.spec_id == 0)
    both.set_specialization_constant(of_second, 9)
    built = lp.build(both)
    assert (computed(built), computed(built, "two")) == (DEFAULT, DEFAULT + 6 * 0.5)
    first.set_specialization_constant(0, 5)
    assert list(first.specialization_constants) == [
        c for c in both.specialization_constants if c.module == of_first.module
    ]
    joined = lp.build(lp.join([first, both]))
    assert (computed(joined), computed(joined, "two")) == (DEFAULT + 2 * 0.5, DEFAULT + 6 * 0.5)
    first.set_specialization_constant(of_first, 3)
    other = given(context)
    other.set_specialization_constant(0, 4)
    with pytest.raises(lp.InvalidError, match="'COUNT' to different values, 3 and 4"):
        lp.join([first, other])


def test_modules_that_are_linked(context: lp.Context):
    """Their constants are fixed when they are compiled; until then they can be set."""
    text = LIBRARY.replace("OpConstant %uint 3", "OpSpecConstant %uint 3")
    library = lp.spirv.assemble(text.replace("%uint = ", "OpDecorate %three SpecId 3\n%uint = ", 1))
    bundle = vulkan.create_bundle(context, programs=[importing(), library], state=INPUT)
    assert [info.name for image in bundle for info in image.spec_constants] == ["SpecId 3"]
    for value, expected in ((None, 15), (7, 35)):
        if value is not None:
            bundle.set_specialization_constant(3, value)
        x = lp.zeros(8, lp.u32, device=context.devices[0])
        kernel = lp.link(lp.compile(bundle)).get_kernel("add_five")
        lp.Queue(context=context).parallel_for(8, kernel, x).wait()
        np.testing.assert_array_equal(x.numpy(), np.full(8, expected))


def test_other_bundles_do_not_take_values_by_name(context: lp.Context):
    bundle = vulkan.create_with_builtin_kernels(context, ["fill_u32"])
    with pytest.raises(lp.InvalidError, match="does not take the property SpecValues"):
        lp.build(bundle, props=[lp.SpecValues({0: 1})])
    with pytest.raises(lp.KernelArgumentError, match=r"takes an lp\.SpecializationId"):
        bundle.set_specialization_constant(0, 1)
