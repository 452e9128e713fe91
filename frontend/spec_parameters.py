"""How a kernel names its specialization constants: ``lp.Spec[T]`` parameters and ``lp.KernelHandler``.

Neither is an argument.  A `Spec` parameter declares a `SpecializationId` of the kernel's own, which a launch may set
by keyword; a `KernelHandler` parameter is supplied by the runtime and reads ids by reference
(SYCL 2020 section 4.11.12.2).
"""

from __future__ import annotations

import types
from typing import Any, Final, NoReturn, cast

from ..ir.errors import InvalidError
from .intrinsics import Intrinsic, Namespace

GET_SPECIALIZATION_CONSTANT: Final = "kernel_handler.get_specialization_constant"
"""Key of the intrinsic that reads a constant through a handler."""


class Spec:
    """A specialization constant as a parameter: ``def k(x: lp.Array[lp.f32], *, TILE: lp.Spec[lp.u32] = 16)``.

    Only an annotation, of keyword-only parameters.  The default is that of the constant, zero where it is absent.
    """

    __lapilli_annotation__ = "spec"

    def __new__(cls, *_: object) -> Spec:
        raise InvalidError("lp.Spec is only an annotation, *, TILE: lp.Spec[lp.u32] = 16")

    def __class_getitem__(cls, parameters: object) -> types.GenericAlias:
        return types.GenericAlias(cls, cast(Any, parameters))


class KernelHandler:
    """Reads specialization constants in a kernel: ``def k(x: lp.Array[lp.f32], kh: lp.KernelHandler)``.

    A launch gives no argument for it.  In the kernel, and in helpers that it is handed on to,
    ``kh.get_specialization_constant(COEFF)`` is the value of the constant.
    """

    __lapilli_annotation__ = "kernel_handler"

    def get_specialization_constant(self, constant: object) -> NoReturn:
        """Works in kernels only.

        Raises:
            InvalidError: always, on the host.
        """
        raise InvalidError(
            "kh.get_specialization_constant works only inside a kernel; on the host ask the command group's handler "
            "or the kernel bundle, or read the default with .default",
            code="LP1003",
        )


IN_KERNEL: Final = Namespace(
    "KernelHandler", {"get_specialization_constant": Intrinsic(GET_SPECIALIZATION_CONSTANT)}
)
"""What a `KernelHandler` parameter is in a kernel: it has no value of its own."""
