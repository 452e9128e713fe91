"""Backend: what runs the kernels (SYCL 2020, ``sycl::backend``)."""

from __future__ import annotations

import enum
from typing import Self

from ..ir.errors import MembersByName


class Backend(enum.Enum, metaclass=MembersByName):
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

    def __copy__(self) -> Self:
        """Returns the object itself: copies are one object, as SYCL's common reference semantics have it."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getstate__(self) -> object:
        name = f"lp.{type(self).__name__}"
        raise TypeError(
            f"an {name} belongs to this process and cannot be pickled; make one where it is needed"
        )
