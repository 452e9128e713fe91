"""The process's runtime: every entry point, its instance, and the devices behind it.

Made at the first question for a device, taken down in order when the interpreter exits: devices, then
instances.  A device that another thread still uses is left as it is, and its instance with it: see `logical_device`.
Driver libraries stay loaded, because drivers do not survive being unloaded.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from ..ir.config import check_variables, config, warn_of_misspelt_variables
from ..ir.deferred_definitions import deferred_definitions
from ..ir.errors import Error, RuntimeFailure
from ..ir.lazy_logging import logger_of
from ..ir.start_up import import_libraries, import_now, side_by_side
from .constants import VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_ERROR_INCOMPATIBLE_DRIVER
from .errors import VulkanError
from .handle import living
from .held_locks import HeldLocks
from .instance import Instance
from .loader import (
    EMBEDDED_VARIABLE,
    INSTALL_DRIVER,
    INSTALL_EMBEDDED,
    EntryPoint,
    EntryPointError,
    Source,
    embedded_library,
    is_file,
    open_driver,
    open_loader,
)

if TYPE_CHECKING:
    from .device import Device
    from .driver_report import DriverRecord, Status
    from .physical_device import PhysicalDevice

logger = logger_of(__name__)

_making = threading.RLock()
_made: list[Runtime] = []
"""The runtime, once it is there."""


class _Attempt:
    """One entry point that was tried: what `DriverRecord` says once the devices are made."""

    def __init__(self, source: Source, library: str, status: Status, reason: str) -> None:
        self.source: Source = source
        self.library = library
        self.status: Status = status
        self.reason = reason
        self.found: list[PhysicalDevice] = []


class Runtime:
    """All drivers and devices of the process.

    Args:
        opens_default: whether the caller will use the default device, so that its VkDevice is made beside the imports.
    """

    def __init__(self, *, opens_default: bool = False) -> None:
        self._instances: list[Instance] = []
        self._process_id = os.getpid()
        self._can_read = threading.Event()
        """Whether what reads physical devices is imported: not before the drivers start, which take longer."""
        self._can_open = threading.Event()
        """Whether what makes devices and VkDevices is imported."""
        self._attempts: list[_Attempt] = []
        self.devices: tuple[Device, ...] = ()
        """Every usable device, best first; those of the option `visible_devices`, where it is set."""
        self._defaults: dict[str | None, Device] = {}
        self.foreign: list[Device] = []
        """Devices on instances or VkDevices of the application.  They are in no list, and left alone at the end:
        the application may have destroyed what is theirs by then."""
        if config.validate:  # the layer's messages name the line of the program, which only this thread knows
            self._can_read.set()
            self._can_open.set()
            self._start(opens_default=False)
        else:
            _load_libraries()
            side_by_side(lambda: self._start(opens_default), self._import_the_rest)

    def _start(self, opens_default: bool) -> None:
        """Opens the drivers, lists their devices, and makes the VkDevice of the default one where that is wanted."""
        self._attempts = self._open_drivers()
        self._can_open.wait()
        from .device_list import make_devices, visible_devices

        found = make_devices([physical for attempt in self._attempts for physical in attempt.found])
        self.devices = visible_devices(found)
        # A profile of the process begins with its first VkDevice, and ends before the runtime does.
        if opens_default and self.devices and config.profile is None:
            with suppress(Exception):  # whoever uses the device meets it again
                self.default_device.logical  # noqa: B018 - makes it  # pyright: ignore[reportUnusedExpression]

    def _import_the_rest(self) -> None:
        """Imports what arrays need beyond this module, and what launches do where there are kernels."""
        try:
            with deferred_definitions():
                try:
                    from . import physical_device
                finally:
                    self._can_read.set()  # the thread that waits for it meets the error again
                from . import array_sharing, device, device_list, logical_device, queue, transfer

                del array_sharing, device, device_list, logical_device, physical_device, queue, transfer
        finally:
            self._can_open.set()
        import_now()

    def _open_drivers(self) -> list[_Attempt]:
        attempts = [self._try_loader()]
        attempts.append(self._try_embedded(attempts[0].found))
        return attempts

    def _try_loader(self) -> _Attempt:
        try:
            entry = open_loader()
        except EntryPointError as error:
            return _Attempt("loader", "", "missing", f"{error}; as root: {INSTALL_DRIVER}")
        return self._open(entry)

    def _try_embedded(self, found: list[PhysicalDevice]) -> _Attempt:
        path = embedded_library()
        if path is None:
            return _Attempt("embedded", "", "disabled", "LAPILLI_SWIFTSHADER is set and empty")
        if not is_file(path):
            is_named = EMBEDDED_VARIABLE in os.environ
            remedy = f"{EMBEDDED_VARIABLE} names it" if is_named else f"install it: {INSTALL_EMBEDDED}"
            return _Attempt("embedded", str(path), "missing", f"there is no such file; {remedy}")
        if any(physical.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER for physical in found):
            return _Attempt("embedded", str(path), "skipped", "the loader lists a SwiftShader already")
        try:
            entry = open_driver(path)
        except EntryPointError as error:
            return _Attempt("embedded", str(path), "failed", str(error))
        return self._open(entry)

    def _open(self, entry: EntryPoint) -> _Attempt:
        try:
            # Ctrl-C cannot come between its end and its entry in the list.
            self._instances.extend(map(Instance, (entry,)))
        except Error as error:  # also out-of-memory codes, the loader's answer to a damaged driver file
            if isinstance(error, VulkanError) and error.result == VK_ERROR_INCOMPATIBLE_DRIVER:
                reason = "no driver could be loaded (VK_ERROR_INCOMPATIBLE_DRIVER)"
                return _Attempt(entry.source, entry.library, "no device", reason)
            return _Attempt(entry.source, entry.library, "failed", str(error))
        instance = self._instances[-1]
        handles = instance.physical_devices()
        self._can_read.wait()
        from .physical_device import UnusableDeviceError, read_physical_device

        attempt = _Attempt(entry.source, entry.library, "ok", "")
        problems: list[str] = []
        for raw in handles:
            try:
                attempt.found.append(read_physical_device(instance, raw))
            except (UnusableDeviceError, Error) as error:
                problems.append(str(error))
        for problem in problems:
            logger.warning("a device of %s is not used: %s", entry.library, problem)
        if not attempt.found:
            attempt.status = "no device"
            problems = problems or ["it lists no device: no driver, or none that could be loaded"]
        names = [f"'{physical.name}'" for physical in attempt.found]
        attempt.reason = "; ".join([*(["devices " + ", ".join(names)] if names else []), *problems])
        return attempt

    @cached_property
    def records(self) -> tuple[DriverRecord, ...]:
        """What was tried, in order."""
        return tuple(self._record(attempt) for attempt in self._attempts)

    def _record(self, attempt: _Attempt) -> DriverRecord:
        from .driver_report import DriverRecord

        return DriverRecord(
            source=attempt.source,
            library=attempt.library,
            status=attempt.status,
            reason=attempt.reason,
            # By their handles: a device that is used without some aspects has a record of its own.
            devices=tuple(
                device
                for device in self.devices
                if any(
                    device.physical.instance is found.instance and device.physical.raw == found.raw
                    for found in attempt.found
                )
            ),
        )

    @property
    def default_device(self) -> Device:
        """The device of the option `device`, else the best one."""
        wanted = config.device  # read once, because reading it looks into the environment
        found = self._defaults.get(wanted)
        if found is None:
            from .device_list import default_device_of

            found = self._defaults[wanted] = default_device_of(self)
            logger.info("default device: %s (%s)", found.selector, found.name)
        return found

    @cached_property
    def listed(self) -> tuple[Device, ...]:
        """Its devices; without one, which is logged, an empty tuple whose first item raises `want_of_devices`."""
        if self.devices:
            return self.devices
        from .items import no_items

        logger.warning("no usable Vulkan device was found: `lapilli doctor` says why and what to install")
        return no_items(self.want_of_devices)

    def want_of_devices(self) -> RuntimeFailure:
        """Returns the error of what needs a device, which says what was looked at and what to install."""
        from .driver_report import diagnosis

        return RuntimeFailure(diagnosis(self.records))

    def close(self) -> None:
        """Destroys every device, then every instance; idempotent."""
        if os.getpid() != self._process_id:
            return  # a forked child does not own the driver's threads
        from . import profile

        for device in self.devices:
            device.shut_down()
        opened = [logical for logical in living(profile.devices) if not logical.is_adopted]
        own = [logical for logical in opened if logical.physical.instance in self._instances]
        for logical in own:  # also those that no list has, made for tests and by tools
            logical.close()
        in_use = [logical.physical.instance for logical in own if not logical.is_destroyed]
        for instance in self._instances:
            if instance not in in_use:
                instance.close()
        self._instances.clear()


def _load_libraries() -> None:
    """Imports the extension modules of `Runtime._import_the_rest`: while a driver is opened, no other can be."""
    for name in ("_bisect", "_json"):  # `bisect` and `json` import them if they are there
        with suppress(ImportError):
            import_module(name)
    from ..ir import sha256

    del sha256
    import_libraries()


def _follow_log_option() -> None:
    """Does what the option `log` says, from here on; raises InvalidError where it is wrong."""
    if config.log:
        from . import log_topics

        log_topics.set_up()


def _close_made() -> None:
    """Closes everything; the program has ended."""
    from .late_threads import hush

    hush()
    for made in _made:
        made.close()


def runtime(*, opens_default: bool = False) -> Runtime:
    """Returns the process's runtime, made at the first call; a machine without devices has one too.

    Args:
        opens_default: whether the caller will use the default device.
    """
    if _made:  # without the lock, which an interrupt could leave taken: arrays ask each time
        return _made[0]
    with _making:
        if not _made:
            _follow_log_option()
            if _follow_log_option not in config.watchers:
                atexit.register(_close_made)  # first, so called last: behind the end of the process's profile
                config.watchers.append(_follow_log_option)
            warn_of_misspelt_variables()
            _made.append(Runtime(opens_default=opens_default))
        return _made[0]


_forking = HeldLocks()
"""What the thread that forks holds meanwhile."""

_PATIENCE = 3
"""How often Ctrl-C is put off while a fork waits."""


def _before_fork() -> None:
    """Waits until no other thread makes the runtime or changes anything in it: the child would find its locks taken.

    Python only shows what this raises, and forks all the same: Ctrl-C is raised when the locks are there, unless
    somebody insists.
    """
    interrupts: list[KeyboardInterrupt] = []
    _forking.begin()  # a signal handler may fork in the middle of it
    while len(interrupts) < _PATIENCE:
        try:
            _forking.take(_making)
            for device in _every_device():
                device.before_fork(_forking)
            break
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt)  # go on: a lock that is taken twice now is given back twice
    if interrupts:
        raise interrupts[0]


def _after_fork_in_child() -> None:
    """The devices cannot be used, because drivers would hang."""
    try:
        for device in _every_device():
            device.abandon_after_fork()
    finally:
        _forking.give_back()


def _every_device() -> list[Device]:
    return [device for made in _made for device in (*made.devices, *made.foreign)]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_forking.give_back, after_in_child=_after_fork_in_child
    )


def runtime_of_program(*, opens_default: bool = False) -> Runtime:
    """Returns the runtime, for what a program does: a machine without devices has one too.

    Args:
        opens_default: whether the caller will use the default device.

    Raises:
        InvalidError: a variable of an option has a value that it does not take.
    """
    if not _made:
        check_variables()
    return runtime(opens_default=opens_default)


def require_devices(*, opens_default: bool = False) -> Runtime:
    """Returns the runtime.

    Args:
        opens_default: whether the caller will use the default device.

    Raises:
        InvalidError: a variable of an option has a value that it does not take.
        RuntimeFailure: it has no device; the text says what was looked at and what to install.
    """
    found = runtime_of_program(opens_default=opens_default)
    if not found.devices:
        raise found.want_of_devices()
    return found


def driver_report() -> tuple[DriverRecord, ...]:
    """Returns what was tried to find devices; never raises for want of one."""
    return runtime().records
