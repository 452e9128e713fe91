"""Which entry points share an image, and what an image contains."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from lapilli.ir.call_graph import entry_points, function_name, functions
from lapilli.ir.dialects.aspect import is_external
from lapilli.ir.errors import InvalidError
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.ir.verify_attributes import verify_attributes
from lapilli.passes.split_modules import split


def groups(*attributes: str, mode: str = "off") -> list[list[str]]:
    """Names of the kernels of each image; kernel i has the attributes number i."""
    text = "\n".join(
        f"func.func @k{i} () attributes {{gpu.kernel{', ' * bool(a)}{a}}} {{ func.return }}"
        for i, a in enumerate(attributes)
    )
    images = split(parse_module(text).module, mode)
    return [[function_name(f) for f in entry_points(image)] for image in images]


TOGETHER = [["k0", "k1"]]
APART = [["k0"], ["k1"]]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", TOGETHER),
        ("", "aspect.fixed_targets = []", TOGETHER),
        ("aspect.used = [6 : i32]", "", APART),
        ("aspect.used = [6 : i32]", "aspect.used = [5 : i32]", APART),
        ("aspect.used = [1 : i32, 2 : i32]", "aspect.used = [2 : i32, 1 : i32]", TOGETHER),
        ("aspect.declared = [6 : i32]", "", APART),
        ("aspect.declared = [6 : i32]", "aspect.used = [6 : i32]", TOGETHER),
        ("aspect.declared = [6 : i32]", "aspect.declared = [5 : i32], aspect.used = [6 : i32]", APART),
        ("aspect.used = [-1 : i32]", "aspect.used = [-2 : i32]", APART),
        ("aspect.used = [65538 : i32]", "", APART),
        ("aspect.reqd_work_group_size = array<i32: 32>", "", APART),
        (
            "aspect.reqd_work_group_size = array<i32: 32>",
            "aspect.reqd_work_group_size = [32 : i32]",
            TOGETHER,
        ),
        (
            "aspect.reqd_work_group_size = array<i32: 32>",
            "aspect.reqd_work_group_size = array<i32: 32, 1, 1>",
            APART,
        ),
        ("kernel.local_size = array<i32: 32>", "kernel.local_size = array<i32: 64>", APART),
        ("aspect.reqd_sub_group_size = 16 : i32", "", APART),
        ("aspect.reqd_sub_group_size = 16 : i32", "aspect.reqd_sub_group_size = 32 : i32", APART),
        ('aspect.reqd_sub_group_size = "primary"', 'aspect.reqd_sub_group_size = "automatic"', TOGETHER),
        ('aspect.reqd_sub_group_size = "primary"', "", TOGETHER),
        ('aspect.fixed_targets = ["a"]', "", APART),
        ('aspect.fixed_targets = ["a"]', 'aspect.fixed_targets = ["a", "b"]', APART),
        (
            'aspect.fixed_targets = ["a", "b"], aspect.used = [6 : i32]',
            'aspect.fixed_targets = ["b", "a"], aspect.reqd_sub_group_size = 8 : i32',
            TOGETHER,
        ),
        ('aspect.unit = "a"', 'aspect.unit = "b"', TOGETHER),
    ],
)
def test_pairs_share_an_image(first: str, second: str, expected: list[list[str]]) -> None:
    assert groups(first, second) == expected


def test_sizes_make_as_many_groups_as_there_are() -> None:
    sizes = ("32", "64, 64", "64, 64", "16, 16, 16")
    found = groups(*(f"aspect.reqd_work_group_size = array<i32: {size}>" for size in sizes))
    assert found == [["k0"], ["k1", "k2"], ["k3"]]
    assert groups(*(f"aspect.reqd_sub_group_size = {n} : i32" for n in (16, 32, 16))) == [
        ["k0", "k2"],
        ["k1"],
    ]


def test_units_are_split_before_aspects() -> None:
    kernels = ('aspect.unit = "a"', 'aspect.unit = "b"', 'aspect.unit = "a", aspect.used = [6 : i32]')
    assert groups(*kernels, mode="per_source") == [["k0"], ["k1"], ["k2"]]
    assert groups(*kernels, mode="off") == [["k0", "k1"], ["k2"]]


def test_fixed_targets_are_split_exactly_as_the_mode_says() -> None:
    fixed = 'aspect.fixed_targets = ["a"]'
    assert groups(fixed, f"{fixed}, aspect.used = [6 : i32]", mode="off") == TOGETHER
    assert groups(fixed, f"{fixed}, aspect.used = [6 : i32]", mode="per_kernel") == APART


def test_per_kernel_needs_no_further_split() -> None:
    assert groups("", "", "aspect.used = [6 : i32]", mode="per_kernel") == [["k0"], ["k1"], ["k2"]]


def test_unknown_mode_lists_the_modes() -> None:
    with pytest.raises(InvalidError, match="'x', expected one of auto, per_kernel, per_source, off"):
        split(ModuleOp([]), "x")


def test_a_declaration_of_a_kernel_is_no_entry_point() -> None:
    text = """
    func.func @k() attributes {gpu.kernel} { func.return }
    func.func private @elsewhere() attributes {gpu.kernel}"""
    for mode in ("off", "per_source", "per_kernel"):
        assert [symbols(image) for image in split(parse_module(text).module, mode)] == [["k"]]


def test_a_module_without_entry_points_makes_no_image() -> None:
    assert split(parse_module("func.func private @f() { func.return }").module) == []


CALLS = """
module attributes {aspect.aspect_values = {fp64 = 6 : i32}} {
  spec_constant.declare @used : f32 = [1.0 : f32]
  spec_constant.declare @unused : f32 = [1.0 : f32]
  "memref.global"() <{sym_name = "table", type = memref<2xf32>, sym_visibility = "private",
      initial_value = dense<0.0> : tensor<2xf32>}> : () -> ()
  func.func @a() attributes {gpu.kernel} { func.call @shared() : () -> ()  func.return }
  func.func @b() attributes {gpu.kernel, aspect.used = [6 : i32]} {
    func.call @shared() : () -> ()
    %t = memref.get_global @table : memref<2xf32>
    func.return
  }
  func.func private @shared() { %0 = spec_constant.get @used : f32 loc("s.py":4:2)  func.return }
  func.func private @alone() { func.return }
}"""


def symbols(image: ModuleOp) -> list[str]:
    return [op.get_attr_or_prop("sym_name").data for op in image.body.ops]  # type: ignore[union-attr]


@pytest.mark.behaviour("SPL-01", "SPL-15", "SPL-16")
def test_callees_are_copied_and_what_nobody_reaches_is_dropped() -> None:
    module = parse_module(CALLS).module
    before = str(module)
    first, second = split(module)
    assert symbols(first) == ["used", "a", "shared"]
    assert symbols(second) == ["used", "table", "b", "shared"]
    assert str(module) == before
    for image in (first, second):
        verify_module(image)
        verify_attributes(image)
        assert "aspect.aspect_values" in image.attributes


def test_locations_survive() -> None:
    for image in split(parse_module(CALLS).module):
        shared = next(f for f in functions(image) if function_name(f) == "shared")
        assert str(shared.body.block.first_op.location) == 'loc("s.py":4:2)'  # type: ignore[union-attr]


def test_a_module_that_is_one_image_is_not_copied() -> None:
    module = parse_module("func.func @k() attributes {gpu.kernel} { func.return }").module
    assert split(module) == [module]


@pytest.mark.behaviour("SPL-17")
def test_exported_functions_keep_their_mark_only_where_they_are_roots() -> None:
    text = """
    func.func @k() attributes {gpu.kernel} { func.call @f() : () -> ()  func.return }
    func.func @f() attributes {aspect.external} { func.return }"""
    (together,) = split(parse_module(text).module, "off")
    assert symbols(together) == ["k", "f"]
    assert str(together).count("aspect.external") == 1
    with_kernel, alone = split(parse_module(text).module, "per_kernel")
    assert "aspect.external" not in str(with_kernel)
    assert "func.func private @f" in str(with_kernel)
    assert symbols(alone) == ["f"]
    assert "aspect.external" in str(alone)


@pytest.mark.behaviour("SPL-02", "SPL-17")
def test_functions_of_other_units_are_copied_into_the_image_that_calls_them() -> None:
    text = """
    func.func @k() attributes {gpu.kernel, aspect.unit = "a"} { func.call @outer() : () -> ()  func.return }
    func.func @l() attributes {gpu.kernel, aspect.unit = "a"} { func.return }
    func.func @outer() attributes {aspect.external, aspect.unit = "b"} {
      func.call @inner() : () -> ()
      func.return
    }
    func.func @inner() attributes {aspect.external, aspect.unit = "c"} { func.return }
    func.func @aside() attributes {aspect.external, aspect.unit = "b"} { func.return }"""
    images = split(parse_module(text).module, "per_source")
    assert [symbols(image) for image in images] == [
        ["k", "l", "outer", "inner"],
        ["outer", "inner", "aside"],
        ["inner"],
    ]
    exported = [
        [op.get_attr_or_prop("sym_name").data for op in i.body.ops if is_external(op)] for i in images
    ]  # type: ignore[union-attr]
    assert exported == [[], ["outer", "aside"], ["inner"]]
    for image in images:
        verify_module(image)
        verify_attributes(image)
