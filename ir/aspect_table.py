"""The one table that ties aspects to SPIR-V capabilities and to Vulkan features.  Standard library only.

`device.has`, masked devices, the check of binaries and the device configuration all read it, so that what a
kernel is said to need and what a device is said to have cannot drift apart.  The rows come from the Vulkan
registry (`tools/gen_aspect_table.py`); what follows from a device's kind (CPU, GPU, …) is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._generated_aspects import ROWS
from .aspects import Aspect


@dataclass(frozen=True, slots=True)
class AspectRow:
    """What one aspect means to a binary and to a driver."""

    aspect: Aspect
    capabilities: tuple[int, ...]
    """SPIR-V capabilities that a module with the aspect declares."""
    features: tuple[str, ...]
    """Vulkan features that a device with it has, all of them."""
    own_features: tuple[str, ...]
    """Those that a device without it must not enable; the others serve other aspects too."""
    extensions: tuple[str, ...]
    """Device extensions that bring the features; () where a Vulkan version does."""
    sub_group_operations: int
    """VkSubgroupFeatureFlagBits that the device's compute shaders have."""


ASPECT_ROWS: dict[Aspect, AspectRow] = {
    row.aspect: row for row in (AspectRow(Aspect(number), *columns) for number, columns in ROWS)
}
"""By aspect."""

ASPECT_OF_CAPABILITY: dict[int, Aspect] = {
    capability: row.aspect for row in ASPECT_ROWS.values() for capability in row.capabilities
}
"""The aspect that each optional capability stands for."""
