"""Which kernel a command group launches: of the bound bundle, of a kernel object's bundle, or of the kernel's module.

With a bundle bound, a kernel function means that bundle's kernel, a kernel object must be of it, and nothing is
compiled.
"""

from __future__ import annotations

from ..ir.errors import InvalidError, KernelNotFoundError, KernelNotSupportedError
from .bundle_errors import ConstraintError, type_name, wrong_state
from .bundle_image import DeviceImage
from .bundle_launch import launch_kernel
from .bundle_state import BundleState
from .event import Event
from .group_constants import GroupConstants
from .kernel_bundle import KernelBundle
from .kernel_id import KernelId, given_id
from .kernel_object import Kernel, make_kernel
from .launchable import SINGLE_TASK, Launchable, LaunchRequest, Selector, launchable
from .queue import Queue


def executable_bundle(value: object) -> KernelBundle:
    """Returns `value` as a kernel bundle whose kernels can be launched.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, KernelBundle):
        raise ConstraintError(
            f"use_kernel_bundle takes an lp.KernelBundle, found {value!r} of type {type_name(value)}"
        )
    if value.state is not BundleState.EXECUTABLE:
        raise wrong_state("use_kernel_bundle", value.state, BundleState.EXECUTABLE)
    return value


def group_kernel(value: object, what: str) -> Launchable | Kernel:
    """Returns `value` as something that a command group launches.

    Raises:
        InvalidError: it is no kernel.
    """
    found = value if isinstance(value, Kernel) else launchable(value)
    if found is None:
        order = f"; the order is {what}(range, kernel, arguments…)" if what.endswith("parallel_for") else ""
        raise InvalidError(
            f"{what} expects a kernel: an @lp.kernel function, or a kernel of a kernel bundle; found {value!r} of type "
            f"{type_name(value)}{order}"
        )
    return found


def launch_in_group(
    kernel: Launchable | Kernel,
    request: LaunchRequest,
    constants: GroupConstants,
    bundle: KernelBundle | None,
    selector: Selector | None,
) -> Event:
    """Launches the kernel of a command group.

    Args:
        kernel: as the group named it.
        request: range, arguments and queue.
        constants: what the group set.
        bundle: what it is bound to.
        selector: chooses the image of the bundle.

    Raises:
        InvalidError: a kernel object of another bundle, context, or with constants of the group; a selector that
            returns no image of the bundle.
        KernelNotFoundError: the bundle does not have the kernel.
        KernelNotSupportedError: it has it, but not for the queue's device.
        Error: as `launch_kernel`, or a launch without a bundle.
    """
    if isinstance(kernel, Kernel):
        found = _own_kernel(kernel, request.queue, constants, bundle)
    elif bundle is None:
        values = {constant: constant.from_bytes(data) for constant, data in constants.values.items()}
        return kernel.submit(
            LaunchRequest(
                queue=request.queue,
                range=request.range,
                args=request.args,
                kwargs=request.kwargs,
                spec_values=values,
                wait_events=request.wait_events,
            )
        )
    else:
        found = _kernel_of(bundle, kernel)
    chosen = _image(found.kernel_bundle, found.kernel_id, request.queue, selector)
    name = chosen.name_of(found.kernel_id)
    assert name is not None, "the image was chosen because it has the kernel"
    is_fixed = chosen.info(name).required_work_group_size is not None or chosen.info(name).abi.is_masked
    return launch_kernel(
        request.queue,
        found,
        # The bundle has pipelines of the usual work-group size only: a kernel that masks its tail needs no other.
        1 if request.range is SINGLE_TASK and is_fixed else request.range,
        request.args,
        request.kwargs,
        wait_events=request.wait_events,
        image=chosen,
    )


def _kernel_of(bundle: KernelBundle, function: Launchable) -> Kernel:
    """Returns the bundle's kernel of a kernel function."""
    id_ = given_id(function)
    assert id_ is not None, "every kernel function has an id"
    return make_kernel(bundle, id_)


def _own_kernel(
    kernel: Kernel, queue: Queue, constants: GroupConstants, bundle: KernelBundle | None
) -> Kernel:
    """Checks that a kernel object may be launched in a group."""
    if bundle is not None and kernel.kernel_bundle != bundle:
        raise InvalidError(
            f"kernel '{kernel.name}' belongs to another kernel bundle than the one that the command group uses; take "
            "it from that one with kb.get_kernel(…)"
        )
    if kernel.context is not queue.context:
        is_default = queue is queue.device.default_queue
        found = "the default queue, where launches without .on(queue) go" if is_default else "the queue"
        raise InvalidError(
            f"kernel '{kernel.name}' belongs to another context than {found}; make a queue with "
            "q = lp.Queue(context=kernel.context) and launch with kernel[…].on(q)(…)"
        )
    if bundle is None:
        constants.bind(kernel.kernel_bundle)
    return kernel


def _image(bundle: KernelBundle, id_: KernelId, queue: Queue, selector: Selector | None) -> DeviceImage:
    """Returns the image to take a kernel from."""
    if selector is None:
        return bundle.image_of(id_, queue.device)
    images = list(bundle)
    chosen = selector(tuple(images))
    if not isinstance(chosen, DeviceImage) or not any(chosen is image for image in images):
        raise InvalidError(
            f"use_module(…, selector=…): expected one of the {len(images)} device images of the kernel bundle, found "
            f"{chosen!r}"
        )
    if not bundle.takes_values(chosen):
        raise InvalidError(
            "use_module(…, selector=…): the selector chose an image whose specialization constants are fixed at their "
            "defaults, and the kernel bundle has other values; choose one that is not image.frozen"
        )
    if not chosen.has_kernel(id_):
        raise KernelNotFoundError(
            f"kernel '{id_.qualified_name}' is not in the device image that the selector chose; it has "
            f"{', '.join(chosen.kernels) or 'none'}"
        )
    if not chosen.is_compatible(queue.device):
        raise KernelNotSupportedError(
            f"kernel '{id_.qualified_name}': the device image that the selector chose does not run on device "
            f"'{queue.device.selector}' ({queue.device.name})"
        )
    return chosen
