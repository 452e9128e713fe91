"""Backend: what runs the kernels (SYCL 2020, ``sycl::backend``)."""

from __future__ import annotations

import enum
from typing import NoReturn

from ..ir.errors import MembersByName
from ..ir.process_object import ProcessObject


class Backend(enum.Enum, metaclass=MembersByName):
    """What runs the kernels (SYCL 2020, ``sycl::backend``)."""

    VULKAN = "vulkan"


class VulkanObject(ProcessObject):
    """What every object that SYCL 2020 gives a backend says of it."""

    __slots__ = ()

    @property
    def backend(self) -> Backend:
        """What drives it."""
        return Backend.VULKAN

    def get_backend(self) -> Backend:
        """Returns `backend`."""
        return Backend.VULKAN


class NotThere:
    """In the place of an attribute that a class has not: asking for it says what to write.

    For classes of which each launch reads many attributes.  Where there is a ``__getattr__`` CPython 3.11 takes 50 ns
    for each that is there, else 17.
    """

    is_hint = True
    """See `ir.public_names.PublicNames`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        from .attribute_hints import missing_attribute

        raise missing_attribute(self._name, instance)
