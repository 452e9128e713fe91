"""Native code through VK_KHR_pipeline_binary: with a stand-in everywhere, and with the driver where it has it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.ir.errors import InvalidError
from lapilli.spirv.lpk import LpkFile
from lapilli.vk_runtime import native_code, native_pipelines
from lapilli.vk_runtime.headers import NULL, ffi
from lapilli.vk_runtime.native_code import PIPELINE_BINARY, PIPELINE_CACHE
from lapilli.vk_runtime.native_pipelines import decoded, encoded
from lapilli.vk_runtime.pipeline import PipelineStore
from lapilli.vk_runtime.pipeline_binary import PipelineBinary
from lapilli.vk_runtime.pipeline_binary_feature import has_pipeline_binaries

from .hostile import joined, split
from .stand_in import MISSING, OUT_OF_DEVICE_MEMORY, StandIn
from .test_loading import launch


@pytest.fixture
def stand_in(monkeypatch, device, fresh):
    """The extension for both devices, which have made no pipeline yet."""
    if has_pipeline_binaries(device.physical):
        pytest.skip("the driver has the extension itself, and takes no handles of a stand-in")
    made = StandIn()
    set_support(monkeypatch, True)
    monkeypatch.setattr(native_pipelines, "functions_of", made.functions)
    for used in (device, fresh):
        monkeypatch.setattr(used.logical, "pipelines", PipelineStore(used.logical))
    return made


def set_support(monkeypatch, is_there):
    for module in (native_code, native_pipelines):
        monkeypatch.setattr(module, "has_pipeline_binaries", lambda device: is_there)


@pytest.fixture
def fresh(device):
    """Another VkDevice on the hardware."""
    return device.masked(without=[lp.Aspect.VK_COOPERATIVE_MATRIX])


def kinds(file) -> set[str]:
    return {image.native.kind for image in LpkFile.open(file).header.images if image.native is not None}


def launched_format(device, file) -> str:
    """The format that 'scaled' was launched from."""
    bundle = lp.load_kernel_bundle(lp.Context([device]), file)
    assert launch(device, bundle, "scaled") == 10.0
    return bundle.image_of(bundle.get_kernel("scaled").kernel_id, device).format


@pytest.fixture
def file(project, device, stand_in):
    """A bundle file with pipeline binaries of the stand-in."""
    path = project.folder / "kernels.lpk"
    project.build("-o", path, "--targets", device.selector)
    assert kinds(path) == {PIPELINE_BINARY}
    return path


@pytest.mark.device
@pytest.mark.behaviour("AOT-11", "AOT-12")
def test_pipelines_are_captured_and_released(file, stand_in, device):
    header = LpkFile.open(file).header
    pipelines = {}
    for image in header.images:
        if image.native is not None:
            assert image.target == device.selector
            key, found = decoded(LpkFile.open(file).blob(image.native_code))
            assert key == stand_in.key
            pipelines |= found
    able = 4 if device.has(lp.Aspect.FP64) else 3
    assert len(pipelines) == len(stand_in.captured) == able
    assert stand_in.released == stand_in.captured and not stand_in.living
    assert all(len(binaries) == 2 for binaries in pipelines.values())


@pytest.mark.device
@pytest.mark.behaviour("AOT-13")
def test_the_code_is_given_back_to_the_driver(file, stand_in, fresh, monkeypatch):
    made = []
    create = fresh.logical.vk.vkCreateComputePipelines

    def spy(device, cache, count, info, allocator, out):
        following = ffi.cast("VkBaseInStructure*", info.pNext)
        made.append((cache == NULL, following != NULL and int(ffi.cast("int", following.sType))))
        return create(device, cache, count, info, allocator, out)

    monkeypatch.setattr(fresh.logical.vk, "vkCreateComputePipelines", spy)
    assert launched_format(fresh, file) == "native"
    assert made and set(made) == {(True, 1000483002)}  # VkPipelineBinaryInfoKHR, which allows no cache
    header = LpkFile.open(file).header
    number = next(i.native_code for i in header.images if i.native is not None)
    _, pipelines = decoded(LpkFile.open(file).blob(number))
    assert stand_in.opened and set(stand_in.opened) <= {b for found in pipelines.values() for b in found}
    assert not stand_in.living


@pytest.mark.device
@pytest.mark.behaviour("AOT-13")
@pytest.mark.parametrize("refusal", [MISSING, OUT_OF_DEVICE_MEMORY, -3, 5])
def test_code_that_the_driver_does_not_take_is_compiled(file, stand_in, fresh, refusal):
    stand_in.refusal = refusal
    assert launched_format(fresh, file) == "native"
    assert not stand_in.opened and not stand_in.living


@pytest.mark.device
@pytest.mark.behaviour("AOT-13")
def test_code_under_another_global_key_is_left_alone(file, stand_in, fresh):
    stand_in.key = b"driver 2"
    assert launched_format(fresh, file) == "native"  # of the SPIR-V beside it
    assert not stand_in.opened


@pytest.mark.device
@pytest.mark.behaviour("AOT-13")
def test_a_driver_without_the_extension_takes_the_spirv(file, fresh, monkeypatch):
    set_support(monkeypatch, False)
    assert launched_format(fresh, file) == "spirv"


@pytest.mark.device
@pytest.mark.parametrize("change", ["cut", "longer", "empty"])
def test_damaged_containers_are_left_alone(file, stand_in, fresh, change):
    header, code = split(file.read_bytes())
    for image in header["images"]:
        if image["native"] is not None:
            blob = header["blobs"][image["native_code"]]
            start, size = blob["offset_bytes"], blob["size_bytes"]
            data = {
                "cut": code[start : start + size - 8] + b"\xff" * 8,
                "longer": struct.pack("<I", 0xFFFFFFF0) + code[start + 4 : start + size],
                "empty": bytes(size),
            }[change]
            code = code[:start] + data + code[start + size :]
    file.write_bytes(joined(header, code))
    assert launched_format(fresh, file) == "native"


@pytest.mark.device
@pytest.mark.parametrize("result", [OUT_OF_DEVICE_MEMORY, MISSING])
def test_where_capturing_fails_a_pipeline_cache_is_made(project, device, stand_in, result):
    stand_in.capture_result = result
    path = project.folder / "kernels.lpk"
    project.build("-o", path, "--targets", device.selector)
    assert kinds(path) == {PIPELINE_CACHE}


KEY = st.binary(max_size=8) | st.just(bytes(32))
BINARY = st.builds(PipelineBinary, KEY, st.binary(max_size=16))
DIGEST = st.integers(0, 255).map(lambda number: bytes([number]) * 32)
PIPELINES = st.dictionaries(DIGEST, st.lists(BINARY, max_size=2).map(tuple), max_size=3)
unhurried = settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@unhurried
@given(key=KEY, pipelines=PIPELINES)
def test_containers_come_back(key, pipelines):
    assert decoded(encoded(key, pipelines)) == (key, pipelines)


@unhurried
@given(key=KEY, pipelines=PIPELINES, data=st.data())
def test_changed_containers_are_errors_or_containers(key, pipelines, data):
    whole = bytearray(encoded(key, pipelines))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    del whole[data.draw(st.integers(0, len(whole))) :]
    try:
        decoded(bytes(whole))
    except InvalidError as error:
        assert "native code" in str(error)


@pytest.mark.device
@pytest.mark.behaviour("AOT-13")
def test_the_real_driver_takes_its_own_code(project, device):
    """What the stand-in cannot show; runs where the driver has VK_KHR_pipeline_binary."""
    if not has_pipeline_binaries(device.physical):
        pytest.skip("the driver lacks VK_KHR_pipeline_binary")
    path = project.folder / "kernels.lpk"
    project.build("-o", path, "--targets", device.selector)
    assert kinds(path) == {PIPELINE_BINARY}
    other = device.masked(without=[lp.Aspect.VK_COOPERATIVE_MATRIX])
    for used in (device, other):
        assert launched_format(used, path) == "native"
        functions = used.logical.pipelines.native.functions
        assert functions is not None
        for image in LpkFile.open(path).header.images:
            if image.native is not None:
                key, pipelines = decoded(LpkFile.open(path).blob(image.native_code))
                assert key == functions.global_key() and pipelines
                for binaries in pipelines.values():
                    with functions.opened(binaries):
                        pass
