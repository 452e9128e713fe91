"""The device configuration: the default one tells the truth, users' files merge, and bad ones are refused by name."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.ir.aspects import Aspect
from lapilli.ir.device_config import (
    DEFAULT_FILE,
    MAX_BYTES,
    DeviceConfig,
    Target,
    default_device_config,
    device_config,
    load_device_config,
    parse_device_config,
)

CONFIG = default_device_config()


def merged(data: object) -> DeviceConfig:
    return CONFIG.merged(json.loads(json.dumps(data)), "test.json")


def test_every_fact_of_the_default_has_a_source():
    vendors = {target.device.split(":")[0] for target in CONFIG.targets.values() if target.device}
    assert {"10005", "1ae0", "10de", "1002", "8086", "5143", "14e4"} <= vendors
    gpus = [
        target for target in CONFIG.targets.values() if target.aspects and lp.Aspect.GPU in target.aspects
    ]
    assert len(gpus) >= 9 and len(gpus) + 2 == len(CONFIG.targets)
    for target in CONFIG.targets.values():
        assert "*" in target.sources
        assert target.aspects and target.sub_group_sizes and target.max_work_group_size and target.vulkan


def test_the_documents_name_every_target():
    text = (Path(__file__).resolve().parents[2] / "docs" / "optional-features.md").read_text("utf-8")
    assert [name for name in CONFIG.targets if f"`{name}`" not in text] == []


@pytest.mark.behaviour("FT-07")
def test_every_target_has_an_aspect_number_of_its_own():
    numbers = list(CONFIG.numbers.values())
    assert len(set(numbers)) == len(numbers)
    assert not set(numbers) & set(lp.Aspect)
    for name, number in CONFIG.numbers.items():
        assert CONFIG.name_of(number) == name
    assert CONFIG.name_of(int(lp.Aspect.FP64)) is None


def test_the_software_drivers_are_described_as_they_are(device):
    target = CONFIG.targets.get(device.selector)
    if target is None:
        pytest.skip(f"{device.selector} is no software driver")
    if device.selector == "lavapipe" and "Mesa 22.3" not in device.info.driver_version:
        pytest.skip("another Mesa than the one described")
    assert target.aspects == device.aspects
    assert target.max_work_group_size == device.info.max_work_group_size
    assert target.max_work_item_sizes == device.info.max_work_item_sizes
    assert device.physical.api_version >= target.vulkan


def test_users_files_merge_member_by_member(tmp_path: Path):
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(
        json.dumps({"targets": {"mine": {"aspects": ["fp64", "vk_int8"], "max_work_group_size": 64}}})
    )
    two.write_text(
        json.dumps({"targets": {"mine": {"max_work_group_size": 32}, "lavapipe": {"sub_group_sizes": [4]}}})
    )
    config = load_device_config(one, two)
    mine, lavapipe = config.target("mine"), config.target("lavapipe")
    assert mine.aspects == {lp.Aspect.FP64, lp.Aspect.VK_INT8} and mine.max_work_group_size == 32
    assert mine.sub_group_sizes is None and mine.device is None
    assert lavapipe.sub_group_sizes == (4,) and lavapipe.aspects == CONFIG.target("lavapipe").aspects
    assert load_device_config() is CONFIG


def test_what_is_absent_is_not_checked():
    target = merged({"targets": {"anything": {}}}).target("anything")
    assert target.lacking(range(100)) == ()
    assert target.has_sub_group_size(7) and target.has_work_group_size((1 << 40, 3))


def test_checks_of_what_is_there():
    target = merged(
        {
            "targets": {
                "t": {
                    "aspects": ["fp64", 77],
                    "sub_group_sizes": [8, 16],
                    "max_work_group_size": 256,
                    "max_work_item_sizes": [4, 64, 128],
                }
            }
        }
    ).target("t")
    assert target.lacking({6, 5, 77, -1}) == (5,)
    assert target.has_sub_group_size(16) and not target.has_sub_group_size(32)
    assert target.has_work_group_size((128,)) and not target.has_work_group_size((129,))
    assert target.has_work_group_size((4, 1, 64)) and not target.has_work_group_size((5, 1, 1))
    assert not target.has_work_group_size((4, 64, 2))  # 512 work-items


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected an object"),
        ({"target": {}}, "members among targets"),
        ({"targets": []}, "expected an object"),
        ({"targets": {"a b": {}}}, "names of up to 64"),
        ({"targets": {"x" * 65: {}}}, "names of up to 64"),
        ({"targets": {"t": {"apsects": []}}}, "'apsects'"),
        ({"targets": {"t": {"aspects": "fp64"}}}, "a list"),
        ({"targets": {"t": {"aspects": ["fp65"]}}}, "aspects by name"),
        ({"targets": {"t": {"aspects": [True]}}}, "an integer"),
        ({"targets": {"t": {"aspects": ["fp64"] * 257}}}, "at most 256"),
        ({"targets": {"t": {"sub_group_sizes": [0]}}}, "from 1"),
        ({"targets": {"t": {"max_work_group_size": 1.5}}}, "an integer"),
        ({"targets": {"t": {"max_work_group_size": 1 << 32}}}, "an integer"),
        ({"targets": {"t": {"max_work_item_sizes": [1, 2]}}}, "three sizes"),
        ({"targets": {"t": {"vulkan": 1.3}}}, "a version"),
        ({"targets": {"t": {"vulkan": "9.9"}}}, "a version"),
        ({"targets": {"t": {"device": "lavapipe"}}}, "hexadecimal"),
        ({"targets": {"t": {"features": ["no feature"]}}}, "names of Vulkan features"),
        ({"targets": {"t": {"source": 3}}}, "an object"),
        ({"targets": {"t": {"source": {"aspects": 3}}}}, "texts"),
        ({"targets": {"t": {"aspect_number": 0}}}, "from 1"),
        ({"targets": {"t": {"aspect_number": 6}}}, "that no aspect has, found 6, which is 'fp64'"),
        ({"targets": {"t": {"aspect_number": 0x10000}}}, "'vk_int8'"),
        ({"targets": {"t": {"aspect_number": 0x20000}}}, "target 'lavapipe'"),
        ({"targets": {str(i): {} for i in range(4097)}}, "4096 targets"),
    ],
)
def test_a_wrong_configuration_is_refused_by_name(data, message):
    with pytest.raises(lp.InvalidError, match=message) as caught:
        merged(data)
    assert "test.json" in str(caught.value)


@pytest.mark.parametrize("number", [7, 1000, 0x10FFF, 0xFFFFFFFF])
def test_a_target_may_have_any_number_that_no_aspect_has(number):
    assert merged({"targets": {"t": {"aspect_number": number}}}).name_of(number) == "t"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b'{"targets": {}, "targets": {}}',
        b'{"targets": {"t": {"max_work_group_size": NaN}}}',
        b"[" * 100_000,
        b"1" * 5000,
    ],
)
def test_what_is_no_json(data):
    with pytest.raises(lp.InvalidError):
        CONFIG.merged(parse_device_config(data, "test.json"), "test.json")


def test_files_are_bounded(tmp_path: Path):
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(lp.InvalidError, match="at most"):
        load_device_config(large)
    with pytest.raises(lp.InvalidError, match="cannot be read"):
        load_device_config(tmp_path / "none.json")
    with pytest.raises(lp.InvalidError, match="cannot be read"):
        load_device_config(tmp_path)


def test_an_unknown_target_lists_the_known_ones():
    with pytest.raises(lp.InvalidError, match="lavapipe"):
        CONFIG.target("lavapip")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["targets", "t", "aspects", "device", "source", "vulkan", "sub_group_sizes", "x"]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(_JSON)
def test_any_json_gives_a_configuration_or_an_invalid_error(data):
    with contextlib.suppress(lp.InvalidError):
        assert isinstance(CONFIG.merged(data, "fuzz"), DeviceConfig)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.data())
def test_damaged_files_give_a_configuration_or_an_invalid_error(data):
    content = bytearray(DEFAULT_FILE.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    with contextlib.suppress(lp.InvalidError):
        DeviceConfig({}).merged(parse_device_config(bytes(content), "fuzz"), "fuzz")


def test_the_option_adds_targets_to_the_configuration_in_force(tmp_path: Path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"targets": {"mine": {}}}), "utf-8")
    with lp.config.override(device_config=str(file)):
        assert "mine" in device_config().targets
    assert "mine" not in device_config().targets


def test_vendor_aspects_are_judged_where_a_target_names_some() -> None:
    of_half_arrays = {Aspect.FP16, Aspect.VK_STORAGE_16BIT}
    names_sycls = Target(name="x", aspect_number=1, aspects=frozenset({Aspect.FP16}))
    assert names_sycls.lacking(of_half_arrays | {Aspect.FP64}) == (Aspect.FP64,)
    names_vendors = Target(name="x", aspect_number=1, aspects=frozenset({Aspect.FP16, Aspect.VK_INT8}))
    assert names_vendors.lacking(of_half_arrays) == (Aspect.VK_STORAGE_16BIT,)
