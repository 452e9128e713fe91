"""Interoperability with programs that use Vulkan themselves: ``lp.vulkan``; see `lapilli.frontend.vulkan`."""

from .frontend import vulkan as _vulkan
from .frontend.vulkan import *  # noqa: F403

__all__ = _vulkan.__all__  # pyright: ignore[reportUnsupportedDunderAll]
