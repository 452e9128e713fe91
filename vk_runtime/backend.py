"""Backend: what runs the kernels (SYCL 2020, ``sycl::backend``)."""

from __future__ import annotations

import enum


class Backend(enum.Enum):
    """What runs the kernels (SYCL 2020, ``sycl::backend``)."""

    VULKAN = "vulkan"
