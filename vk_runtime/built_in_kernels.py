"""The kernels that come with every device: their names and arguments; `frontend.built_in_library` has their code.

Each device has ids of its own, as SYCL's built-in kernels do, and they exist in executable bundles only.  Each comes
for several element types, ``fill_f32``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..ir.errors import KernelArgumentError
from .kernel_id import Binder, KernelId, make_kernel_id

if TYPE_CHECKING:
    from .device import Device

ELEMENT_TYPES = ("f32", "i32", "u32")
"""What arrays of built-in kernels hold; every device has these types."""

WORK_GROUP_SIZE = 64
"""Of the kernels that one work-group runs: `GROUP_KERNELS`."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "fill": ("out", "value"),
    "copy": ("source", "out"),
    "iota": ("out", "start", "step"),
    "reduce": ("source", "out"),
    "inclusive_scan": ("source", "out"),
    "exclusive_scan": ("source", "out"),
    "transpose": ("source", "out"),
    "histogram": ("source", "counts", "low", "high"),
}
"""Arguments of each kernel, by its name without the element type."""

GROUP_KERNELS = ("reduce", "inclusive_scan", "exclusive_scan")
"""The kernels that one work-group of `WORK_GROUP_SIZE` runs, whatever the length of the arrays."""


def make_ids(device: Device) -> tuple[KernelId, ...]:
    """Makes the ids of a device's built-in kernels."""
    return tuple(
        make_kernel_id(
            f"{kernel}_{element}",
            f"{device.selector}/{kernel}_{element}",
            _binder(f"{kernel}_{element}", parameters),
            parameters,
            attributes=f"reqd_work_group_size({WORK_GROUP_SIZE})" if kernel in GROUP_KERNELS else "",
            device=device,
        )
        for kernel, parameters in PARAMETERS.items()
        for element in ELEMENT_TYPES
    )


def _binder(name: str, parameters: tuple[str, ...]) -> Binder:
    """Returns what puts arguments in order; the launch checks what they are."""

    def bind(args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        if len(args) > len(parameters):
            raise KernelArgumentError(
                f"kernel '{name}' takes {len(parameters)} arguments ({', '.join(parameters)}), found {len(args)}"
            )
        values = dict(zip(parameters, args, strict=False))
        for key, value in kwargs.items():
            if key in values or key not in parameters:
                problem = "has two values" if key in values else "does not exist"
                raise KernelArgumentError(
                    f"kernel '{name}': parameter '{key}' {problem}; expected one value for each of "
                    f"{', '.join(parameters)}"
                )
            values[key] = value
        missing = [f"'{parameter}'" for parameter in parameters if parameter not in values]
        if missing:
            raise KernelArgumentError(f"kernel '{name}': parameter {', '.join(missing)} has no value")
        return tuple(values[parameter] for parameter in parameters)

    return bind
