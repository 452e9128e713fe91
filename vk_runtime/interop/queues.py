"""Queues: VkQueue, with its family."""

from __future__ import annotations

from typing import cast

from ...ir.errors import InvalidError
from ..bundle_errors import ConstraintError, type_name
from ..context import AsyncHandler, Context
from ..headers import address_of
from ..queue import Queue
from .handle_refs import given_out, owners, share
from .natives import Native, handle, native_int, require_dispatchable, require_vulkan


def native_queue(queue: Queue) -> tuple[Native, int]:
    """Returns (VkQueue, queue family index)."""
    logical = queue.device.logical
    logical.share_queues()
    return given_out("VkQueue", queue.vk_queue, queue), logical.physical.queue_family_index


def make_queue(native: object, ctx: Context, async_handler: AsyncHandler | None = None) -> Queue:
    """Returns a new queue that submits to a VkQueue.

    Args:
        native: a VkQueue of the context's VkDevice, or (VkQueue, family).
        ctx: the context.
        async_handler: gets the errors that its commands meet while they run.

    Raises:
        InvalidError: no VkQueue, one of another context, or of another family than the context's.
        TypeError: not a handle, or no context.
    """
    what = "make_queue"
    require_context(what, ctx)
    family: object = None
    if isinstance(native, tuple):
        pair = list(cast("tuple[object, ...]", native))
        if len(pair) != 2:
            raise ConstraintError(f"{what} takes a VkQueue or (VkQueue, family), found {native!r}")
        native, family = pair
    number = native_int(what, native, "VkQueue")
    sharing = [queue.device for queue in owners("VkQueue", number) if isinstance(queue, Queue)]
    own = [d for d in ctx.devices if address_of(d.logical.vk_queue) == number]
    found = own or [d for d in sharing if d in ctx.devices]
    first, *others = ctx.devices
    if not found and (sharing or others):
        raise InvalidError(
            f"{what}: the VkQueue {number:#x} belongs to none of the context's VkDevices; make a context of its "
            "VkDevice with lp.vulkan.make_context"
        )
    device = found[0] if found else first
    logical = device.logical
    if not found and not logical.is_adopted:
        raise InvalidError(
            f"{what}: the VkQueue {number:#x} is not of the context's VkDevice; make a context of its VkDevice with "
            "lp.vulkan.make_context"
        )
    if family is not None and family != logical.physical.queue_family_index:
        raise InvalidError(
            f"{what}: the VkQueue is of family {family!r}, the context uses family "
            f"{logical.physical.queue_family_index}; pass queue_family= to lp.vulkan.make_context"
        )
    if not found:
        require_dispatchable(what, number, "VkQueue")
    queue = Queue(device, context=ctx, async_handler=async_handler)
    queue.vk_queue = handle("VkQueue", number)
    share("VkQueue", number, queue)
    return queue


def require_context(what: str, ctx: object) -> None:
    """Raises TypeError where something is no context, BackendMismatchError where it is another backend's."""
    require_vulkan(what, ctx)
    if not isinstance(ctx, Context):
        raise ConstraintError(f"{what} takes an lp.Context, found {ctx!r:.60} of type {type_name(ctx)}")
