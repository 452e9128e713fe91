"""What a kernel object says of itself: SYCL's ``info::kernel`` and ``info::kernel_device_specific``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError, KernelNotSupportedError, NdRangeError
from ..ir.kernel_info import KernelInfo
from .array_sizes import private_bytes
from .bundle_errors import ConstraintError, type_name
from .bundle_image import DeviceImage
from .bundle_pipelines import bundle_local_size, values_for
from .device import Device
from .kernel_pipeline import pipeline_statistics
from .launch_plan import plan_launch
from .specialization import spec_entries

if TYPE_CHECKING:
    from .context import Context
    from .kernel_bundle import KernelBundle
    from .kernel_object import Kernel

_PRIVATE_MEMORY = ("scratch", "stack size", "private memory", "local memory")
"""How drivers call a work-item's own memory among the statistics of a pipeline, in lower case."""

_BYTES = 0xFFFF_FFFF
"""The half of such a statistic that counts bytes: NVIDIA's driver 580 has another number in the upper 32 bits of
"Local Memory Size", 16 for kernels without private memory too."""


class KernelView:
    """``info::kernel``: what does not depend on a device."""

    __slots__ = ("_kernel",)

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @property
    def function_name(self) -> str:
        """The kernel's name."""
        return self._kernel.name

    @property
    def num_args(self) -> int:
        """Arguments that a launch gives; InvalidError for kernels of Python modules, whose signature says it."""
        if self._kernel.kernel_id.is_application:
            raise InvalidError(
                f"kernel '{self._kernel.name}': info.kernel.num_args is for built-in kernels and those made from "
                "source or through interoperability; this one is a Python function, whose signature has its parameters"
            )
        return len(self._kernel.parameter_names)

    @property
    def attributes(self) -> str:
        """The attributes that its decorators give it, as text with spaces between: ``reqd_work_group_size(8,8)``."""
        return self._kernel.kernel_id.attributes

    @property
    def context(self) -> Context:
        """The context of its bundle."""
        return self._kernel.context

    @property
    def kernel_bundle(self) -> KernelBundle:
        """Its bundle."""
        return self._kernel.kernel_bundle


class KernelDeviceView:
    """``info::kernel_device_specific``: a kernel on one device of its bundle.  Sizes are in SYCL's order."""

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self._kernel, self._device = kernel, device
        bundle = kernel.kernel_bundle
        self._image: DeviceImage = bundle.image_of(kernel.kernel_id, device)
        name = self._image.name_of(kernel.kernel_id)
        assert name is not None, "the bundle chose an image that has the kernel"
        self._info: KernelInfo = self._image.info(name)
        self._values = values_for(self._image.binary, bundle.spec_values.by_symbol())

    @property
    def global_work_size(self) -> tuple[int, int, int]:
        """The largest range as SYCL's three dimensions, slowest first, 1 for those that the kernel does not have;
        InvalidError but for built-in kernels."""
        if self._kernel.kernel_id.is_application:
            raise InvalidError(
                f"kernel '{self._kernel.name}': info.kernel_device_specific.global_work_size is for built-in kernels; "
                "lp.info.device tells the limits of others"
            )
        required = self._info.required_work_group_size
        limit = (1 << 31) - 1
        largest = required if required is not None else (limit,) * self._info.abi.rank
        first, second, third = (1,) * (3 - len(largest)) + largest
        return first, second, third

    @property
    def work_group_size(self) -> int:
        """The most work-items of a work-group."""
        required = self._info.required_work_group_size
        return self._device.info.max_work_group_size if required is None else math.prod(required)

    @property
    def compile_work_group_size(self) -> tuple[int, ...]:
        """``reqd_work_group_size`` as it was declared, else (0, 0, 0)."""
        return self._info.required_work_group_size or (0, 0, 0)

    @property
    def preferred_work_group_size_multiple(self) -> int:
        """Work-items that the device runs in step: a sub-group, or the work-group where that is smaller."""
        own = self._info.required_sub_group_size or self._device.physical.subgroup_size
        return max(1, min(own, self.work_group_size))

    @property
    def private_mem_size(self) -> int:
        """Bytes of a work-item's own memory: what the driver says of the pipeline, where it can
        (VK_KHR_pipeline_executable_properties), else those of the private arrays that the kernel makes, which is the
        least it can be."""
        entries = spec_entries(self._image.binary.spec_constants, self._values)
        found = [
            value & _BYTES
            for name, value in self._statistics().items()
            if any(word in name.lower() for word in _PRIVATE_MEMORY)
        ]
        return max([*found, private_bytes(self._info, entries)])

    @property
    def max_num_sub_groups(self) -> int:
        """Sub-groups of the largest work-group."""
        sizes = (self._info.required_sub_group_size,) if self._info.required_sub_group_size else ()
        narrowest = min(sizes or self._device.info.sub_group_sizes, default=1)
        return max(1, -(-self.work_group_size // narrowest))

    @property
    def compile_num_sub_groups(self) -> int:
        """0: no attribute requires a number of sub-groups."""
        return 0

    @property
    def max_sub_group_size(self) -> int:
        """Work-items of the largest sub-group."""
        return self._info.required_sub_group_size or max(self._device.info.sub_group_sizes, default=1)

    @property
    def compile_sub_group_size(self) -> int:
        """``reqd_sub_group_size``, else 0."""
        return self._info.required_sub_group_size or 0

    def _statistics(self) -> dict[str, int]:
        """Returns what the driver says of the kernel's pipeline; empty where it does not, or where only a launch knows
        what the pipeline is made of."""
        limits = self._device.physical.limits
        try:
            local = bundle_local_size(self._info, self._device, self._kernel.kernel_id, self._values)
            local = local or self._info.required_work_group_size or (1,) * self._info.abi.rank
            plan = plan_launch(self._info, local, local, limits, self._device.name)
            return pipeline_statistics(self._device, self._image.binary, self._info, plan, self._values)
        except (InvalidError, KernelNotSupportedError, NdRangeError):
            return {}


def device_view(kernel: Kernel, device: object) -> KernelDeviceView:
    """Returns what a kernel says of one device.

    Args:
        kernel: the kernel.
        device: of its bundle; None: the bundle's only one.

    Raises:
        ConstraintError: no device, or none where the bundle has several.
        InvalidError: a device that the bundle does not have.
        KernelNotSupportedError: a device that the kernel does not run on.
    """
    devices = kernel.kernel_bundle.devices
    if device is None and len(devices) == 1:
        device = devices[0]
    if not isinstance(device, Device):
        raise ConstraintError(
            f"kernel '{kernel.name}': descriptors of lp.info.kernel_device_specific take an lp.Device of the kernel "
            f"bundle, which has {len(devices)}; found {device!r} of type {type_name(device)}"
        )
    if device not in devices:
        names = ", ".join(f"'{item.selector}'" for item in devices)
        raise InvalidError(
            f"kernel '{kernel.name}': device '{device.selector}' is none of the kernel bundle's: {names}"
        )
    return KernelDeviceView(kernel, device)
