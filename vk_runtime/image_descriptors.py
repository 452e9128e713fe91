"""Descriptors of images and samplers: what a binding shows, and VkDescriptorImageInfo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .constants import (
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
    VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    VK_DESCRIPTOR_TYPE_SAMPLER,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    VK_IMAGE_LAYOUT_GENERAL,
)
from .headers import make

if TYPE_CHECKING:
    from .tracked import Tracked

    Shown = tuple[Tracked, ...]
else:
    Shown = tuple

DESCRIPTOR_TYPES = {
    "storage": VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    "fetched": VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    "sampled": VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
    "sampler": VK_DESCRIPTOR_TYPE_SAMPLER,
}
"""VkDescriptorType by `ImageParameter.descriptor`."""
IMAGE_TYPES = frozenset(DESCRIPTOR_TYPES.values())


def shown_by_binding(memory: Sequence[Tracked], types: Sequence[int]) -> list[Shown]:
    """Returns what each binding shows: one thing, or an image and its sampler.

    Args:
        memory: everything in the order of the bindings.
        types: VkDescriptorType of each binding.
    """
    found: list[Shown] = []
    position = 0
    for kind in types:
        count = 2 if kind == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER else 1
        found.append(tuple(memory[position : position + count]))
        position += count
    assert position == len(memory), "as many things as the bindings show"
    return found


def image_info(shown: Sequence[Any], kind: int) -> Any:
    """Returns the VkDescriptorImageInfo of an image, a sampler, or both."""
    fields: dict[str, Any] = {}
    if kind != VK_DESCRIPTOR_TYPE_SAMPLER:
        fields |= {"imageView": shown[0].view, "imageLayout": VK_IMAGE_LAYOUT_GENERAL}
    if kind in (VK_DESCRIPTOR_TYPE_SAMPLER, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER):
        fields["sampler"] = shown[-1].raw
    return make("VkDescriptorImageInfo", **fields)
