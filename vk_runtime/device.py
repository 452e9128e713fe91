"""Device: SYCL's view of a physical device.

A `Device` is cheap: its VkDevice is made at the first array, queue or launch on it.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ..ir.aspects import Aspect
from ..ir.errors import DeviceLostError, Error, InvalidError
from ..ir.public_names import PublicNames
from ..ir.target_env import TargetEnv
from .backend import VulkanObject
from .coarsening import COARSENING, NO_COARSENING, Coarsening
from .device_creation import AdoptedDevice
from .device_features import aspects_of
from .device_state import forked_error
from .held_locks import HeldLocks
from .logical_device import LogicalDevice
from .masking import NO_MASK, LimitValue, Mask
from .physical_device import PhysicalDevice
from .quirks import compiler_environment, loop_iteration_cap

if TYPE_CHECKING:
    from ..ir.device_config import Target
    from ..ir.image_formats import ImageFormat
    from .context import Context
    from .device_info import DeviceInfo
    from .device_list import Platform
    from .image_support import ImageSupport
    from .kernel_id import KernelId
    from .memory_stats import HeapStats
    from .queue import Queue


class Device(
    VulkanObject,
    metaclass=PublicNames,
    internal="""
    abandon_after_fork before_fork coarsening is_open logical mask own_context physical shut_down target_env with_mask
    """,
):
    """A physical device of one driver.  Two lookups of one device give the same object.

    Args:
        physical: what the driver said.
        selector: names it.
        staged_memory: copy arrays through staging memory even where the host sees device memory.
        own_transfers: large staged copies go to a queue of their own even where no queue family is there for them.
        mask: what it is made without; `physical` is given without it.
        adopted: the application's VkDevice to use, with the features and extensions that `physical` says.
    """

    def __init__(
        self,
        physical: PhysicalDevice | None = None,
        selector: str = "",
        *,
        staged_memory: bool = False,
        own_transfers: bool = False,
        mask: Mask = NO_MASK,
        adopted: AdoptedDevice | None = None,
    ) -> None:
        if not isinstance(physical, PhysicalDevice):
            from .bundle_errors import no_constructor

            raise no_constructor("Device", "lp.device() gives the default one, lp.devices() all")
        self._unmasked = physical
        self._base: Device | None = None
        self.mask = mask
        """What it is made without."""
        self._masked: dict[Mask, Device] = {}
        self._physical = physical = mask.apply(physical)
        self._staged_memory = staged_memory
        self._own_transfers = own_transfers
        self.selector = selector
        """A text that `device` and LAPILLI_DEVICE accept for this device."""
        of_driver = aspects_of(
            physical.features,
            device_type=physical.device_type,
            subgroup_operations=physical.subgroup_operations,
            has_timestamps=physical.timestamp_valid_bits > 0,
        )
        self.aspects = of_driver - mask.without
        """Every aspect that it has."""
        self._lock = threading.RLock()
        self._is_opening = False
        self._logical: LogicalDevice | None = None
        if adopted is not None:
            self._logical = LogicalDevice(physical, staged_memory=staged_memory, adopted=adopted)
        self._is_forked = False
        self._is_shut_down = False
        self._default_queue: Queue | None = None
        self.own_context: Context | None = None
        """Set by `context.default_context` for a device that is not listed."""

    @cached_property
    def info(self) -> DeviceInfo:
        """Limits and names."""
        from .device_info import device_info

        return device_info(self._physical, self)

    @cached_property
    def platform(self) -> Platform:
        """The driver it belongs to."""
        from .device_list import Platform

        physical, entry = self._physical, self._physical.instance.entry
        return Platform(physical.driver_name, physical.driver_info, entry.source, entry.library)

    @cached_property
    def target_env(self) -> TargetEnv:
        """What the compiler may know of it; a driver that nobody has tried is asked by a kernel at first use."""
        return compiler_environment(self._physical, self.aspects, self._loop_iteration_cap)

    @cached_property
    def _loop_iteration_cap(self) -> int | None:
        if self._base is not None:  # a mask changes nothing about it
            return self._base._loop_iteration_cap
        return loop_iteration_cap(self._physical, self._probed_loop_cap)

    def _probed_loop_cap(self) -> int | None:
        from .loop_probe import probe_loop_cap

        return probe_loop_cap(self)

    @property
    def coarsening(self) -> Coarsening:
        """When neighbouring work-items share an invocation."""
        return COARSENING.get(self._physical.driver_id, NO_COARSENING)

    @property
    def name(self) -> str:
        """The driver's name of the device."""
        return self._physical.name

    @property
    def physical(self) -> PhysicalDevice:
        """What the driver said about it."""
        return self._physical

    def has(self, aspect: Aspect | int) -> bool:
        """Returns whether it has an aspect; numbers that are no aspect it has not.

        The aspect number of a target of the device configuration it has where it is that target.

        Raises:
            TypeError: `aspect` is no number, as the name of an aspect.
        """
        with suppress(TypeError):  # what has no hash, as a list of aspects
            if aspect in self.aspects:
                return True
        if not isinstance(aspect, int):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            from .bundle_errors import ConstraintError, type_name

            raise ConstraintError(
                f"Device.has takes an aspect such as lp.Aspect.FP64, found {aspect!r} of type {type_name(aspect)}"
            )
        return not isinstance(aspect, Aspect) and aspect in self._target_numbers

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets of the device configuration that this device is, by name."""
        from ..ir.device_config import device_config

        return tuple(target.name for target in device_config().targets.values() if self._is(target))

    @cached_property
    def _target_numbers(self) -> frozenset[int]:
        from ..ir.device_config import device_config

        targets = device_config().targets
        return frozenset(targets[name].aspect_number for name in self.targets)

    def _is(self, target: Target) -> bool:
        """Whether it is a target: by its numbers, else by having all that the target has."""
        physical, info = self._unmasked, self.info
        if target.device is not None:
            return target.device == f"{physical.vendor_id:04x}:{physical.device_id:04x}"
        return (
            (target.aspects or frozenset()) <= self.aspects
            and set(target.sub_group_sizes or ()) <= set(info.sub_group_sizes)
            and (target.max_work_group_size or 0) <= info.max_work_group_size
            and all(map(operator.le, target.max_work_item_sizes or (), info.max_work_item_sizes))
            and (target.vulkan or (1, 0)) <= physical.api_version
            and (target.features or frozenset()) <= physical.features
        )

    def masked(
        self, *, without: Iterable[Aspect] = (), limits: Mapping[str, LimitValue] | None = None
    ) -> Device:
        """Returns a device on the same hardware that lacks some aspects or has lower limits.

        Its VkDevice is its own and is made without the features and extensions; kernels are compiled without them and
        checked against the lower limits.  It is not in `devices`.  Equal arguments give the same device.

        Args:
            without: aspects that it has not; those that it lacks anyway are allowed.  Aspects that cannot be without
                one of them go too.
            limits: by the name of ``lp.info.device`` or of Vulkan; below Vulkan's minimum is allowed, a value above
                the device's own changes nothing.

        Raises:
            InvalidError: something that is no aspect, or no such limit.
        """
        return self.with_mask(self.mask.joined(Mask.checked(without, limits or {})))

    def with_mask(self, mask: Mask) -> Device:
        """Returns the device of the same hardware with exactly this mask."""
        base = self._base or self
        with base._lock:
            if mask == base.mask:
                return base
            found = base._masked.get(mask)
            if found is None:
                if base._logical is not None and base._logical.is_adopted:
                    raise InvalidError(
                        f"device '{self.selector}' is a VkDevice of the application, whose features are fixed: it "
                        "cannot be masked"
                    )
                base._require_instance()
                selector = f"{base.selector}[{mask}]"
                found = Device(base._unmasked, selector, staged_memory=base._staged_memory, mask=mask)
                found._base = base
                found = base._masked.setdefault(mask, found)  # a finaliser may have made it in between
            return found

    @property
    def logical(self) -> LogicalDevice:
        """The VkDevice, made at first use.

        Raises:
            RuntimeFailure: the driver refuses.
        """
        logical = self._logical
        if logical is not None:
            return logical
        with self._lock:
            self._require_instance()
            if self._logical is None:
                if self._is_opening:
                    raise InvalidError(
                        f"device '{self.name}' is used by a finaliser or a signal handler while it is being opened by "
                        "the thread that it interrupts; let it note what is to be done, and do that later"
                    )
                make = partial(
                    LogicalDevice, staged_memory=self._staged_memory, own_transfers=self._own_transfers
                )
                # An iterator: Ctrl-C cannot come between making it and noting it, as in `submitter`.
                try:
                    self._is_opening = True
                    (self._logical,) = map(make, (self._physical,))
                finally:
                    self._is_opening = False
            return self._logical

    def _require_instance(self) -> None:
        """Raises DeviceLostError where a VkDevice cannot be made any more."""
        if self._is_forked:
            raise forked_error(self.name)
        if self._is_shut_down:
            raise DeviceLostError(f"device '{self.name}' was closed when the runtime was shut down")

    @property
    def is_open(self) -> bool:
        """Whether there is a VkDevice already."""
        return self._logical is not None

    @property
    def default_queue(self) -> Queue:
        """The queue of launches that name none, and of copies."""
        queue = self._default_queue
        if queue is not None and not queue.is_closed:
            return queue
        from .queue import Queue

        logical = self.logical
        with logical.lock:
            if self._default_queue is None or self._default_queue.is_closed:
                self._default_queue = Queue(self)
            return self._default_queue

    @property
    def default_context(self) -> Context:
        """The context of all devices of its platform, the same at every look."""
        from .context import default_context

        return default_context(self)

    def ext_oneapi_can_compile(self, lang: object) -> bool:
        """Returns whether it can have kernels of a source language; False for languages that nobody knows."""
        from .source_language import can_compile

        return can_compile(self, lang)

    def image_support(self, format: ImageFormat | str, ndim: int = 2) -> ImageSupport:
        """Returns what it does with images of a format: whether kernels read, filter and write them, and how large they
        may be.

        Args:
            format: an `lp.ImageFormat` or its name.
            ndim: 1 to 3.

        Raises:
            InvalidError: no such format or number of dimensions.
        """
        from .image_data import checked_format
        from .image_support import no_support

        known = checked_format("image_support", format)
        if known is None or isinstance(ndim, bool) or ndim not in (1, 2, 3):
            raise InvalidError(
                f"image_support takes an lp.ImageFormat and 1 to 3 dimensions, found {format!r:.60} and {ndim!r:.60}"
            )
        return self.logical.images.support(known, ndim) if self.has(Aspect.IMAGE) else no_support(known, ndim)

    def get_platform(self) -> Platform:
        """Returns `platform`."""
        return self.platform

    def get_info(self, descriptor: object) -> Any:
        """Returns what ``lp.info.device.x`` asks for, the same as ``info.x``; TypeError for other descriptors."""
        from .info_descriptors import answer

        return answer("Device", "device", self.info, descriptor)

    def is_cpu(self) -> bool:
        """Returns whether it has the aspect cpu."""
        return self.has(Aspect.CPU)

    def is_gpu(self) -> bool:
        """Returns whether it has the aspect gpu."""
        return self.has(Aspect.GPU)

    def is_accelerator(self) -> bool:
        """Returns whether it has the aspect accelerator."""
        return self.has(Aspect.ACCELERATOR)

    @cached_property
    def built_in_kernel_ids(self) -> tuple[KernelId, ...]:
        """The kernels that come with it; no other device has these."""
        from .built_in_kernels import make_ids

        return make_ids(self)

    def memory_stats(self) -> tuple[HeapStats, ...]:
        """Returns, for each memory heap, how much there is and how much this process took, used and uses now.

        Arrays that were let go of count until their last launch has ended and the runtime has noticed.
        """
        logical = self.logical
        with logical.lock:
            logical.require_usable()
            logical.collect()
            return logical.memory.stats()

    def before_fork(self, held: HeldLocks) -> None:
        """Waits until no other thread changes anything here, so that the child finds no lock taken."""
        held.take(self._lock)
        if self._logical is not None:
            held.take(self._logical.lock)
        for masked in self._masked.values():
            masked.before_fork(held)

    def abandon_after_fork(self) -> None:
        """Makes every use in this process, a fork of its own, an error."""
        for masked in self._masked.values():
            masked.abandon_after_fork()
        self._is_forked = True
        if self._logical is not None:
            self._logical.abandon_after_fork()

    def shut_down(self) -> None:
        """Destroys the VkDevice and everything on it, as far as that is safe; for the runtime's end."""
        with self._lock:
            self._is_shut_down = True
        for masked in self._masked.values():
            masked.shut_down()
        if self._logical is not None:
            self._logical.close()

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickled by its selector: for processes that see the same devices."""
        from .device_list import device

        with suppress(Error):
            if device(self.selector) is self:
                return device, (self.selector,)
        raise TypeError(
            f"{self!r} cannot be pickled: lp.device(…) does not find it; pickle what it was made of, and make it there"
        )

    if not TYPE_CHECKING:  # type checkers find by themselves what is missing

        def __getattr__(self, name: str) -> object:
            from .attribute_hints import missing_attribute

            raise missing_attribute(name, self)

    def __repr__(self) -> str:
        return f"<lapilli.Device {self.selector}: {self.name}>"
