"""Input bundles of built-in kernels, which only the Modules proposal has: SYCL 2020 gives them in executable ones."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.errors import UnknownKernelError
from ..vk_runtime.bundle_errors import ConstraintError
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.context import Context
from ..vk_runtime.interop.queues import require_context
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from .built_in_images import built_in_images
from .bundle_images import compatible


def create_with_builtin_kernels(ctx: Context, names: Sequence[str]) -> KernelBundle:
    """Returns an input bundle of built-in kernels, those of each device; the name of the Modules proposal.

    Args:
        ctx: a context.
        names: names of `info.device.built_in_kernel_ids`, such as ``fill_f32``.

    Raises:
        UnknownKernelError: no device of the context has a built-in kernel of a name; an InvalidError.
    """
    what = "create_with_builtin_kernels"
    require_context(what, ctx)
    if isinstance(names, str):  # a sequence too, of letters
        raise ConstraintError(f"{what} takes a list of names, found {names!r:.40}")
    known = [id_ for device in ctx.devices for id_ in device.info.built_in_kernel_ids]
    for name in names:
        if all(id_.name != name for id_ in known):
            listed = ", ".join(dict.fromkeys(id_.name for id_ in known))
            raise UnknownKernelError(f"{what}: there is no built-in kernel {name!r}; there are {listed}")
    wanted = [id_ for id_ in known if id_.name in names]
    images = compatible(built_in_images(wanted, ctx.devices), ctx.devices)
    return make_bundle(ctx, ctx.devices, BundleState.INPUT, images)
