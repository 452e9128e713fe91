"""The hand-written constants equal the headers', and structs keep alive what they point to."""

from __future__ import annotations

import gc
import importlib.util
import sys
import zipfile
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.ir.aspect_table import ASPECT_ROWS
from lapilli.vk_runtime import constants, headers
from lapilli.vk_runtime.device_features import (
    FEATURE_STRUCTS,
    REQUIRED_FEATURES,
    USED_FEATURES,
)
from lapilli.vk_runtime.errors import check, result_name
from lapilli.vk_runtime.headers import bool_members, chain, ffi, make, structure_type

_ENUMERATIONS = {
    value_name: value
    for name in ffi.list_types()[0]
    if name.startswith("Vk") and ffi.typeof(name).kind == "enum"
    for value_name, value in ffi.typeof(name).relements.items()
}


@pytest.mark.parametrize("name", [name for name in vars(constants) if name.startswith("VK_")])
def test_constant_equals_the_header(name):
    assert getattr(constants, name) == _ENUMERATIONS[name]


def test_used_features_are_members_of_the_structs_that_are_asked():
    known = set(bool_members("VkPhysicalDeviceFeatures"))
    for struct in FEATURE_STRUCTS:
        assert structure_type(struct.name) is not None
        known |= set(bool_members(struct.name))
    assert known >= USED_FEATURES - {"pipelineBinaries"}  # `pipeline_binary_feature` declares it
    assert set(REQUIRED_FEATURES) <= USED_FEATURES
    named = {name for row in ASPECT_ROWS.values() for name in row.features}
    assert named - USED_FEATURES == {"shaderBFloat16Type"}  # the headers do not know its struct


def test_make_sets_the_structure_type_and_keeps_what_fields_point_to():
    info = make("VkApplicationInfo", pEngineName=ffi.new("char[]", b"a name of some length"))
    gc.collect()
    junk = [ffi.new("char[]", b"x" * 22) for _ in range(100)]
    assert info.sType == 0 and ffi.string(info.pEngineName) == b"a name of some length"
    del junk


def test_chain_links_in_order():
    first, second = make("VkPhysicalDeviceFeatures2"), make("VkPhysicalDeviceVulkan12Features")
    assert chain(first, second) is first
    assert first.pNext == ffi.cast("void*", second) and second.pNext == ffi.NULL


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (constants.VK_ERROR_OUT_OF_DEVICE_MEMORY, lp.MemoryAllocationError),
        (constants.VK_ERROR_DEVICE_LOST, lp.DeviceLostError),
        (constants.VK_ERROR_INCOMPATIBLE_DRIVER, lp.RuntimeFailure),
        (-12345, lp.RuntimeFailure),
    ],
)
def test_vk_result_becomes_the_documented_class(result, error):
    with pytest.raises(error, match="vkDoThing") as caught:
        check(result, "vkDoThing", "some device")
    assert "some device" in str(caught.value) and result_name(result) in str(caught.value)


def test_status_codes_pass():
    check(constants.VK_SUCCESS, "vkDoThing")
    check(constants.VK_TIMEOUT, "vkDoThing")


def test_structure_types_are_those_of_the_enumeration():
    by_name = {
        name.removeprefix("VK_STRUCTURE_TYPE_").replace("_", "").lower(): value
        for name, value in _ENUMERATIONS.items()
        if name.startswith("VK_STRUCTURE_TYPE_")
    }
    structs = [
        name for name in ffi.list_types()[0] if name.startswith("Vk") and ffi.typeof(name).kind == "struct"
    ]
    found = {name: structure_type(name) for name in structs}
    assert found == {name: by_name.get(name.removeprefix("Vk").lower()) for name in structs}
    assert (found["VkSubmitInfo"], found["VkBufferCopy"]) == (4, None)


def test_the_enumeration_is_not_looked_through_for_usual_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(headers, "_structure_types", dict)
    structure_type.cache_clear()
    try:
        assert [structure_type(struct.name) for struct in FEATURE_STRUCTS].count(None) == 0
        assert structure_type("VkPhysicalDeviceVulkan13Features") == 53
        assert structure_type("VkPhysicalDevice16BitStorageFeatures") is None  # which is no usual one
    finally:
        structure_type.cache_clear()


def test_the_types_are_found_in_a_zip_file(tmp_path, monkeypatch):
    package = importlib.util.find_spec("vulkan")
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        for path in Path(package.origin).parent.glob("*.py"):
            archive.write(path, f"vulkan/{path.name}")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages.zip")])
    monkeypatch.delitem(sys.modules, "vulkan", raising=False)
    assert headers._load_ffi().sizeof("VkBuffer") == ffi.sizeof("VkBuffer")


def test_a_damaged_package_of_types_is_named(tmp_path, monkeypatch):
    (tmp_path / "vulkan").mkdir()
    (tmp_path / "vulkan" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "vulkan", raising=False)
    with pytest.raises(lp.RuntimeFailure, match=r"vulkan has no module _vulkancache; reinstall it"):
        headers._load_ffi()
