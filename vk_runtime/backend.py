"""Backend: what runs the kernels (SYCL 2020, ``sycl::backend``)."""

from __future__ import annotations

import enum


class Backend(enum.Enum):
    """What runs the kernels (SYCL 2020, ``sycl::backend``)."""

    VULKAN = "vulkan"


class VulkanObject:
    """What every object that SYCL 2020 gives a backend says of it."""

    __slots__ = ()

    @property
    def backend(self) -> Backend:
        """What drives it."""
        return Backend.VULKAN

    def get_backend(self) -> Backend:
        """Returns `backend`."""
        return Backend.VULKAN
