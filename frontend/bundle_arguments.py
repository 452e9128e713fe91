"""The arguments that the free functions of kernel bundles share: which kernels, which devices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from ..ir.errors import InvalidError
from ..vk_runtime.bundle_errors import ConstraintError, type_name
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.context import Context, member_devices
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_id import KernelId
from .bundle_images import BUNDLE_STATES
from .units import find_id


def wanted_kernels(
    what: str, kernel_ids: object, kernel: object, selector: object
) -> tuple[KernelId, ...] | None:
    """Returns the kernels that are asked for, None for all."""
    given = {"kernel_ids": kernel_ids, "kernel": kernel, "selector": selector}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ConstraintError(
            f"{what} takes one of kernel_ids, kernel and selector; found {' and '.join(names)}"
        )
    if selector is not None and not callable(selector):
        raise ConstraintError(f"{what}(selector=…) takes a function of an image, found {selector!r}")
    if kernel is not None:
        return (find_id(what, kernel),)
    if kernel_ids is None:
        return None
    if isinstance(kernel_ids, str | bytes) or not isinstance(kernel_ids, Iterable):
        raise ConstraintError(
            f"{what}(kernel_ids=…) takes a list of lp.KernelId objects or kernels, found {kernel_ids!r}; "
            "write a list of one, [kernel]"
        )
    return tuple(dict.fromkeys(find_id(what, item) for item in cast("Iterable[object]", kernel_ids)))


def checked_devices(what: str, ctx: object, devs: object, state: object) -> tuple[Device, ...]:
    if not isinstance(ctx, Context):
        raise ConstraintError(
            f"{what} takes an lp.Context first, found {ctx!r} of type {type_name(ctx)}; "
            "a device has its device.default_context, a queue its queue.context"
        )
    if not isinstance(state, BundleState):
        raise ConstraintError(f"{what}(state=…) takes an lp.BundleState, found {state!r}")
    if state not in BUNDLE_STATES:
        raise InvalidError(
            f"{what}: kernels of the application have no state {state.name}; expected INPUT, OBJECT or EXECUTABLE "
            "(lp.create_kernel_bundle_from_source makes source bundles)"
        )
    return member_devices(what, devs, ctx.devices, "context")
