"""A Vulkan driver in Python: the functions of one device behind the runtime's own table of function pointers.

The runtime looks functions up with vkGetDeviceProcAddr and calls C function pointers, as it does with any driver; here
these lead to the methods of `FakeDriver` of the same names.  It computes nothing but copies and fills.  What it does:

- fails: `inject` makes the n-th call of a function return any VkResult, without doing anything;
- runs nothing before somebody waits or asks, so that whatever is destroyed too early is seen to be in use;
- notes in `violations` what a driver may crash on: objects that are destroyed twice, used after that, destroyed while
  commands use them, commands in a command buffer of the wrong state, timeline semaphores that do not count up, and
  objects that outlive their device.

After VK_ERROR_DEVICE_LOST nothing runs any more, and every call that can say so returns it (Vulkan 1.3, 5.2.3).
"""

from __future__ import annotations

import inspect
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from lapilli.vk_runtime.constants import VK_ERROR_DEVICE_LOST, VK_TIMEOUT
from lapilli.vk_runtime.headers import NULL, address_of, ffi

HEAP_BYTES = 32 << 20
ALIGNMENT, SPARSE_ALIGNMENT = 16, 1 << 16
SPARSE = 0x1
"""VK_BUFFER_CREATE_SPARSE_BINDING_BIT."""
SIMULTANEOUS = 0x4
"""VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT."""

TELLS_LOSS = frozenset(
    {
        "vkQueueSubmit",
        "vkWaitSemaphores",
        "vkGetSemaphoreCounterValue",
        "vkDeviceWaitIdle",
        "vkGetQueryPoolResults",
    }
)
"""Functions that return VK_ERROR_DEVICE_LOST once the device is lost."""


@dataclass(eq=False)
class Object:
    """A Vulkan object that the driver has made."""

    kind: str
    handle: int
    content: Any = None
    """What it consists of: bytes of memory, commands of a command buffer, the value of a semaphore."""
    uses: set[Object] = field(default_factory=set)
    """What must live as long as somebody may use this."""
    state: str = ""
    """Of a command buffer: initial, recording, executable."""
    is_simultaneous: bool = False
    """Whether a command buffer may be submitted while it runs."""


@dataclass(eq=False)
class Submission:
    """Command buffers that wait to be run."""

    buffers: list[Object]
    waits: list[tuple[Object, int]]
    signals: list[tuple[Object, int]]
    binds: list[tuple[Object, list[tuple[int, Object, int, int]]]] = field(default_factory=list)
    """Buffers with the parts of memory that are put under them: offset, memory, offset in it, size."""

    def used(self) -> set[Object]:
        """Everything that running it touches."""
        found: set[Object] = set()
        todo = [*self.buffers, *(s for s, _ in self.waits), *(s for s, _ in self.signals)]
        for buffer, parts in self.binds:
            todo += [buffer, *(memory for _, memory, _, _ in parts)]
        while todo:
            item = todo.pop()
            if item not in found:
                found.add(item)
                todo.extend(item.uses)
        return found


class FakeDriver:
    """See the module.  Must outlive every device that is made of it: it owns the function pointers."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.violations: list[str] = []
        self.is_lost = False
        self.is_hung = False
        """Whether nothing that is submitted ever ends."""
        self.is_slow = False
        """Whether waiting ends without a result, and each question for a semaphore lets one submission end."""
        self.living: dict[int, Object] = {}
        self.made = 0
        """How many calls have made something."""
        self.behind: dict[int, Callable[[], None]] = {}
        """What is called right behind such a call, by how many there were then."""
        self._faults: dict[tuple[str, int], int] = {}
        self._handles = itertools.count(0x1000, 16)
        self._pending: list[Submission] = []
        self._ticks = itertools.count(1, 50)
        self._pools: defaultdict[Object, list[Object]] = defaultdict(list)
        self._pointers: dict[str, Any] = {}
        names = [
            name for name, _ in inspect.getmembers(type(self), inspect.isfunction) if name.startswith("vk")
        ]
        for name in names:
            self._pointers[name] = ffi.callback(f"PFN_{name}", self._entry(name))
        self.instance: Any = SimpleNamespace(
            vk=SimpleNamespace(
                vkCreateDevice=self._pointers["vkCreateDevice"],
                vkGetDeviceProcAddr=lambda _, name: self._pointers.get(name.decode(), NULL),
                vkGetPhysicalDeviceProperties=self._pointers["vkGetPhysicalDeviceProperties"],
            ),
            entry=SimpleNamespace(source="loader", library="fake"),
            is_validated=False,
        )

    def inject(self, function: str, result: int, call: int = 0) -> None:
        """Makes a call of a function, counted from 0 at the driver's beginning, return `result` and do nothing."""
        self._faults[function, call] = result

    def _entry(self, name: str) -> Any:
        function = getattr(self, name)
        nothing = None if ffi.typeof(f"PFN_{name}").result.kind == "void" else 0

        def enter(*args: Any) -> Any:
            number, self.calls[name] = self.calls[name], self.calls[name] + 1
            result = self._faults.get((name, number))
            if result is not None:
                if result == VK_ERROR_DEVICE_LOST and self.living:
                    self.is_lost = True
                    self._pending.clear()
                return result
            if self.is_lost and name in TELLS_LOSS:
                return VK_ERROR_DEVICE_LOST
            try:
                found = function(*args) or nothing
                if name.startswith(("vkCreate", "vkAllocate")):
                    self.made += 1
                    self.behind.get(self.made, int)()
                return found
            except Exception as error:  # cffi would only print it
                self.violations.append(f"{name}: {type(error).__name__}: {error}")
                return nothing

        return enter

    # Objects

    def _make(self, kind: str, out: Any, content: Any = None, index: int = 0) -> Object:
        made = Object(kind, next(self._handles), content)
        self.living[made.handle] = made
        out[index] = ffi.cast(f"Vk{kind}", made.handle)
        return made

    def _find(self, kind: str, handle: Any) -> Object:
        found = self.living.get(address_of(handle))
        if found is None or found.kind != kind:
            raise LookupError(f"{kind} {address_of(handle):#x} does not live")
        return found

    def _destroy(self, kind: str, handle: Any) -> None:
        if handle == NULL:
            return
        found = self._find(kind, handle)
        self._progress_is_not_needed_for(found)
        del self.living[found.handle]

    def _progress_is_not_needed_for(self, found: Object) -> None:
        if any(found in submission.used() for submission in self._pending):
            self.violations.append(f"{found.kind} is destroyed while commands that use it may run")

    # The device

    def vkGetPhysicalDeviceProperties(self, physical: Any, out: Any) -> None:
        out.apiVersion = 1 << 22 | 3 << 12

    def vkCreateDevice(self, physical: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("Device", out)

    def vkDestroyDevice(self, device: Any, allocator: Any) -> None:
        self._destroy("Device", device)
        if self._pending:
            self.violations.append("the device is destroyed while commands may run")
        for queue in [item for item in self.living.values() if item.kind == "Queue"]:
            del self.living[queue.handle]
        if children := Counter(item.kind for item in self.living.values()):
            self.violations.append(f"the device is destroyed before {dict(children)}")

    def vkGetDeviceQueue(self, device: Any, family: int, index: int, out: Any) -> None:
        self._make("Queue", out)

    def vkDeviceWaitIdle(self, device: Any) -> int:
        self._find("Device", device)
        while self._run_one():
            pass
        return VK_ERROR_DEVICE_LOST if self._pending else 0

    # Memory

    def vkAllocateMemory(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("DeviceMemory", out, ffi.new("char[]", info.allocationSize))

    def vkMapMemory(self, device: Any, memory: Any, offset: int, size: int, flags: int, out: Any) -> None:
        out[0] = self._find("DeviceMemory", memory).content + offset

    def vkFreeMemory(self, device: Any, memory: Any, allocator: Any) -> None:
        self._destroy("DeviceMemory", memory)

    def vkCreateBuffer(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("Buffer", out, [info.size, None, 0]).state = "sparse" if info.flags & SPARSE else ""

    def vkGetBufferMemoryRequirements(self, device: Any, buffer: Any, out: Any) -> None:
        found = self._find("Buffer", buffer)
        alignment = SPARSE_ALIGNMENT if found.state == "sparse" else ALIGNMENT
        out.size, out.alignment = (found.content[0] + alignment - 1) & -alignment, alignment
        out.memoryTypeBits = 3

    def vkBindBufferMemory(self, device: Any, buffer: Any, memory: Any, offset: int) -> None:
        found, block = self._find("Buffer", buffer), self._find("DeviceMemory", memory)
        if found.state == "sparse":
            raise AssertionError("a sparse buffer is bound by vkQueueBindSparse")
        found.content[1:] = block, offset
        found.uses.add(block)

    def vkDestroyBuffer(self, device: Any, buffer: Any, allocator: Any) -> None:
        self._destroy("Buffer", buffer)

    def vkQueueBindSparse(self, queue: Any, count: int, infos: Any, fence: Any) -> None:
        self._find("Queue", queue)
        for index in range(count):
            info = infos[index]
            values = ffi.cast("VkTimelineSemaphoreSubmitInfo*", info.pNext)
            signals = [
                (self._find("Semaphore", info.pSignalSemaphores[i]), values.pSignalSemaphoreValues[i])
                for i in range(info.signalSemaphoreCount)
            ]
            binds = [self._checked_bind(info.pBufferBinds[i]) for i in range(info.bufferBindCount)]
            self._check_signals(signals)
            self._pending.append(Submission([], [], signals, binds))

    def _checked_bind(self, info: Any) -> tuple[Object, list[tuple[int, Object, int, int]]]:
        buffer = self._find("Buffer", info.buffer)
        if buffer.state != "sparse":
            raise AssertionError("only buffers made for sparse binding are bound so")
        parts: list[tuple[int, Object, int, int]] = []
        for index in range(info.bindCount):
            bind = info.pBinds[index]
            if any(n % SPARSE_ALIGNMENT for n in (bind.resourceOffset, bind.size, bind.memoryOffset)):
                raise AssertionError("a part of a sparse buffer that is not aligned")
            memory = self._find("DeviceMemory", bind.memory)
            if bind.memoryOffset + bind.size > ffi.sizeof(memory.content):
                raise AssertionError("a part of a sparse buffer beyond its memory")
            parts.append((bind.resourceOffset, memory, bind.memoryOffset, bind.size))
        return buffer, parts

    def _bytes(self, buffer: Object, offset: int, size: int) -> list[Any]:
        """Returns the memory of a part of a buffer, piece by piece."""
        length, block, base = buffer.content
        parts = base if buffer.state == "sparse" else [(0, block, base, length)]
        found: list[Any] = []
        end = offset + size
        for start, memory, position, extent in parts or []:
            first, last = max(offset, start), min(end, start + extent)
            if first < last:
                found.append(ffi.buffer(memory.content + position + first - start, last - first))
        if sum(map(len, found)) != size:
            self.violations.append("a command touches a part of a buffer without memory")
        return found

    # Pipelines

    def vkCreateShaderModule(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("ShaderModule", out)

    def vkDestroyShaderModule(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("ShaderModule", handle)

    def vkCreatePipelineCache(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("PipelineCache", out)

    def vkGetPipelineCacheData(self, device: Any, cache: Any, size: Any, out: Any) -> None:
        self._find("PipelineCache", cache)
        size[0] = 0

    def vkDestroyPipelineCache(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("PipelineCache", handle)

    def vkCreateDescriptorSetLayout(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("DescriptorSetLayout", out)

    def vkDestroyDescriptorSetLayout(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("DescriptorSetLayout", handle)

    def vkCreatePipelineLayout(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("PipelineLayout", out).uses = {
            self._find("DescriptorSetLayout", info.pSetLayouts[i]) for i in range(info.setLayoutCount)
        }

    def vkDestroyPipelineLayout(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("PipelineLayout", handle)

    def vkCreateComputePipelines(
        self, device: Any, cache: Any, count: int, infos: Any, allocator: Any, out: Any
    ) -> None:
        for index in range(count):
            self._find("ShaderModule", infos[index].stage.module)
            self._make("Pipeline", out, index=index).uses = {
                self._find("PipelineLayout", infos[index].layout)
            }

    def vkDestroyPipeline(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("Pipeline", handle)

    def vkCreateDescriptorPool(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("DescriptorPool", out)

    def vkDestroyDescriptorPool(self, device: Any, handle: Any, allocator: Any) -> None:
        if handle == NULL:
            return
        for child in self._pools.pop(self._find("DescriptorPool", handle), ()):
            self._destroy(child.kind, ffi.cast("VkDescriptorSet", child.handle))
        self._destroy("DescriptorPool", handle)

    def vkAllocateDescriptorSets(self, device: Any, info: Any, out: Any) -> None:
        pool = self._find("DescriptorPool", info.descriptorPool)
        for index in range(info.descriptorSetCount):
            self._pools[pool].append(self._make("DescriptorSet", out, index=index))

    def vkUpdateDescriptorSets(self, device: Any, count: int, writes: Any, copies: int, _: Any) -> None:
        for index in range(count):
            target = self._find("DescriptorSet", writes[index].dstSet)
            self._progress_is_not_needed_for(target)
            if writes[index].dstBinding == 0:
                target.uses.clear()
            target.uses.add(self._find("Buffer", writes[index].pBufferInfo.buffer))

    # Commands

    def vkCreateCommandPool(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("CommandPool", out)

    def vkDestroyCommandPool(self, device: Any, handle: Any, allocator: Any) -> None:
        if handle == NULL:
            return
        for child in self._pools.pop(self._find("CommandPool", handle), ()):
            self._destroy(child.kind, ffi.cast("VkCommandBuffer", child.handle))
        self._destroy("CommandPool", handle)

    def vkAllocateCommandBuffers(self, device: Any, info: Any, out: Any) -> None:
        pool = self._find("CommandPool", info.commandPool)
        for index in range(info.commandBufferCount):
            made = self._make("CommandBuffer", out, [], index)
            made.state = "initial"
            self._pools[pool].append(made)

    def vkBeginCommandBuffer(self, handle: Any, info: Any) -> None:
        found = self._find("CommandBuffer", handle)
        if any(found in submission.buffers for submission in self._pending):
            raise AssertionError("begun while it may run")
        if found.state == "recording":
            raise AssertionError("begun while it is being recorded")
        found.state, found.content = "recording", []
        found.is_simultaneous = bool(info.flags & SIMULTANEOUS)
        found.uses.clear()

    def vkResetCommandBuffer(self, handle: Any, flags: int) -> None:
        found = self._find("CommandBuffer", handle)
        if any(found in submission.buffers for submission in self._pending):
            raise AssertionError("reset while it may run")
        found.state, found.content = "initial", []
        found.uses.clear()

    def vkEndCommandBuffer(self, handle: Any) -> None:
        self._recording(handle).state = "executable"

    def _recording(self, handle: Any, *used: Object) -> Object:
        found = self._find("CommandBuffer", handle)
        if found.state != "recording":
            raise AssertionError(f"a command in a command buffer that is {found.state}")
        found.uses.update(used)
        return found

    def vkCmdPipelineBarrier(self, handle: Any, *_: Any) -> None:
        self._recording(handle)

    def vkCmdPipelineBarrier2(self, handle: Any, info: Any) -> None:
        self._recording(handle)

    def vkCmdPushConstants(self, handle: Any, layout: Any, *_: Any) -> None:
        self._recording(handle, self._find("PipelineLayout", layout))

    def vkCmdBindPipeline(self, handle: Any, point: int, pipeline: Any) -> None:
        self._recording(handle, self._find("Pipeline", pipeline))

    def vkCmdBindDescriptorSets(
        self, handle: Any, point: int, layout: Any, first: int, count: int, sets: Any, *_: Any
    ) -> None:
        self._recording(handle, *(self._find("DescriptorSet", sets[i]) for i in range(count)))

    def vkCmdDispatch(self, handle: Any, x: int, y: int, z: int) -> None:
        self._recording(handle)

    def vkCmdDispatchIndirect(self, handle: Any, buffer: Any, offset: int) -> None:
        self._recording(handle, self._find("Buffer", buffer))

    def vkCmdCopyBuffer(self, handle: Any, source: Any, target: Any, count: int, regions: Any) -> None:
        a, b = self._find("Buffer", source), self._find("Buffer", target)
        found = self._recording(handle, a, b)
        for index in range(count):
            found.content.append(
                ("copy", a, b, *(getattr(regions[index], n) for n in ("srcOffset", "dstOffset", "size")))
            )

    def vkCmdFillBuffer(self, handle: Any, target: Any, offset: int, size: int, word: int) -> None:
        found = self._find("Buffer", target)
        self._recording(handle, found).content.append(("fill", found, offset, size, word))

    def vkCmdUpdateBuffer(self, handle: Any, target: Any, offset: int, size: int, data: Any) -> None:
        found = self._find("Buffer", target)
        if size % 4 or offset % 4 or size > 65536:
            raise AssertionError("an update of a buffer that is none of whole words, or too large")
        written = bytes(ffi.buffer(data, size))
        self._recording(handle, found).content.append(("update", found, offset, written))

    # Queries

    def vkCreateQueryPool(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("QueryPool", out, {})

    def vkDestroyQueryPool(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("QueryPool", handle)

    def vkCmdResetQueryPool(self, handle: Any, pool: Any, first: int, count: int) -> None:
        self._recording(handle, self._find("QueryPool", pool))

    def vkCmdWriteTimestamp(self, handle: Any, stage: int, pool: Any, index: int) -> None:
        found = self._find("QueryPool", pool)
        self._recording(handle, found).content.append(("stamp", found, index))

    def vkGetQueryPoolResults(
        self, device: Any, pool: Any, first: int, count: int, size: int, out: Any, stride: int, flags: int
    ) -> None:
        stamps, values = self._find("QueryPool", pool).content, ffi.cast("uint64_t*", out)
        for index in range(count):
            values[index] = stamps[first + index]

    # Submissions

    def vkCreateSemaphore(self, device: Any, info: Any, allocator: Any, out: Any) -> None:
        self._make("Semaphore", out, 0)

    def vkDestroySemaphore(self, device: Any, handle: Any, allocator: Any) -> None:
        self._destroy("Semaphore", handle)

    def vkQueueSubmit(self, queue: Any, count: int, submits: Any, fence: Any) -> None:
        self._find("Queue", queue)
        for index in range(count):
            info = submits[index]
            values = ffi.cast("VkTimelineSemaphoreSubmitInfo*", info.pNext)
            buffers = [
                self._find("CommandBuffer", info.pCommandBuffers[i]) for i in range(info.commandBufferCount)
            ]
            for item in buffers:
                if item.state != "executable":
                    self.violations.append(f"a command buffer is submitted that is {item.state}")
                if not item.is_simultaneous and any(item in other.buffers for other in self._pending):
                    self.violations.append("a command buffer is submitted again while it may run")
            waits = [
                (self._find("Semaphore", info.pWaitSemaphores[i]), values.pWaitSemaphoreValues[i])
                for i in range(info.waitSemaphoreCount)
            ]
            signals = [
                (self._find("Semaphore", info.pSignalSemaphores[i]), values.pSignalSemaphoreValues[i])
                for i in range(info.signalSemaphoreCount)
            ]
            self._check_signals(signals)
            submission = Submission(buffers, waits, signals)
            if not submission.used() <= set(self.living.values()):
                gone = {item.kind for item in submission.used() - set(self.living.values())}
                self.violations.append(f"commands are submitted that use what was destroyed: {gone}")
            self._pending.append(submission)

    def _check_signals(self, signals: list[tuple[Object, int]]) -> None:
        """Notes values that a timeline semaphore has, or will have once all has run (VUID-VkSubmitInfo-pNext-03242)."""
        for semaphore, value in signals:
            pending = [last for item in self._pending for other, last in item.signals if other is semaphore]
            if value <= max([semaphore.content, *pending]):
                self.violations.append(f"a semaphore is to count to {value} once more")

    def _run_one(self) -> bool:
        """Runs the first submission that need not wait; whether there was one."""
        if self.is_hung:
            return False
        for submission in self._pending:
            if all(semaphore.content >= value for semaphore, value in submission.waits):
                for buffer, parts in submission.binds:
                    buffer.content[1:] = None, parts
                    buffer.uses = {memory for _, memory, _, _ in parts}
                for buffer in submission.buffers:
                    for command in buffer.content:
                        self._run(*command)
                for semaphore, value in submission.signals:
                    semaphore.content = value
                self._pending.remove(submission)
                return True
        return False

    def _run(self, what: str, *operands: Any) -> None:
        if what == "copy":
            source, target, source_offset, target_offset, size = operands
            self._write(target, target_offset, b"".join(map(bytes, self._bytes(source, source_offset, size))))
        elif what == "fill":
            target, offset, size, word = operands
            self._write(target, offset, word.to_bytes(4, "little") * (size // 4))
        elif what == "update":
            self._write(*operands)
        else:
            pool, index = operands
            pool.content[index] = next(self._ticks)

    def _write(self, buffer: Object, offset: int, data: bytes) -> None:
        for piece in self._bytes(buffer, offset, len(data)):
            piece[:], data = data[: len(piece)], data[len(piece) :]

    def vkGetSemaphoreCounterValue(self, device: Any, handle: Any, out: Any) -> None:
        self._run_one()  # time passes
        out[0] = self._find("Semaphore", handle).content

    def vkWaitSemaphores(self, device: Any, info: Any, timeout: int) -> int:
        found = self._find("Semaphore", info.pSemaphores[0])
        while found.content < info.pValues[0]:
            if self.is_slow or not self._run_one():
                return VK_TIMEOUT
        return 0
