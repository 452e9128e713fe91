"""Masked devices: a VkDevice without the features, lower limits in every check, the same object for the same mask."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.aspect_table import ASPECT_ROWS
from lapilli.vk_runtime import sparse_memory
from lapilli.vk_runtime.device_features import FEATURE_STRUCTS
from lapilli.vk_runtime.headers import NULL, bool_members, ffi, structure_type
from lapilli.vk_runtime.masking import LIMIT_NAMES, Mask


@lp.kernel
def doubled(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * 2.0


@lp.kernel
def with_double(x: lp.Array[lp.f64]):
    i = lp.global_id(0)
    x[i] = x[i] * 2.0


@lp.kernel
def add_atomic(x: lp.Array[lp.f32]):
    lp.atomic.add(x, 0, 1.0)


@lp.kernel
def many_scalars(x: lp.Out[lp.f32], a: lp.f32, b: lp.f32, c: lp.f32, d: lp.f32):
    x[lp.global_id(0)] = a + b + c + d


def test_equal_arguments_give_the_same_device(device):
    one = device.masked(without=[lp.Aspect.FP64, lp.Aspect.FP16], limits={"max_work_group_size": 64})
    two = device.masked(without=(lp.Aspect.FP16, lp.Aspect.FP64), limits={"max_work_group_size": 64})
    assert one is two and one == two and hash(one) == hash(two)
    assert one is not device and one != device.masked(without=[lp.Aspect.FP64])
    assert device.masked() is device
    assert device.masked(without=[lp.Aspect.FP64]).masked(without=[lp.Aspect.FP16]) is device.masked(
        without=[lp.Aspect.FP16, lp.Aspect.FP64]
    )
    assert one.masked(limits={"max_work_group_size": 512}) is one


def test_it_is_not_listed_but_has_a_selector(device):
    masked = device.masked(
        without=[lp.Aspect.FP64], limits={"max_work_item_sizes": (1, 2, 64), "sub_group_sizes": ()}
    )
    assert masked not in lp.devices() and masked not in masked.platform.devices
    assert masked.platform == device.platform and masked.name == device.name
    assert lp.device(masked.selector) is masked
    assert lp.device(device.selector) is device


@pytest.mark.behaviour("ASP-22")
@pytest.mark.parametrize("aspect", [*ASPECT_ROWS], ids=lambda a: a.spelling)
def test_the_vkdevice_is_made_without_the_features(device, aspect):
    masked = device.masked(without=[aspect])
    assert not masked.has(aspect)
    row = ASPECT_ROWS[aspect]
    logical = masked.logical
    assert not logical.features & set(row.own_features)
    assert not logical.physical.subgroup_operations & row.sub_group_operations
    x = lp.asarray(np.float32([1, 2, 3]), device=masked)
    doubled[3](x)
    assert x.numpy().tolist() == [2, 4, 6]


class Recording:
    """The driver's functions; keeps what vkCreateDevice was asked for."""

    def __init__(self, functions):
        self.functions = functions
        self.features: set[str] = set()
        self.extensions: set[str] = set()

    def __getattr__(self, name):
        return getattr(self.functions, name)

    def vkCreateDevice(self, physical, info, allocator, out):
        """Reads every feature struct of the pNext chain, as a driver does."""
        structs = {structure_type(item.name): item.name for item in FEATURE_STRUCTS}
        following = ffi.cast("VkBaseOutStructure*", info.pNext)
        while following != NULL:
            if following.sType == structure_type("VkPhysicalDeviceFeatures2"):
                self._note(
                    "VkPhysicalDeviceFeatures", ffi.cast("VkPhysicalDeviceFeatures2*", following).features
                )
            else:
                name = structs.get(following.sType)
                if name is None:
                    assert following.sType in NEWER_THAN_THE_HEADERS
                else:
                    self._note(name, ffi.cast(f"{name}*", following))
            following = following.pNext
        self.extensions = {
            ffi.string(info.ppEnabledExtensionNames[i]).decode() for i in range(info.enabledExtensionCount)
        }
        return self.functions.vkCreateDevice(physical, info, allocator, out)

    def _note(self, name, struct):
        self.features |= {member for member in bool_members(name) if getattr(struct, member)}


@pytest.mark.native_only("no VkDevice is made")
@pytest.mark.behaviour("ASP-22")
@pytest.mark.parametrize("aspect", [lp.Aspect.FP64, lp.Aspect.FP16, lp.Aspect.ATOMIC64, lp.Aspect.VK_INT8])
def test_the_driver_is_not_asked_for_the_features(device, monkeypatch, aspect):
    """What vkCreateDevice gets, read from the structs themselves, with and without the aspect."""
    instance, found = device.physical.instance, {}
    for without in ((), (aspect,)):
        # A limit that nobody else asks for: a VkDevice of its own, made here.
        masked = device.masked(
            without=without, limits={"max_mem_alloc_size": (1 << 29) + 16 * next(_numbers)}
        )
        recording = Recording(instance.vk)
        with monkeypatch.context() as patch:
            patch.setattr(instance, "vk", recording)
            _ = masked.logical
        found[bool(without)] = recording
        x = lp.asarray(np.float32([1, 2, 3]), device=masked)
        doubled[3](x)
        assert x.numpy().tolist() == [2, 4, 6]
    own = set(ASPECT_ROWS[aspect].own_features)
    assert (own & found[False].features == own) is device.has(aspect)
    assert not own & found[True].features
    assert found[True].features <= found[False].features and found[True].features
    assert found[True].extensions <= found[False].extensions


_numbers = itertools.count()
NEWER_THAN_THE_HEADERS = {1000470000, 1000483000}
"""VkStructureType of the structs that `pipeline_binary` declares itself."""


def test_extensions_go_when_nothing_of_them_is_left(device):
    gone = device.masked(without=[lp.Aspect.VK_FLOAT_ATOMIC_MIN_MAX]).physical.extensions
    assert "VK_EXT_shader_atomic_float2" not in gone
    assert gone >= device.physical.extensions - {"VK_EXT_shader_atomic_float2"}


def test_aspects_that_need_a_masked_one_go_too(device):
    masked = device.masked(without=[lp.Aspect.VK_INT64])
    assert not masked.has(lp.Aspect.ATOMIC64)


def test_the_compiler_follows(device):
    masked = device.masked(without=[lp.Aspect.VK_FLOAT_ATOMIC_ADD])
    assert lp.Aspect.VK_FLOAT_ATOMIC_ADD not in masked.target_env.optional_aspects
    x = lp.zeros(1, device=masked)
    add_atomic[100](x)  # by compare and exchange
    assert x.numpy().tolist() == [100]


def test_a_kernel_that_needs_the_aspect_is_refused(device):
    masked = device.masked(without=[lp.Aspect.FP64])
    x = lp.asarray(np.float64([1]), device=masked)
    with pytest.raises(lp.KernelNotSupportedError, match="aspect::fp64"):
        with_double[1](x)
    if device.has(lp.Aspect.FP64):
        y = lp.asarray(np.float64([1]), device=device)
        with_double[1](y)
        assert y.numpy().tolist() == [2]


@pytest.mark.parametrize(
    "aspect",
    [
        lp.Aspect.ONLINE_COMPILER,
        lp.Aspect.ONLINE_LINKER,
        lp.Aspect.CPU,
        lp.Aspect.GPU,
        lp.Aspect.QUEUE_PROFILING,
    ],
)
def test_other_aspects_can_be_hidden_too(device, aspect):
    assert not device.masked(without=[aspect]).has(aspect)


def test_no_aspect_becomes_present(device):
    for aspects in itertools.combinations(list(lp.Aspect)[::5], 2):
        assert device.masked(without=aspects).aspects <= device.aspects - set(aspects)


@pytest.mark.parametrize("name", ["max_work_group_size", "maxComputeWorkGroupInvocations"])
def test_lower_work_group_size(device, name):
    masked = device.masked(limits={name: 16})
    assert masked.info.max_work_group_size == 16
    x = lp.asarray(np.ones(64, np.float32), device=masked)
    doubled[64](x)  # the default local size follows
    with pytest.raises(lp.KernelNotSupportedError, match="16"):
        doubled[lp.NdRange(64, 32)](x)
    assert x.numpy().tolist() == [2] * 64


def test_lower_sizes_have_the_order_of_their_name(device):
    sycl = device.masked(limits={"max_work_item_sizes": (1, 2, 3)})
    vulkan = device.masked(limits={"maxComputeWorkGroupSize": (3, 2, 1)})
    assert sycl.info.max_work_item_sizes == vulkan.info.max_work_item_sizes == (1, 2, 3)
    counts = device.masked(limits={"maxComputeWorkGroupCount": (2, 2, 2)})
    x = lp.asarray(np.ones(10_000, np.float32), device=counts)
    doubled[10_000](x)  # in pieces
    assert x.numpy().tolist() == [2] * 10_000


def test_no_push_constants_at_all(device):
    masked = device.masked(limits={"maxPushConstantsSize": 0})
    x = lp.zeros(4, device=masked)
    many_scalars[4](x, 1.0, 2.0, 3.0, 4.0)
    assert x.numpy().tolist() == [10] * 4


def test_lower_memory(device, monkeypatch):
    if not device.physical.can_bind_sparse:  # 1000 bytes are more with their padding
        monkeypatch.delattr(sparse_memory, "SparseBinding")
    masked = device.masked(limits={"max_mem_alloc_size": 1000, "global_mem_size": 5000, "local_mem_size": 64})
    assert (masked.info.max_mem_alloc_size, masked.info.global_mem_size, masked.info.local_mem_size) == (
        1000,
        5000,
        64,
    )
    with pytest.raises(lp.MemoryAllocationError):
        lp.zeros(1001, lp.u8, device=masked)
    assert lp.zeros(250, device=masked).nbytes == 1000


def test_too_few_buffers(device):
    masked = device.masked(limits={"maxPerStageDescriptorStorageBuffers": 0})
    with pytest.raises(lp.KernelNotSupportedError, match="storage buffers"):
        doubled[1](lp.zeros(1, device=masked))


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("max_work_group_size", 0, "max_work_group_size"),
        ("max_work_item_sizes", (0, 0, 0), "max_work_item_sizes"),
        ("maxComputeWorkGroupCount", (0, 0, 0), "maxComputeWorkGroupCount"),
    ],
)
def test_a_device_that_runs_no_work_group_says_so(device, name, value, match):
    masked = device.masked(limits={name: value})
    x = lp.zeros(8, device=masked)
    with pytest.raises(lp.KernelNotSupportedError, match=match):
        doubled[8](x)
    assert not x.numpy().any()


def test_a_higher_value_changes_nothing(device):
    masked = device.masked(limits={"max_work_group_size": 1 << 40, "max_work_item_sizes": (1 << 40,) * 3})
    assert masked.info == device.info


def test_a_limit_may_be_named_by_an_object(device):
    class Descriptor:
        name = "max_work_group_size"

    assert device.masked(limits={Descriptor(): 8}) is device.masked(limits={"max_work_group_size": 8})


@pytest.mark.parametrize(
    "arguments",
    [
        {"limits": {"max_image_size": 3}},
        {"limits": {"max_work_group_size": -1}},
        {"limits": {"max_work_group_size": 2.5}},
        {"limits": {"max_work_group_size": True}},
        {"limits": {"max_work_item_sizes": 3}},
        {"limits": {"max_work_item_sizes": (1, 2)}},
        {"limits": {"sub_group_sizes": ("8",)}},
        {"limits": [("max_work_group_size", 1)]},
        {"without": lp.Aspect.FP64},
        {"without": "fp64"},
        {"without": ["fp64"]},
        {"without": [123456]},
        {"without": [None]},
        {"without": 6},
    ],
)
def test_what_is_no_mask(device, arguments):
    with pytest.raises(lp.InvalidError, match="masked"):
        device.masked(**arguments)


def test_arrays_copy_between_masked_and_plain_devices(device):
    masked = device.masked(without=[lp.Aspect.FP64])
    there = lp.asarray(np.arange(5, dtype=np.float32), device=masked)
    here = lp.zeros(5, device=device)
    here.copy_from(there)
    assert here.numpy().tolist() == [0, 1, 2, 3, 4] and there.device is masked


@pytest.mark.device
def test_masks_have_a_text_that_reads_back():
    values = dict.fromkeys(LIMIT_NAMES, 7)
    values |= {"max_work_item_sizes": (1, 2, 3), "maxComputeWorkGroupSize": (3, 2, 1)}
    values |= {"maxComputeWorkGroupCount": (4, 5, 6), "sub_group_sizes": (8, 16)}
    mask = Mask.checked(list(lp.Aspect), values)
    assert Mask.parsed(str(mask)) == mask
    with pytest.raises(lp.InvalidError, match="no aspect 'fp65'"):
        lp.device(f"{lp.devices()[0].selector}[-fp65]")
    with pytest.raises(lp.InvalidError, match="max_work_group_size"):
        lp.device(f"{lp.devices()[0].selector}[max_work_group_size=]")


@pytest.mark.device
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("fp64, VK_INT64", "False False True True"),
        ("nonsense", "InvalidError"),
        ("", "{fp64} {int64} True True"),
    ],
)
def test_aspects_disabled_by_the_environment(value, expected):
    program = (
        "import lapilli as lp\n"
        "try:\n"
        "    d = lp.devices()[0]\n"
        "    print(d.has(lp.Aspect.FP64), d.has(lp.Aspect.VK_INT64), d.has(lp.Aspect.ONLINE_COMPILER),"
        " lp.device(d.selector) is d and '[' not in d.selector)\n"
        "except lp.Error as error:\n"
        "    print(type(error).__name__)\n"
    )
    env = {**os.environ, "LAPILLI_DISABLE_ASPECTS": value}
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, env=env, timeout=60, check=True
    )
    best = lp.devices()[0]
    wanted = expected.format(fp64=best.has(lp.Aspect.FP64), int64=best.has(lp.Aspect.VK_INT64))
    assert done.stdout.strip() == wanted
