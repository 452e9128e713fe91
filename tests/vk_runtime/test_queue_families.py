"""Which family of queues launches go to, of those that a driver lists."""

from __future__ import annotations

import pytest

from lapilli.vk_runtime.constants import (
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_DRIVER_ID_NVIDIA_PROPRIETARY,
    VK_QUEUE_COMPUTE_BIT,
    VK_QUEUE_GRAPHICS_BIT,
    VK_QUEUE_SPARSE_BINDING_BIT,
    VK_QUEUE_TRANSFER_BIT,
)
from lapilli.vk_runtime.queue_families import computing_families

PROTECTED, VIDEO = 0x10, 0x20
COPIES = VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT
COMPUTES = COPIES | VK_QUEUE_COMPUTE_BIT
DRAWS = COMPUTES | VK_QUEUE_GRAPHICS_BIT
NVIDIA, OTHER = VK_DRIVER_ID_NVIDIA_PROPRIETARY, VK_DRIVER_ID_MESA_LLVMPIPE


@pytest.mark.parametrize(
    ("driver", "families", "expected"),
    [
        (NVIDIA, [(DRAWS, 64), (COPIES, 64), (COMPUTES, 64), (VIDEO | COPIES, 32)], (2, 0)),
        (OTHER, [(DRAWS, 64), (COPIES, 64), (COMPUTES, 64)], (0, 2)),
        (NVIDIA, [(DRAWS | PROTECTED, 64), (COMPUTES, 64)], (1, 0)),
        (NVIDIA, [(DRAWS, 64), (COMPUTES & ~VK_QUEUE_SPARSE_BINDING_BIT, 64)], (0, 1)),
        (NVIDIA, [(DRAWS, 64), (COMPUTES, 0)], (0, 1)),
        (NVIDIA, [(DRAWS, 64), (0, 64)], (0,)),
        (NVIDIA, [(COPIES, 64)], ()),
    ],
)
def test_the_family_without_graphics_is_first_where_it_is_quicker(driver, families, expected):
    assert computing_families(families, driver) == expected
