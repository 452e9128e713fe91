"""What the objects of a kernel and the commands of a queue are in Vulkan."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)

    @lp.kernel(local_size=4)
    def everything(
        source: lp.In[lp.f32],
        constant: lp.In[lp.f32, 1, lp.Target.CONSTANT_BUFFER],
        target: lp.Out[lp.f32],
        shared: lp.LocalArray[lp.f32],
        out: lp.Stream,
    ):
        own = lp.private.array(4, lp.f32)
        i, j = lp.global_id(0), lp.local_id(0)
        shared[j] = source[i]
        own[j] = 2.0
        lp.barrier()
        target[i] = shared[3 - j] * own[j] + constant[i]
        out << i << out.endl


@pytest.mark.behaviour("IOP-41", "MEM-01")
def test_parameters_are_variables_of_the_native_storage_classes():
    text = everything.inspect("spirv")
    found = dict(re.findall(r"%everything_(\w+) = OpVariable %\S+ (\w+)", text))
    assert found == {
        "source": "StorageBuffer",
        "constant": "Uniform",
        "target": "StorageBuffer",
        "shared": "Workgroup",
        "report": "StorageBuffer",  # of the stream
        "arguments": "PushConstant",
    }


@pytest.mark.behaviour("IOP-42")
def test_every_access_has_a_pointer_of_its_memory():
    """A pointer to an element has the type of the element and the storage class of the memory."""
    text = everything.inspect("spirv-dialect")
    names = dict(
        re.findall(r'(%\w+) = "spirv.mlir.addressof"\(\) <\{variable = @everything\.(\w+)', text)
        + [(name, "own") for name in re.findall(r'(%\w+) = "spirv.Variable".*!spirv.array<4 x f32>', text)]
    )
    chains = re.findall(r'"spirv.AccessChain"\((%\w+),.*-> !spirv.ptr<(\S+), (\w+)>', text)
    found = {names[base]: (element, storage) for base, element, storage in chains}
    assert found == {
        "source": ("f32", "StorageBuffer"),
        "constant": ("vector<4xf32>", "Uniform"),
        "target": ("f32", "StorageBuffer"),
        "shared": ("f32", "Workgroup"),
        "own": ("f32", "Function"),
        "report": ("i32", "StorageBuffer"),
        "arguments": ("i32", "PushConstant"),
    }


@lp.kernel
def double(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = 2.0 * x[i]


_SPIED = ("vkCmdDispatch", "vkCmdCopyBuffer", "vkQueueSubmit")


@pytest.mark.native_only
@pytest.mark.behaviour("MEM-04")
def test_commands_are_native_commands(device: lp.Device):
    """Launches and copies are recorded into a VkCommandBuffer, which a VkQueue gets."""
    fresh = device.masked(limits={"maxComputeWorkGroupCount": (1 << 14, 77, 77)})  # a VkDevice of its own
    functions: Any = fresh.logical.vk
    calls: Counter[str] = Counter()

    def spied(name: str) -> Any:
        native = getattr(functions, name)

        def call(*args: Any) -> Any:
            calls[name] += 1
            return native(*args)

        return call

    for name in _SPIED:
        setattr(functions, name, spied(name))
    queue = lp.Queue(fresh)
    x, y = lp.zeros(64, device=fresh, queue=queue), lp.empty(64, device=fresh, queue=queue)
    queue.fill(x, 3.0)
    before = calls.copy()
    double[64].on(queue)(x)
    queue.copy(x, y)
    assert calls["vkCmdDispatch"] == before["vkCmdDispatch"] + 1
    assert calls["vkCmdCopyBuffer"] == before["vkCmdCopyBuffer"] + 1
    queue.wait()
    assert calls["vkQueueSubmit"] > before["vkQueueSubmit"]
    np.testing.assert_array_equal(y.numpy(), np.full(64, 6))
