"""Devices: selectors, aspects, limits, and the report of what was tried."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.aspect_table import ASPECT_ROWS
from lapilli.ir.aspects import Aspect
from lapilli.ir.target_env import TargetEnv
from lapilli.vk_runtime import device_list
from lapilli.vk_runtime.device_features import aspects_of
from lapilli.vk_runtime.runtime import driver_report


def test_selector_round_trips(device):
    assert lp.device(device.selector) is device
    assert lp.device(device.selector.upper()) is device
    assert lp.device(device) is device
    assert device in device.platform.devices


@pytest.mark.device
def test_selectors_differ():
    selectors = [device.selector for device in lp.devices()]
    assert len(set(selectors)) == len(selectors)


def test_unknown_selector_lists_what_exists(device):
    with pytest.raises(lp.InvalidError, match="no such thing") as caught:
        lp.device("no such thing")
    assert device.selector in str(caught.value) and device.name in str(caught.value)


@pytest.mark.parametrize("index", ["0", "1", "5", "15", " 2 "])
def test_numbers_are_no_indices(index):
    """Nor parts of "LLVM 15.0.6", which is in the name of lavapipe."""
    with pytest.raises(lp.InvalidError, match="matches no device; there are"):
        lp.device(index)


def test_a_number_may_be_a_model():
    card = SimpleNamespace(
        name="GeForce RTX 4090", selector="10de:2684:0", platform=SimpleNamespace(name="NVIDIA 1.0")
    )
    assert device_list.select([card], "4090") is card
    for part in ("90", "0", "2684"):
        with pytest.raises(lp.InvalidError, match="matches no device"):
            device_list.select([card], part)


def test_ambiguous_selector_lists_the_matches(device):
    same_kind = [d for d in lp.devices() if d.has(Aspect.CPU)]
    if len(same_kind) < 2:
        pytest.skip("fewer than two CPU devices")
    with pytest.raises(lp.InvalidError, match="several") as caught:
        lp.device("cpu")
    assert all(d.selector in str(caught.value) for d in same_kind)


def test_wrong_kind_of_selector():
    with pytest.raises(lp.InvalidError, match="selector"):
        lp.zeros(4, device=3)


def test_environment_chooses_the_default(device, monkeypatch):
    from lapilli.vk_runtime.device_list import default_device_of
    from lapilli.vk_runtime.runtime import runtime

    monkeypatch.setenv("LAPILLI_DEVICE", device.selector)
    assert default_device_of(runtime()) is device
    monkeypatch.setenv("LAPILLI_DEVICE", "nothing like it")
    with pytest.raises(lp.InvalidError, match="LAPILLI_DEVICE"):
        default_device_of(runtime())


@pytest.mark.device
def test_swiftshader_comes_last():
    names = [device.selector for device in lp.devices()]
    assert "swiftshader" not in names[:-1]


def test_exactly_one_device_type(device):
    kinds = [Aspect.CPU, Aspect.GPU, Aspect.ACCELERATOR, Aspect.CUSTOM]
    assert sum(device.has(kind) for kind in kinds) == 1


def test_every_device_compiles_online(device):
    assert device.has(Aspect.ONLINE_COMPILER) and device.has(Aspect.ONLINE_LINKER)
    assert not device.has(123456)


@pytest.mark.behaviour("ASP-22")
def test_aspects_follow_features():
    for aspect, row in ASPECT_ROWS.items():
        features, operations = row.features, row.sub_group_operations
        have = aspects_of(set(features), device_type=4, subgroup_operations=operations, has_timestamps=False)
        assert aspect in have
        if not features:
            continue
        for fewer in itertools.combinations(features, len(features) - 1):
            assert aspect not in aspects_of(
                set(fewer), device_type=4, subgroup_operations=0, has_timestamps=False
            )


def test_limits_have_sycls_order_and_vulkans_minima(device):
    info, limits = device.info, device.physical.limits
    assert info.max_work_item_sizes == tuple(reversed(limits.max_work_group_size))
    assert info.max_work_group_size >= 128 and info.local_mem_size >= 16384
    assert info.sub_group_sizes and all(size & (size - 1) == 0 for size in info.sub_group_sizes)
    assert info.max_mem_alloc_size > 0 and info.name == device.name


def test_target_env_is_within_what_the_compiler_knows(device):
    env = device.target_env
    assert isinstance(env, TargetEnv) and (1, 2) <= env.vulkan_version <= (1, 4)
    assert env.max_push_constant_bytes >= 128


@pytest.mark.device
def test_report_holds_every_device_and_a_reason_for_every_driver():
    report = driver_report()
    assert [record.source for record in report] == ["loader", "embedded"]
    assert all(record.reason for record in report)
    reported = [device for record in report for device in record.devices]
    assert sorted(d.selector for d in reported) == sorted(d.selector for d in lp.devices())


@pytest.mark.parametrize("name", ["f16", "f64", "i8", "u64", "bool"])
def test_arrays_of_any_dtype_exist_on_any_device(device, name):
    dtype = np.dtype({"f16": "f2", "f64": "f8", "i8": "i1", "u64": "u8", "bool": "?"}[name])
    assert lp.ones(3, name, device=device).numpy().dtype == dtype
