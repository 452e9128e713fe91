"""What a process holds on a device."""

# pyright: basic

from __future__ import annotations

import gc


def footprint(device):
    """What the process holds on a device: Vulkan objects, bytes, blocks."""
    logical = device.logical
    device.default_queue.wait()
    gc.collect()
    with logical.lock:
        logical.collect()
    # Semaphores that queues have let go of stay for the next ones.
    count = len(logical.graveyard) - len(logical.semaphores)
    return count, logical.memory.used_bytes, logical.memory.reserved_bytes
