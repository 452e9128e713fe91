"""A program that owns Vulkan objects, as a renderer does, written with the ``vulkan`` package alone.

Nothing here uses lapilli: what the tests read through it, raw Vulkan wrote or kept.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import numpy as np
import vulkan as vk

USAGE = (
    vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
    | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
    | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
)
HOST = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
FEATURES = (
    "timelineSemaphore",
    "robustBufferAccess",
    "shaderFloat64",
    "shaderStorageImageWriteWithoutFormat",
)
"""What its VkDevice is made with."""


class Renderer:
    """A VkInstance, VkPhysicalDevice, VkDevice and VkQueue, and whatever is made of them; destroyed by ``with``."""

    def __init__(self) -> None:
        application = vk.VkApplicationInfo(
            pApplicationName="renderer", apiVersion=vk.VK_MAKE_VERSION(1, 3, 0)
        )
        self.instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
        self.physical = vk.vkEnumeratePhysicalDevices(self.instance)[0]
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical)
        self.family = next(i for i, f in enumerate(families) if f.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
        timeline = vk.VkPhysicalDeviceTimelineSemaphoreFeatures(timelineSemaphore=vk.VK_TRUE)
        features = vk.VkPhysicalDeviceFeatures(
            robustBufferAccess=vk.VK_TRUE,
            shaderFloat64=vk.VK_TRUE,
            shaderStorageImageWriteWithoutFormat=vk.VK_TRUE,
        )
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=self.family, queueCount=1, pQueuePriorities=[1.0])
        info = vk.VkDeviceCreateInfo(
            pNext=timeline, queueCreateInfoCount=1, pQueueCreateInfos=[queue], pEnabledFeatures=features
        )
        self.device = vk.vkCreateDevice(self.physical, info, None)
        self.queue = vk.vkGetDeviceQueue(self.device, self.family, 0)
        self._memories: dict[Any, Any] = {}
        self._others: list[tuple[Any, Any]] = []

    def buffer(self, contents: np.ndarray[Any, Any]) -> Any:
        """Makes a VkBuffer in memory of its own, with contents."""
        info = vk.VkBufferCreateInfo(
            size=contents.nbytes, usage=USAGE, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE
        )
        made = vk.vkCreateBuffer(self.device, info, None)
        needs = vk.vkGetBufferMemoryRequirements(self.device, made)
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical).memoryTypes
        index = next(
            i for i in range(32) if needs.memoryTypeBits >> i & 1 and types[i].propertyFlags & HOST == HOST
        )
        allocation = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=index)
        memory = vk.vkAllocateMemory(self.device, allocation, None)
        vk.vkBindBufferMemory(self.device, made, memory, 0)
        self._memories[made] = memory
        mapped = vk.vkMapMemory(self.device, memory, 0, contents.nbytes, 0)
        np.frombuffer(mapped, np.uint8)[:] = contents.reshape(-1).view(np.uint8)
        vk.vkUnmapMemory(self.device, memory)
        return made

    def read(self, buffer: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Reads a buffer by mapping its memory."""
        memory = self._memories[buffer]
        mapped = vk.vkMapMemory(self.device, memory, 0, like.nbytes, 0)
        found = np.frombuffer(mapped, like.dtype).reshape(like.shape).copy()
        vk.vkUnmapMemory(self.device, memory)
        return found

    def image(self, shape: tuple[int, ...], image_format: int, usage: int) -> Any:
        """Makes a VkImage in memory of its own, of undefined contents and layout; extents slowest first."""
        width, height, depth = (*reversed(shape), 1, 1)[:3]
        info = vk.VkImageCreateInfo(
            imageType=len(shape) - 1,
            format=image_format,
            extent=vk.VkExtent3D(width, height, depth),
            mipLevels=1,
            arrayLayers=1,
            samples=vk.VK_SAMPLE_COUNT_1_BIT,
            tiling=vk.VK_IMAGE_TILING_OPTIMAL,
            usage=usage,
            sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE,
            initialLayout=vk.VK_IMAGE_LAYOUT_UNDEFINED,
        )
        made = vk.vkCreateImage(self.device, info, None)
        needs = vk.vkGetImageMemoryRequirements(self.device, made)
        index = next(i for i in range(32) if needs.memoryTypeBits >> i & 1)
        allocation = vk.VkMemoryAllocateInfo(allocationSize=needs.size, memoryTypeIndex=index)
        memory = vk.vkAllocateMemory(self.device, allocation, None)
        vk.vkBindImageMemory(self.device, made, memory, 0)
        self._others += [(vk.vkDestroyImage, made), (vk.vkFreeMemory, memory)]
        return made

    def read_image(
        self, image: Any, like: np.ndarray[Any, Any], shape: tuple[int, ...]
    ) -> np.ndarray[Any, Any]:
        """Reads a VkImage in the layout GENERAL through a buffer, by commands of its own."""
        width, height, depth = (*reversed(shape), 1, 1)[:3]
        target = self.buffer(np.zeros_like(like))
        layers = vk.VkImageSubresourceLayers(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1)
        region = vk.VkBufferImageCopy(
            imageSubresource=layers,
            imageOffset=vk.VkOffset3D(0, 0, 0),
            imageExtent=vk.VkExtent3D(width, height, depth),
        )
        pool = vk.vkCreateCommandPool(
            self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=self.family), None
        )
        allocation = vk.VkCommandBufferAllocateInfo(
            commandPool=pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        (commands,) = vk.vkAllocateCommandBuffers(self.device, allocation)
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        layout = vk.VK_IMAGE_LAYOUT_GENERAL
        vk.vkCmdCopyImageToBuffer(commands, image, layout, target, 1, [region])
        vk.vkEndCommandBuffer(commands)
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], None)
        vk.vkQueueWaitIdle(self.queue)
        vk.vkDestroyCommandPool(self.device, pool, None)
        return self.read(target, like)

    def timeline(self) -> Any:
        """Makes a timeline semaphore at 0."""
        kind = vk.VkSemaphoreTypeCreateInfo(semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE, initialValue=0)
        made = vk.vkCreateSemaphore(self.device, vk.VkSemaphoreCreateInfo(pNext=kind), None)
        self._others.append((vk.vkDestroySemaphore, made))
        return made

    def signal(self, semaphore: Any, value: int) -> None:
        """Signals a timeline semaphore from the host."""
        info = vk.VkSemaphoreSignalInfo(semaphore=semaphore, value=value)
        vk.vkSignalSemaphore(self.device, info)

    def module(self, spirv: bytes) -> Any:
        """Makes a VkShaderModule."""
        info = vk.VkShaderModuleCreateInfo(codeSize=len(spirv), pCode=spirv)
        made = vk.vkCreateShaderModule(self.device, info, None)
        self._others.append((vk.vkDestroyShaderModule, made))
        return made

    def destroy_later(self, destroy: Any, made: Any) -> None:
        """Destroys an object of the VkDevice together with it."""
        self._others.append((destroy, made))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        vk.vkDeviceWaitIdle(self.device)
        for destroy, made in self._others:
            destroy(self.device, made, None)
        for buffer, memory in self._memories.items():
            vk.vkDestroyBuffer(self.device, buffer, None)
            vk.vkFreeMemory(self.device, memory, None)
        vk.vkDestroyDevice(self.device, None)
        vk.vkDestroyInstance(self.instance, None)
