"""What launches of one device reuse: the bindings of kernels, and finished launch records."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kernel_commands import KernelBinding
    from .launch_record import LaunchRecord

RECORD_LIMIT = 4096
"""Launch records that are kept.  A program with more ranges than that starts over; its pipelines stay."""

BINDING_LIMIT = 256
"""Kernels whose bindings are kept; a program that goes on making kernels starts over."""


class LaunchCache:
    """Two dictionaries.  Entries hold the image and kernel whose `id` is in their key: no id goes stale."""

    def __init__(self) -> None:
        self.records: dict[tuple[object, ...], LaunchRecord] = {}
        self.bindings: dict[tuple[int, int], KernelBinding] = {}

    def add(self, key: tuple[object, ...], record: LaunchRecord) -> None:
        """Stores a record under the key that `launch.launch` looks it up by."""
        if len(self.records) >= RECORD_LIMIT:
            self.clear()
        self.records[key] = record

    def add_binding(self, key: tuple[int, int], binding: KernelBinding) -> None:
        """Stores how the arguments of a kernel reach it."""
        if len(self.bindings) >= BINDING_LIMIT:
            self.bindings.clear()  # launch records hold theirs
        self.bindings[key] = binding

    def clear(self) -> None:
        """Forgets everything."""
        self.records.clear()
        self.bindings.clear()
