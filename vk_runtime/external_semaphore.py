"""Semaphores that others share: exported and imported as file descriptors (VK_KHR_external_semaphore_fd).

They order the work of queues in different processes, or of Vulkan and CUDA or HIP, on memory that both see.  Drivers
have binary semaphores, timeline semaphores, both, or none to share; they are asked each time.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from ..ir.errors import FeatureNotSupportedError, InvalidError
from . import graph_recording
from .bundle_errors import ConstraintError, type_name
from .constants import (
    VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT,
    VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT,
    VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT,
    VK_SEMAPHORE_TYPE_BINARY,
    VK_SEMAPHORE_TYPE_TIMELINE,
)
from .device import Device
from .device_list import device as device_of
from .file_descriptors import require_shared_fd
from .handle import Handle
from .headers import NULL, chain, ffi, make
from .queue import Queue

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

Kind = Literal["timeline", "binary"]
"""``timeline``: counts up, any number may wait for a value; ``binary``: one signal for one wait."""

_EXTENSION = "VK_KHR_external_semaphore_fd"
_TYPES: dict[str, int] = {"timeline": VK_SEMAPHORE_TYPE_TIMELINE, "binary": VK_SEMAPHORE_TYPE_BINARY}
_OPAQUE_FD = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
_ALL_COMMANDS = 0x10000
"""VK_PIPELINE_STAGE_ALL_COMMANDS_BIT."""


class _Native(Handle):
    """The VkSemaphore, which submissions that signal or wait for it hold.  Make it with the device's lock held."""

    def __init__(self, device: LogicalDevice, info: Any) -> None:
        self.raw = self._make(device, "Semaphore", info)


class ExternalSemaphore:
    """A semaphore that can be exported; `import_semaphore_fd` makes the other end.

    It may be closed, or let go of, while queues have yet to signal it or to wait for it.

    Args:
        device: by default the default device.
        kind: ``timeline`` or ``binary``; None: a timeline where the driver shares these, else binary.

    Raises:
        FeatureNotSupportedError: the driver shares no semaphores, or none of this kind.
        InvalidError: another kind.
    """

    def __init__(self, device: Device | str | None = None, *, kind: Kind | None = None) -> None:
        self._setup("lp.ExternalSemaphore", device, kind, VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT)

    def _setup(self, what: str, device: Device | str | None, kind: object, feature: int) -> None:
        self._device = device if isinstance(device, Device) else device_of(device)
        self._kind = _checked_kind(what, self._device, kind, feature)
        self._value = 0
        logical = self._device.logical
        exported = make("VkExportSemaphoreCreateInfo", handleTypes=_OPAQUE_FD)
        structs = [make("VkSemaphoreTypeCreateInfo", semaphoreType=_TYPES[self._kind])]
        if feature == VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT:
            structs.append(exported)
        with logical.lock:
            logical.require_usable()
            info = make("VkSemaphoreCreateInfo", pNext=chain(*structs))
            self._native: _Native | None = _Native(logical, info)

    @property
    def device(self) -> Device:
        """The device whose queues use it."""
        return self._device

    @property
    def kind(self) -> Kind:
        """``timeline`` or ``binary``."""
        return cast("Kind", self._kind)

    @property
    def raw(self) -> Any:
        """The VkSemaphore."""
        return self._require_open().raw

    @property
    def is_closed(self) -> bool:
        """Whether it was given up."""
        return self._native is None

    def close(self) -> None:
        """Gives it up; later use raises.  What queues were told before still takes place."""
        self._native = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def export_fd(self) -> int:
        """Returns a new file descriptor, for `import_semaphore_fd`, CUDA or HIP; the caller closes it."""
        native, logical = self._require_open(), self._device.logical
        info = make("VkSemaphoreGetFdInfoKHR", semaphore=native.raw, handleType=_OPAQUE_FD)
        out = ffi.new("int*")
        logical.check(logical.vk.vkGetSemaphoreFdKHR(logical.raw, info, out), "vkGetSemaphoreFdKHR")
        return out[0]

    def signal(self, queue: Queue, value: int = 0) -> None:
        """Makes a queue signal it once everything that the queue has got so far has ended.

        Args:
            queue: of the semaphore's device.
            value: of a timeline: above all that it was signalled with; of no meaning for a binary semaphore.

        Raises:
            InvalidError: a queue of another device, or a value that cannot be.
        """
        self._submit("signal", queue, value, is_signal=True)

    def wait(self, queue: Queue, value: int = 0) -> None:
        """Makes everything that a queue gets from here on wait for it; the host goes on.

        Args:
            queue: of the semaphore's device.
            value: of a timeline: what it must have reached; of no meaning for a binary semaphore, which must have been
                signalled, or be about to by work that waits for nothing here.

        Raises:
            InvalidError: a queue of another device, or a value that cannot be.
        """
        self._submit("wait", queue, value, is_signal=False)

    def _submit(self, verb: str, queue: Queue, value: int, *, is_signal: bool) -> None:
        native = self._require_open()
        graph_recording.refuse("a signal or a wait of an lp.ExternalSemaphore")
        if not isinstance(queue, Queue):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
            raise ConstraintError(f"ExternalSemaphore.{verb} takes an lp.Queue, found {type_name(queue)}")
        if queue.device is not self._device:
            raise InvalidError(
                f"ExternalSemaphore.{verb}: expected a queue of device '{self._device.selector}', found one of "
                f"'{queue.device.selector}'"
            )
        number = self._checked_value(verb, value, is_signal=is_signal)
        logical = self._device.logical
        info = _submission(native.raw, number, is_signal=is_signal)
        with logical.lock:
            logical.require_usable()
            queue.flush()
            # What ends later keeps the semaphore until then.  First: it may fail, and a submission is not taken back.
            queue.open().keep.append(native)
            # Without commands it stands for all before it in the queue, or holds up all behind it (Vulkan 1.3, 7.4.1).
            logical.check(logical.vk.vkQueueSubmit(queue.vk_queue, 1, info, NULL), "vkQueueSubmit")
            if is_signal:
                self._value = number

    def _checked_value(self, verb: str, value: object, *, is_signal: bool) -> int:
        if self._kind == "binary":
            return 0
        try:
            number = operator.index(cast(int, value))
        except TypeError:
            number = -1
        least = self._value + 1 if is_signal else 0
        if not least <= number < 1 << 64:
            raise InvalidError(
                f"ExternalSemaphore.{verb}: the value of a timeline is an integer of {least} or more, found "
                f"{value!r:.40}"
            )
        return number

    def _require_open(self) -> _Native:
        native = self._native
        if native is None:
            raise InvalidError("this lp.ExternalSemaphore was closed")
        return native

    def __repr__(self) -> str:
        return f"<lapilli.ExternalSemaphore {self._kind} of {self._device!r}>"


def import_semaphore_fd(
    fd: int, *, device: Device | str | None = None, kind: Kind = "timeline"
) -> ExternalSemaphore:
    """Returns the semaphore that a file descriptor stands for: one end for this process.

    Args:
        fd: of `ExternalSemaphore.export_fd`, in this process or another; belongs to the driver afterwards, and stays
            open where this raises.
        device: of the same driver, and the same hardware, as the exporter's; by default the default device.
        kind: as exported.

    Raises:
        InvalidError: no file descriptor, or another kind.
        FeatureNotSupportedError: the driver imports no semaphores of the kind.
        RuntimeFailure: the driver does not take it.
    """
    what = "lp.import_semaphore_fd"
    try:
        number = operator.index(fd)
    except TypeError as error:
        raise InvalidError(f"{what} takes a file descriptor; found {fd!r:.40}") from error
    made = ExternalSemaphore.__new__(ExternalSemaphore)
    made._setup(what, device, kind, VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT)  # pyright: ignore[reportPrivateUsage]
    try:
        require_shared_fd(what, made.device.logical, number, 1)
        _import(made.device.logical, made.raw, number)
    except BaseException:
        made.close()
        raise
    return made


def _import(logical: LogicalDevice, raw: Any, fd: int) -> None:
    info = make("VkImportSemaphoreFdInfoKHR", semaphore=raw, handleType=_OPAQUE_FD, fd=fd)
    logical.check(logical.vk.vkImportSemaphoreFdKHR(logical.raw, info), "vkImportSemaphoreFdKHR")


def _submission(semaphore: Any, value: int, *, is_signal: bool) -> Any:
    """Returns a VkSubmitInfo of nothing but a signal or a wait."""
    semaphores, values = ffi.new("VkSemaphore[]", [semaphore]), ffi.new("uint64_t[]", [value])
    if is_signal:
        timeline = make(
            "VkTimelineSemaphoreSubmitInfo", signalSemaphoreValueCount=1, pSignalSemaphoreValues=values
        )
        return make("VkSubmitInfo", pNext=timeline, signalSemaphoreCount=1, pSignalSemaphores=semaphores)
    timeline = make("VkTimelineSemaphoreSubmitInfo", waitSemaphoreValueCount=1, pWaitSemaphoreValues=values)
    return make(
        "VkSubmitInfo",
        pNext=timeline,
        waitSemaphoreCount=1,
        pWaitSemaphores=semaphores,
        pWaitDstStageMask=ffi.new("VkPipelineStageFlags[]", [_ALL_COMMANDS]),
    )


def _checked_kind(what: str, device: Device, kind: object, feature: int) -> str:
    if kind is not None and kind not in _TYPES:
        raise InvalidError(f"{what}(kind=…): expected 'timeline' or 'binary', found {kind!r:.40}")
    if _EXTENSION not in device.physical.extensions:
        raise FeatureNotSupportedError(
            f"{what}: device '{device.name}' needs the extension {_EXTENSION}, which it does not have"
        )
    for name in _TYPES if kind is None else (str(kind),):
        if _features(device, _TYPES[name]) & feature:
            return name
    raise FeatureNotSupportedError(
        f"{what}: the driver of device '{device.name}' has {_EXTENSION} but shares no "
        f"{'semaphores' if kind is None else f'{kind} semaphores'}"
    )


def _features(device: Device, semaphore_type: int) -> int:
    """Returns the VkExternalSemaphoreFeatureFlags of a type of semaphore."""
    physical = device.physical
    of_type = make("VkSemaphoreTypeCreateInfo", semaphoreType=semaphore_type)
    info = make("VkPhysicalDeviceExternalSemaphoreInfo", handleType=_OPAQUE_FD, pNext=of_type)
    out = make("VkExternalSemaphoreProperties")
    physical.instance.vk.vkGetPhysicalDeviceExternalSemaphoreProperties(physical.raw, info, out)
    return int(out.externalSemaphoreFeatures)
