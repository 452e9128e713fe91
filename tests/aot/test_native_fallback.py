"""Native code that is of another driver, or damaged: the SPIR-V takes its place."""

from __future__ import annotations

import json

import pytest

import lapilli as lp

from .hostile import joined, split
from .test_loading import launch

pytestmark = pytest.mark.device


@pytest.fixture
def native(project, device):
    """A file with SPIR-V and native code for the device."""
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", device.selector)
    return file


def chosen_format(device, context, file):
    bundle = lp.load_kernel_bundle(context, file)
    assert launch(device, bundle, "scaled") == 10.0
    return bundle.image_of(bundle.get_kernel("scaled").kernel_id, device).format


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("driver_uuid", "00" * 16),
        ("cache_uuid", "ff" * 16),
        ("driver_version", 12345),
        ("device_id", 1),
        ("vendor_id", 1),
        ("kind", "something newer"),
    ],
)
@pytest.mark.behaviour("AOT-13", "GKB-17")
def test_code_of_another_driver_is_left_alone(native, device, context, field, value):
    assert chosen_format(device, context, native) == "native"
    header, code = split(native.read_bytes())
    for image in header["images"]:
        if image["native"] is not None:
            image["native"][field] = value
    native.write_bytes(joined(header, code))
    assert chosen_format(device, context, native) == "spirv"


@pytest.mark.behaviour("AOT-13")
def test_code_goes_with_the_model_of_a_device_and_not_with_one_card(native, device, context):
    """Another card of the model has another deviceUUID, and the same driver reads the same code."""
    header, code = split(native.read_bytes())
    for image in header["images"]:
        if image["native"] is not None:
            assert bytes.fromhex(image["native"]["device_uuid"]) == device.physical.device_uuid
            image["native"]["device_uuid"] = "ab" * 16
    native.write_bytes(joined(header, code))
    assert chosen_format(device, context, native) == "native"


@pytest.mark.behaviour("AOT-13", "GKB-17")
def test_damaged_native_code_is_left_alone(native, device, context):
    header, code = split(native.read_bytes())
    data = bytearray(native.read_bytes())
    for number in {image["native_code"] for image in header["images"] if image["native"] is not None}:
        data[len(data) - len(code) + header["blobs"][number]["offset_bytes"]] ^= 1
    native.write_bytes(data)
    assert chosen_format(device, context, native) == "spirv"


def test_a_cache_that_is_none_is_not_given_to_the_driver(native, device, context):
    """The checksum is right, the header of the cache is not this driver's."""
    header, code = split(native.read_bytes())
    changed = bytearray(code)
    for image in header["images"]:
        if image["native"] is not None:
            blob = header["blobs"][image["native_code"]]
            changed[blob["offset_bytes"] + 16 : blob["offset_bytes"] + 32] = bytes(16)
    native.write_bytes(joined(header, bytes(changed)))
    assert chosen_format(device, context, native) == "native"  # compiled anew by the driver


def test_native_code_can_be_turned_off(native, device, context):
    with lp.config.override(native_images=False):
        assert chosen_format(device, context, native) == "spirv"


@pytest.mark.behaviour("AOT-13")
def test_neither_native_code_nor_spirv_is_an_error_that_says_so(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", device.selector, "--no-spirv")
    header, code = split(file.read_bytes())
    for image in header["images"]:
        if image["native"] is not None:
            image["native"]["driver_version"] = 12345
    file.write_bytes(joined(json.loads(json.dumps(header)), code))
    bundle = lp.load_kernel_bundle(context, file)
    assert len(bundle) == 0
    with pytest.raises(lp.KernelNotSupportedError, match="neither SPIR-V") as caught:
        bundle.get_kernel("scaled")
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED


@pytest.mark.behaviour("AOT-15", "RT-11", "RT-01")
def test_kernels_without_code_for_their_target_say_what_they_need(project, device):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", "swiftshader", "--no-spirv")
    lesser = device.masked(without=[lp.Aspect.FP64])
    bundle = lp.load_kernel_bundle(lp.Context([lesser]), file)
    with pytest.raises(
        lp.KernelNotSupportedError,
        match=r"Kernel uses optional feature corresponding to 'aspect::fp64' but device does not support this aspect.",
    ):
        bundle.get_kernel("doubled")
