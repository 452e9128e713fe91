"""From `aspect.requirements` to what the runtime compares with a device."""

from __future__ import annotations

import pytest

from lapilli.ir.device_config import DeviceConfig, Target
from lapilli.ir.errors import InvalidError
from lapilli.ir.kernel_info import Requirements
from lapilli.ir.parse import parse_module
from lapilli.passes.compute_requirements import compute_requirements, read_requirements

CONFIG = DeviceConfig(
    {name: Target(name=name, aspect_number=n) for name, n in (("a", 0x20001), ("b", 0x20000))}
)


def requirements(attributes: str) -> Requirements:
    text = f"func.func @k() attributes {{gpu.kernel, {attributes}}} {{ func.return }}"
    module = parse_module(text).module
    assert compute_requirements(module) == ()
    return read_requirements(module, CONFIG)


def test_aspects_are_the_union_ascending_without_internal_ones() -> None:
    found = requirements("aspect.used = [65538 : i32, 6 : i32, -3 : i32], aspect.declared = [1 : i32]")
    assert found == Requirements(aspects=(1, 6, 65538))


def test_sizes_keep_the_order_of_the_attribute() -> None:
    found = requirements(
        "aspect.reqd_work_group_size = array<i32: 64, 4>, aspect.reqd_sub_group_size = 16 : i32"
    )
    assert found == Requirements(work_group_sizes=((64, 4),), sub_group_sizes=(16,))


def test_a_kernel_with_a_local_size_requires_it() -> None:
    assert requirements("kernel.local_size = array<i32: 8, 8>").work_group_sizes == ((8, 8),)


def test_named_sub_group_sizes_require_nothing() -> None:
    assert requirements('aspect.reqd_sub_group_size = "automatic"') == Requirements()


def test_fixed_targets_become_numbers_and_nothing_else_counts() -> None:
    found = requirements('aspect.fixed_targets = ["a", "b"], aspect.used = [6 : i32]')
    assert found == Requirements(fixed_targets=(0x20000, 0x20001))


def test_compiled_without_fixed_targets_is_not_compiled_for_none() -> None:
    assert requirements("aspect.fixed_targets = []").fixed_targets is None


def test_an_unknown_fixed_target_is_an_error() -> None:
    with pytest.raises(InvalidError, match="no fixed target 'c' in the device configuration; it has a, b"):
        requirements('aspect.fixed_targets = ["c"]')


def test_targets_in_common_may_be_none() -> None:
    text = """
    func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["a"]} {
      func.call @f() : () -> ()
      func.return
    }
    func.func private @f() attributes {aspect.fixed_targets = ["b"]} { func.return }"""
    module = parse_module(text).module
    (warning,) = compute_requirements(module)
    assert warning.message == (
        "function 'f' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel."
    )
    assert read_requirements(module) == Requirements(fixed_targets=())


def test_a_callee_for_fewer_targets_changes_nothing() -> None:
    text = """
    func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["a", "b"]} {
      func.call @f() : () -> ()
      func.call @g() : () -> ()
      func.return
    }
    func.func private @f() attributes {aspect.fixed_targets = ["b"]} { func.return }
    func.func private @g() attributes {aspect.fixed_targets = []} { func.return }"""
    module = parse_module(text).module
    assert compute_requirements(module) == ()
    assert read_requirements(module, CONFIG).fixed_targets == (0x20000, 0x20001)


def test_vendor_and_internal_aspects_of_a_callee_count_without_a_warning() -> None:
    text = """
    func.func @k() attributes {gpu.kernel} { func.call @f() : () -> ()  func.return }
    func.func private @f() attributes {aspect.used = [65538 : i32, -3 : i32]} { func.return }"""
    module = parse_module(text).module
    assert compute_requirements(module) == ()
    assert read_requirements(module) == Requirements(aspects=(65538,))
