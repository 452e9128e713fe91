"""What launches reuse: finished launch records, and the bindings of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from .kernel_commands import KernelBinding
    from .launch_record import LaunchRecord

RECORD_LIMIT = 1024
"""Launch records that are kept; of a program with more ranges than that the oldest go, and their pipelines stay."""


class LaunchRecords:
    """Launch records of a kernel bundle, with which they go, or of a device.

    Entries hold the image, the kernel and the device whose `id` is in their key: no id goes stale.
    """

    def __init__(self) -> None:
        self.records: dict[tuple[object, ...], LaunchRecord] = {}

    def add(self, key: tuple[object, ...], record: LaunchRecord) -> None:
        """Stores a record under the key that `launch.launch` looks it up by."""
        records = self.records
        if len(records) >= RECORD_LIMIT:
            for oldest in tuple(records)[: -RECORD_LIMIT + 1]:  # at once: other threads may do the same
                records.pop(oldest, None)
        records[key] = record

    def clear(self) -> None:
        """Forgets everything."""
        self.records.clear()


class LaunchCache(LaunchRecords):
    """Those of a device, for kernels without a bundle, and how arguments reach the kernels of all launches."""

    def __init__(self) -> None:
        super().__init__()
        self.bindings: WeakValueDictionary[tuple[int, int], KernelBinding] = WeakValueDictionary()
        """By image and kernel.  Launch records hold theirs, and what the kernel reports goes with the last of them."""
