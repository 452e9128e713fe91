"""BundleState: how far the code of a kernel bundle has come (SYCL 2020, ``sycl::bundle_state``)."""

from __future__ import annotations

import enum

from ..ir.errors import MembersByName


class BundleState(enum.Enum, metaclass=MembersByName):
    """How far the code of a bundle has come: compiling leads from INPUT to OBJECT, linking on to EXECUTABLE."""

    INPUT = "input"
    """Kernel-level IR: specialization constants can be set."""
    OBJECT = "object"
    """SPIR-V that may import from and export to other images."""
    EXECUTABLE = "executable"
    """Linked SPIR-V with its pipelines: kernels can be launched."""
    SOURCE = "source"
    """Text or bytes of another language, as they were given (sycl_ext_oneapi_kernel_compiler)."""
    EXT_ONEAPI_SOURCE = SOURCE
    """SYCL's name of `SOURCE`."""
