"""Shader modules and compute pipelines, made once for each SPIR-V module and each set of specialization values.

A new value makes a pipeline from the module that is there; the module is never made again.  Images whose code is the
same to the last word share both, because drivers compile for 10 to 20 ms: a function that makes kernels, a cell of a
notebook that is run again and a kernel that has moved in its file differ in metadata alone.  Everything that
could upset a driver is checked by the callers (`launch_plan`, `specialization`) before it gets here.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..ir.errors import Error
from ..ir.kernel_info import BufferParameter, ImageParameter, KernelInfo
from ..ir.lazy_logging import logger_of
from ..spirv.device_image import DeviceImage
from . import profile, trace
from .argument_packer import takes_addresses
from .constants import (
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
    VK_SHADER_STAGE_COMPUTE_BIT,
)
from .descriptors import DescriptorSetLayout
from .handle import Handle
from .headers import NULL, ffi, make
from .image_descriptors import DESCRIPTOR_TYPES
from .pipeline_binary_feature import pointer_to
from .pipeline_cache import PipelineCache
from .specialization import SpecEntry, specialization_info

if TYPE_CHECKING:
    from .logical_device import LogicalDevice
    from .native_pipelines import NativePipelines

logger = logger_of(__name__)

LayoutKey = tuple[tuple[tuple[int, int], ...], int]
"""A `binding_table`, and the bytes of push constants."""

CACHED_PIPELINES = 512
"""Pipelines that are kept though nobody holds them: a function that makes kernels comes with equal ones again."""

CACHED_CODE_BYTES = 4 << 20
"""SPIR-V that they are made of, at most: llvmpipe keeps about 50 bytes for each.  As much is kept as modules."""

LIVING_PIPELINES = 2048
"""Pipelines of a device beyond which prepared launches are forgotten, and with them the pipelines that only they hold:
llvmpipe takes 150 to 500 KB for each."""

PIPELINES_PER_CACHE = 1024
"""Pipelines made after which a VkPipelineCache is looked at: see `PipelineCache.is_worth_keeping`."""

forget_launches: list[Callable[[], object]] = []
"""What lets go of launches that were prepared outside of the runtime (`frontend.launch_preparation`)."""


class ShaderModule(Handle):
    """A VkShaderModule."""

    def __init__(self, device: LogicalDevice, image: DeviceImage) -> None:
        self.code_bytes = len(image.spirv)
        code = ffi.new("uint32_t[]", len(image.spirv) // 4)
        ffi.memmove(code, image.spirv, len(image.spirv))
        info = make("VkShaderModuleCreateInfo", codeSize=len(image.spirv), pCode=code)
        self.raw = self._make(device, "ShaderModule", info)


class PipelineLayout(Handle):
    """A VkPipelineLayout with at most one descriptor set and one push-constant range from 0."""

    def __init__(
        self, device: LogicalDevice, set_layout: DescriptorSetLayout | None, push_bytes: int
    ) -> None:
        self.set_layout = set_layout
        ranges: Any = NULL
        if push_bytes:
            ranges = make(
                "VkPushConstantRange", stageFlags=VK_SHADER_STAGE_COMPUTE_BIT, offset=0, size=push_bytes
            )
        layouts = NULL if set_layout is None else ffi.new("VkDescriptorSetLayout[]", [set_layout.raw])
        info = make(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=int(set_layout is not None),
            pSetLayouts=layouts,
            pushConstantRangeCount=int(push_bytes > 0),
            pPushConstantRanges=ranges,
        )
        self.raw = self._make(device, "PipelineLayout", info)


class Pipeline(Handle):
    """A compute VkPipeline."""

    def __init__(
        self,
        device: LogicalDevice,
        cache: Any,
        module: ShaderModule,
        layout: PipelineLayout,
        entry_point: str,
        entries: tuple[SpecEntry, ...],
        sub_group_size: int | None,
        flags: int = 0,
        *,
        chained: ctypes.Structure | None = None,
        kernel_name: str = "",
    ) -> None:
        self.layout = layout
        self.kernel_name = kernel_name or entry_point
        """What messages call it."""
        self.code_bytes = module.code_bytes
        self.is_warm = False
        """Whether the driver has machine code of it, see `warm_up`."""
        required: Any = NULL
        if sub_group_size is not None:
            required = make(
                "VkPipelineShaderStageRequiredSubgroupSizeCreateInfo", requiredSubgroupSize=sub_group_size
            )
        stage = make(
            "VkPipelineShaderStageCreateInfo",
            pNext=required,
            stage=VK_SHADER_STAGE_COMPUTE_BIT,
            module=module.raw,
            pName=ffi.new("char[]", entry_point.encode()),
            pSpecializationInfo=specialization_info(entries),
        )
        following: Any = NULL if chained is None else pointer_to(chained)
        info = make(
            "VkComputePipelineCreateInfo", pNext=following, flags=flags, stage=stage[0], layout=layout.raw
        )
        out = ffi.new("VkPipeline*")
        vk = device.vk

        def destroy() -> None:
            destroy_pipeline = vk.vkDestroyPipeline
            raw, out[0] = out[0], NULL  # as `Made`
            destroy_pipeline(device.raw, raw, NULL)

        self._own(device.graveyard, destroy)
        result = vk.vkCreateComputePipelines(device.raw, cache, 1, info, NULL, out)
        device.check(result, "vkCreateComputePipelines")  # which sets what it cannot make to NULL
        self.raw = out[0]


class PipelineStore:
    """The modules, layouts and pipelines of one device.  Use it with the device's lock held."""

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._modules: OrderedDict[bytes, ShaderModule] = OrderedDict()
        self._module_bytes = 0
        """Of these."""
        self._living_modules: WeakValueDictionary[bytes, ShaderModule] = WeakValueDictionary()
        self._set_layouts: dict[tuple[tuple[int, int], ...], DescriptorSetLayout] = {}
        self._layouts: dict[LayoutKey, PipelineLayout] = {}
        self._pipelines: OrderedDict[object, Pipeline] = OrderedDict()
        self._code_bytes = 0
        """Of these."""
        self._living: WeakValueDictionary[object, Pipeline] = WeakValueDictionary()
        """Pipelines that somebody holds, a kernel bundle for one: they are found however many were made since; so are
        modules."""
        self.cache = PipelineCache(device)
        self.made = 0
        """Pipelines made so far."""
        self.newest = ("", -math.inf)
        """The kernel that the last pipeline was made for, and when, by `time.monotonic`."""
        self._most_living = LIVING_PIPELINES
        self._native: NativePipelines | None = None

    @property
    def native(self) -> NativePipelines:
        """Code of native images that have it pipeline by pipeline."""
        if self._native is None:
            from .native_pipelines import NativePipelines

            self._native = NativePipelines(self._device)
        return self._native

    def pipeline(
        self,
        image: DeviceImage,
        kernel: KernelInfo,
        entries: tuple[SpecEntry, ...],
        selector: str,
    ) -> Pipeline:
        """Returns the pipeline of a kernel, making what is not there yet.

        Args:
            image: holds `kernel`.
            kernel: one entry point of the image.
            entries: every specialization constant, checked, the local size's where it is one.
            selector: the device's, for traces.
        """
        # All that it is made of, and the name, which messages show.
        key = (
            image.code_digest,
            kernel.entry_point,
            kernel.name,
            entries,
            self._layout_key(kernel),
            self._required_sub_group_size(kernel),
        )
        found = self._pipelines.get(key) or self._living.get(key)
        if found is not None:
            self._keep(key, found)
            return found
        made = self._native and self._native.pipeline(
            lambda: self.digest(image, kernel, entries),
            lambda chained: self.compile_into(NULL, image, kernel, entries, selector, chained),
        )
        made = made or self.compile_into(self.cache.raw, image, kernel, entries, selector)
        self.made += 1
        self.newest = (kernel.name, time.monotonic())
        self._living[key] = made
        self._keep(key, made)
        if self.made % PIPELINES_PER_CACHE == 0:
            self._renew_cache()
        if len(self._living) > self._most_living:
            self._forget_launches()
        return made

    def _renew_cache(self) -> None:
        """Begins a new VkPipelineCache where the present one may hold what nobody needs any more."""
        if self.cache.is_worth_keeping():
            return
        try:
            self.cache = PipelineCache(self._device, is_empty=True)
        except Error as error:
            logger.info("'%s' keeps its pipeline cache: %s", self._device.name, error)

    def _forget_launches(self) -> None:
        """Lets go of prepared launches; those that come again are prepared again."""
        for forget in (self._device.launches.clear, *forget_launches):
            forget()
        # The rest is held by bundles, graphs and running commands: look again when there are twice as many.
        self._most_living = max(LIVING_PIPELINES, 2 * len(self._living))

    def compile_into(
        self,
        cache: Any,
        image: DeviceImage,
        kernel: KernelInfo,
        entries: tuple[SpecEntry, ...],
        selector: str,
        chained: ctypes.Structure | None = None,
    ) -> Pipeline:
        """Makes a pipeline with any VkPipelineCache, which the driver adds it to; see `pipeline`.

        Args:
            cache: NULL where the struct that is chained to the create info brings code, or has it captured.
        """
        self._device.require_usable()
        module = self.module(image, selector)
        layout = self._layout(kernel)
        sub_group_size = self._required_sub_group_size(kernel)
        with profile.span("pipeline", kernel.name, device=selector):
            made = Pipeline(
                self._device,
                cache,
                module,
                layout,
                kernel.entry_point,
                entries,
                sub_group_size,
                chained=chained,
                kernel_name=kernel.name,
            )
        trace.record("pipeline", kernel=kernel.name, image=image, device=selector)
        return made

    def digest(self, image: DeviceImage, kernel: KernelInfo, entries: tuple[SpecEntry, ...]) -> bytes:
        """Returns what identifies a pipeline in native images: the code, and all that it is specialised for."""
        from .native_pipelines import pipeline_digest

        block = None if kernel.abi.argument_block_binding is not None else kernel.abi.argument_block_bytes
        return pipeline_digest(
            image.code_digest,
            kernel.entry_point,
            tuple((entry.spec_id, entry.data) for entry in entries),
            self._required_sub_group_size(kernel),
            binding_table(kernel),
            block,
        )

    def statistics(
        self, image: DeviceImage, kernel: KernelInfo, entries: tuple[SpecEntry, ...], selector: str
    ) -> dict[str, int]:
        """Returns what the driver says of a kernel's pipeline, by its own names; empty where it cannot say it.

        Args: as `pipeline`, which is not asked: statistics need a pipeline of their own.
        """
        from .pipeline_statistics import CAPTURE_FLAGS, FEATURE, read_statistics

        if FEATURE not in self._device.features:
            return {}
        self._device.require_usable()
        layout, size = self._layout(kernel), self._required_sub_group_size(kernel)
        module = self.module(image, selector)
        with Pipeline(
            self._device, NULL, module, layout, kernel.entry_point, entries, size, CAPTURE_FLAGS
        ) as pipeline:
            return read_statistics(self._device, pipeline.raw)

    def _keep(self, key: object, pipeline: Pipeline) -> None:
        pipelines = self._pipelines
        if key in pipelines:
            pipelines.move_to_end(key)
            return
        pipelines[key] = pipeline
        self._code_bytes += pipeline.code_bytes
        while len(pipelines) > 1 and (
            len(pipelines) > CACHED_PIPELINES or self._code_bytes > CACHED_CODE_BYTES
        ):
            _, dropped = pipelines.popitem(last=False)  # first: a finaliser may make pipelines meanwhile
            self._code_bytes -= dropped.code_bytes

    def module(self, image: DeviceImage, selector: str) -> ShaderModule:
        """Returns the module of an image, made where there is none of its code yet."""
        key = image.code_digest
        module = self._modules.get(key) or self._living_modules.get(key)
        if module is None:
            module = self._modules[key] = ShaderModule(self._device, image)
            self._living_modules[key] = module
            trace.record("module", image=image, device=selector)
            self._module_bytes += module.code_bytes
            while len(self._modules) > 1 and (
                len(self._modules) > CACHED_PIPELINES or self._module_bytes > CACHED_CODE_BYTES
            ):
                _, dropped = self._modules.popitem(last=False)
                self._module_bytes -= dropped.code_bytes
        return module

    def _layout_key(self, kernel: KernelInfo) -> LayoutKey:
        """Returns what the layout of a kernel's pipelines is made of: its bindings, and the bytes that are pushed."""
        push_bytes = 0 if kernel.abi.argument_block_binding is not None else kernel.abi.argument_block_bytes
        return binding_table(kernel), push_bytes

    def _layout(self, kernel: KernelInfo) -> PipelineLayout:
        bindings, push_bytes = key = self._layout_key(kernel)
        found = self._layouts.get(key)
        if found is not None:
            return found
        set_layout = None
        if bindings:
            set_layout = self._set_layouts.get(bindings)
            if set_layout is None:
                set_layout = self._set_layouts[bindings] = DescriptorSetLayout(self._device, bindings)
        made = PipelineLayout(self._device, set_layout, push_bytes)
        self._layouts[key] = made
        return made

    def _required_sub_group_size(self, kernel: KernelInfo) -> int | None:
        """Returns the size to demand; None where the device has no choice of sizes."""
        physical = self._device.physical
        if not physical.can_choose_subgroup_size:
            return None
        # Left alone, drivers may choose another size for each kernel (SPIR-V 1.6 allows varying sizes).
        return physical.subgroup_size if kernel.has_primary_sub_group_size else kernel.required_sub_group_size


def binding_table(kernel: KernelInfo) -> tuple[tuple[int, int], ...]:
    """Returns (binding, VkDescriptorType) of every descriptor: arrays and images in parameter order, the argument
    block, the report buffer."""
    arrays: list[tuple[int, int]] = []
    is_bound = not takes_addresses(kernel)
    for parameter in kernel.parameters:
        if isinstance(parameter, ImageParameter):
            arrays.append((parameter.binding, DESCRIPTOR_TYPES[parameter.descriptor]))
        elif isinstance(parameter, BufferParameter) and is_bound:
            is_uniform = parameter.is_uniform
            kind = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER if is_uniform else VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            arrays.append((parameter.binding, kind))
    block, report = kernel.abi.argument_block_binding, kernel.abi.report_binding
    kind = (
        VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC
        if kernel.abi.is_argument_block_uniform
        else VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
    )
    blocks = () if block is None else ((block, kind),)
    reports = () if report is None else ((report, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),)
    return (*arrays, *blocks, *reports)
