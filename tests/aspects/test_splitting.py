"""SPL, FT-04 and EXT, row by row, on IR text: which entry points share an image, and what the image then needs."""

from __future__ import annotations

import itertools

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.call_graph import entry_points, function_name, functions
from lapilli.ir.dialects import aspect
from lapilli.ir.kernel_info import Requirements
from lapilli.ir.parse import parse_module
from lapilli.ir.property_set import REQUIREMENT_SET, requirement_properties
from lapilli.passes.compute_requirements import compute_requirements, read_requirements
from lapilli.passes.propagate_aspects import propagate
from lapilli.passes.split_modules import split


def module_of(*attributes: str, rest: str = ""):
    kernels = (
        f"func.func @k{i} () attributes {{gpu.kernel{', ' + a if a else ''}}} {{ func.return }}"
        for i, a in enumerate(attributes)
    )
    module = parse_module("\n".join([*kernels, rest])).module
    propagate(module)
    return module


def groups(*attributes: str, mode: str = "off") -> list[list[int]]:
    """Kernels by number, image by image."""
    return [
        [int(function_name(f)[1:]) for f in entry_points(image)]
        for image in split(module_of(*attributes), mode)
    ]


UNIT_A, UNIT_B = 'aspect.unit = "a"', 'aspect.unit = "b"'
FP64, FP16 = "aspect.used = [6 : i32]", "aspect.used = [5 : i32]"


@pytest.mark.behaviour("SPL-01", "SPL-02", "SPL-03", "SPL-04")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("per_kernel", [[0], [1], [2]]),
        ("per_source", [[0, 2], [1]]),
        ("off", [[0, 1, 2]]),
        ("auto", [[0, 2], [1]]),
    ],
)
def test_modes(mode, expected):
    assert groups(UNIT_A, UNIT_B, UNIT_A, mode=mode) == expected
    if mode == "auto":
        assert [len(i.body.ops) for i in split(module_of(UNIT_A, UNIT_B))] == [1, 1]


@pytest.mark.behaviour("SPL-05")
def test_an_unknown_mode_is_refused():
    with pytest.raises(lp.InvalidError, match="'x'"):
        split(module_of(""), "x")


_KEYS = {
    "plain": "",
    "fp64": FP64,
    "declares fp64": "aspect.declared = [6 : i32]",
    "fp16": FP16,
    "wg 64": "aspect.reqd_work_group_size = array<i32: 64>",
    "wg 64 1": "aspect.reqd_work_group_size = array<i32: 64, 1>",
    "sg 16": "aspect.reqd_sub_group_size = 16 : i32",
    "sg 32": "aspect.reqd_sub_group_size = 32 : i32",
    "targets a": 'aspect.fixed_targets = ["a"]',
    "targets a b": 'aspect.fixed_targets = ["a", "b"]',
}
_SAME = {frozenset({"fp64", "declares fp64"})}


@pytest.mark.behaviour("SPL-06", "SPL-07", "SPL-08", "SPL-10", "SPL-11")
@pytest.mark.parametrize(("one", "other"), [*itertools.combinations_with_replacement(_KEYS, 2)])
def test_pairs_share_an_image_only_if_they_agree(one, other):
    together = one == other or frozenset({one, other}) in _SAME
    assert len(groups(_KEYS[one], _KEYS[other])) == (1 if together else 2)


@pytest.mark.behaviour("SPL-07", "FT-04")
def test_with_fixed_targets_nothing_else_divides():
    a = _KEYS["targets a"]
    assert groups(a, f"{a}, {FP64}", f"{a}, {_KEYS['wg 64']}", f"{a}, {_KEYS['sg 16']}") == [[0, 1, 2, 3]]
    swapped = 'aspect.fixed_targets = ["b", "a"]'
    assert groups(_KEYS["targets a b"], swapped) == [[0, 1]]
    assert groups(f"{a}, {UNIT_A}", f"{a}, {UNIT_B}", mode="per_source") == [[0], [1]]


@pytest.mark.behaviour("SPL-08", "SPL-09")
def test_used_and_declared_are_one_set_without_order():
    assert groups("aspect.used = [1 : i32, 2 : i32]", "aspect.used = [2 : i32, 1 : i32]") == [[0, 1]]
    assert groups(
        "aspect.used = [1 : i32], aspect.declared = [2 : i32]", "aspect.declared = [2 : i32, 1 : i32]"
    ) == [[0, 1]]
    assert groups("aspect.declared = [1 : i32]", "") == [[0], [1]]


@pytest.mark.behaviour("SPL-10", "SPL-11", "SPL-12")
def test_sizes():
    sizes = ["32", "64, 64", "64, 64", "16, 16, 16"]
    assert groups(*(f"aspect.reqd_work_group_size = array<i32: {s}>" for s in sizes)) == [[0], [1, 2], [3]]
    assert groups(*(f"aspect.reqd_sub_group_size = {s} : i32" for s in (16, 32, 16))) == [[0, 2], [1]]
    named = [f'aspect.reqd_sub_group_size = "{name}"' for name in ("automatic", "primary")]
    assert groups(*named, "") == [[0, 1, 2]]


@pytest.mark.behaviour("SPL-13", "SPL-14")
def test_the_mode_comes_first():
    mixed = (f"{UNIT_A}, {FP64}", UNIT_A, f"{UNIT_B}, {FP64}", UNIT_B)
    assert groups(*mixed, mode="per_source") == [[0], [1], [2], [3]]
    assert groups(*mixed, mode="off") == [[0, 2], [1, 3]]
    assert groups(*mixed, mode="per_kernel") == [[0], [1], [2], [3]]


SHARED = """
func.func @k0() attributes {gpu.kernel, aspect.unit = "a"} { func.call @f() : () -> () func.return }
func.func @k1() attributes {gpu.kernel, aspect.unit = "b"} { func.call @f() : () -> () func.return }
func.func private @f() { func.return }
func.func private @unused() { func.return }
func.func @e() attributes {aspect.external, aspect.unit = "c", aspect.used = [6 : i32]} { func.return }"""


@pytest.mark.behaviour("SPL-02", "SPL-15", "SPL-16", "SPL-17")
def test_callees_are_copied_and_what_is_unused_stays_out():
    module = parse_module(SHARED).module
    propagate(module)
    images = split(module, "per_source")
    assert [[function_name(f) for f in functions(image)] for image in images] == [
        ["k0", "f"],
        ["k1", "f"],
        ["e"],
    ]
    assert all(aspect.is_external(f) for f in functions(images[2]))


@pytest.mark.behaviour("SPL-18")
def test_one_image_for_each_row():
    def body(out: lp.Out[lp.f32]):
        out[lp.global_id(0)] = 1.0

    kernels = [
        lp.kernel(name="a")(body),
        lp.kernel(name="b")(lp.reqd_work_group_size(8)(body)),
        lp.kernel(name="c")(lp.device_has(lp.Aspect.GPU)(body)),
    ]
    images = compile_kernels(kernels)
    rows = [
        (bool(i.spirv), requirement_properties(i.requirements), [k.name for k in i.kernels]) for i in images
    ]
    assert rows == [
        (True, {REQUIREMENT_SET: {}}, ["a"]),
        (True, {REQUIREMENT_SET: {"reqd_work_group_size": bytes.fromhex("01000000 08000000")}}, ["b"]),
        (True, {REQUIREMENT_SET: {"aspect": bytes.fromhex("02000000")}}, ["c"]),
    ]


def image_of(kernel: str, callee: str):
    text = f"""
    func.func @k() attributes {{gpu.kernel, {kernel}}} {{ func.call @bar() : () -> () func.return }}
    func.func private @bar() attributes {{{callee}}} {{ func.return }}"""
    module = parse_module(text).module
    return module, compute_requirements(module)


@pytest.mark.behaviour("EXT-03", "EXT-04")
def test_another_sub_group_size_of_a_callee():
    module, (warning,) = image_of(
        "aspect.reqd_sub_group_size = 16 : i32", "aspect.reqd_sub_group_size = 32 : i32"
    )
    assert warning.message == (
        "function 'bar' has required sub-group size '32' that does not match its calling kernel.  "
        "Missing [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?"
    )
    assert read_requirements(module).sub_group_sizes == (16, 32)


@pytest.mark.behaviour("EXT-06", "REQ-06")
def test_other_fixed_targets_of_a_callee():
    module, (warning,) = image_of(
        'aspect.fixed_targets = ["lavapipe", "swiftshader"]',
        'aspect.fixed_targets = ["swiftshader", "nvidia_h200"]',
    )
    assert warning.message == (
        "function 'bar' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel."
    )
    assert read_requirements(module).fixed_targets == (0x20001,)


@pytest.mark.behaviour("EXT-07", "REQ-06")
def test_the_intersection_may_be_empty_and_is_recorded():
    module, warnings = image_of(
        'aspect.fixed_targets = ["lavapipe"]', 'aspect.fixed_targets = ["swiftshader"]'
    )
    assert len(warnings) == 1
    found = read_requirements(module)
    assert found.fixed_targets == ()
    assert requirement_properties(found) == {REQUIREMENT_SET: {"fixed_target": b""}}


@pytest.mark.parametrize(
    ("kernel", "callee", "message", "expected"),
    [
        (
            "aspect.used = []",
            "aspect.used = [6 : i32]",
            "function 'bar' uses aspect 'fp64' not expected by its calling kernel.",
            Requirements(aspects=(6,)),
        ),
        (
            "aspect.reqd_sub_group_size = 16 : i32",
            "aspect.reqd_sub_group_size = 32 : i32",
            "required sub-group size '32'",
            Requirements(sub_group_sizes=(16, 32)),
        ),
        (
            'aspect.fixed_targets = ["lavapipe", "swiftshader"]',
            'aspect.fixed_targets = ["swiftshader", "nvidia_h200"]',
            "different `-fsycl-fixed-targets` switch",
            Requirements(fixed_targets=(0x20001,)),
        ),
    ],
)
def test_kernels_decide_in_an_image_that_was_not_split_here(kernel, callee, message, expected):
    module, (warning,) = image_of(kernel, f"aspect.external, {callee}")
    assert message in warning.message
    assert read_requirements(module) == expected


@pytest.mark.behaviour("EXT-05")
def test_the_verifier_refuses_work_group_sizes_on_exported_functions():
    from lapilli.ir.verify import IRError
    from lapilli.ir.verify_attributes import verify_attributes

    text = "func.func @e() attributes {aspect.external, aspect.reqd_work_group_size = array<i32: 8>} { func.return }"
    with pytest.raises(IRError, match="exported"):
        verify_attributes(parse_module(text).module)
