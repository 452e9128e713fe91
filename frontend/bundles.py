"""The free functions of kernel bundles: the composition root of ``lp.get_kernel_bundle`` and its siblings.

What a bundle is made of comes from `unit_images`; what the states do is `vk_runtime.bundle_transitions`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ..ir.errors import BuildError, InvalidError, KernelNotSupportedError, user_facing
from ..vk_runtime.bundle_errors import ConstraintError
from ..vk_runtime.bundle_image import DeviceImage
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.bundle_transitions import build_bundle, compile_bundle, join_bundles, link_bundles
from ..vk_runtime.compatibility import checked_device
from ..vk_runtime.context import Context
from ..vk_runtime.device import Device
from ..vk_runtime.device_list import device
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_id import KernelId
from .bundle_arguments import checked_devices, wanted_kernels
from .bundle_images import (
    Selector,
    bundle_of,
    input_images,
    is_representable,
    lacking,
    selected_bundle,
    unmet_by,
)
from .bundle_toolchain import toolchain
from .units import all_kernels, find_id, id_of

# Kernel ids


@user_facing
def get_kernel_id(kernel: object) -> KernelId:
    """Returns the identity of a kernel of the application.

    Args:
        kernel: a kernel function, its module-qualified name, or its ``name=`` or function's name where that is
            unambiguous.

    Raises:
        UnknownKernelError: there is no kernel of that name.
        InvalidError: several kernels have the name, or the function is no kernel.
    """
    return find_id("get_kernel_id", kernel)


@user_facing
def get_kernel_ids() -> list[KernelId]:
    """Returns the identities of all kernels that the application defines; built-in kernels are not among them."""
    return [id_of(kernel) for kernel in all_kernels()]


# Getting bundles


@user_facing
def get_kernel_bundle(
    ctx: Context,
    devs: Sequence[Device] | None = None,
    *,
    state: BundleState,
    kernel_ids: Sequence[object] | None = None,
    kernel: object = None,
    selector: Selector | None = None,
) -> KernelBundle:
    """Returns kernels of the application as a bundle, compiled and linked as far as `state` needs it.

    Args:
        ctx: the context.
        devs: devices of the context; None: all of them.
        state: INPUT, OBJECT or EXECUTABLE.
        kernel_ids: only images with one of these kernels (ids, kernel functions or names).
        kernel: the same for one kernel.
        selector: called once with each image; only those for which it returns something true are kept.

    Raises:
        InvalidError: an empty device list, a device that the context does not have or that has no online compiler
            or linker, a kernel that no device supports, or an unknown name.
        BuildError: a kernel cannot be compiled or linked; never for `state` INPUT.
        TypeError: an argument of the wrong kind, or more than one of `kernel_ids`, `kernel` and `selector`.
    """
    what = "get_kernel_bundle"
    wanted = wanted_kernels(what, kernel_ids, kernel, selector)
    devices = checked_devices(what, ctx, devs, state)
    problem = lacking(devices, state)
    if problem is not None:
        raise InvalidError(f"{what}: {problem}")
    if wanted is not None and any(id_.origin is not None for id_ in wanted):
        from .lpk_loading import bundle_of_files

        return bundle_of_files(what, ctx, devices, state, wanted)
    if wanted is None and selector is None:
        return _whole_application(ctx, devices, state)
    images = input_images(what, devices, wanted)
    if selector is not None:
        return selected_bundle(ctx, devices, images, state, selector)
    for id_ in wanted or ():
        _require_kernel(what, id_, images, devices)
    bundle = bundle_of(ctx, devices, [image for image in images if is_representable(image, state)], state)
    for id_, refusal in bundle.refused.items():
        if id_ in (wanted or ()):
            try:
                refusal(devices[0])
            except KernelNotSupportedError as error:  # it is known only once the kernel is linked
                raise InvalidError(f"{what}: {error}", location=error.location) from error
    return bundle


def _whole_application(ctx: Context, devices: tuple[Device, ...], state: BundleState) -> KernelBundle:
    """Returns a bundle of every kernel.

    A kernel that the program has dropped may live on in a cycle, as a caught error and its frames are; one that cannot
    be built must not fail the others, so the cycles are collected then.
    """
    what = "get_kernel_bundle"
    with suppress(BuildError):
        return bundle_of(ctx, devices, input_images(what, devices, None), state)
    gc.collect()  # here, where the frames of the error are gone
    return bundle_of(ctx, devices, input_images(what, devices, None), state)


def _require_kernel(
    what: str, id_: KernelId, images: Sequence[DeviceImage], devices: Sequence[Device]
) -> None:
    if not any(image.has_kernel(id_, item) for image in images for item in devices):
        names = ", ".join(f"'{item.selector}'{unmet_by(what, id_, item)}" for item in devices)
        raise InvalidError(
            f"{what}: kernel '{id_.qualified_name}' runs on none of the devices {names}; "
            "lp.is_compatible tells which kernels a device supports"
        )


@user_facing
def has_kernel_bundle(
    ctx: Context,
    devs: Sequence[Device] | None = None,
    *,
    state: BundleState,
    kernel_ids: Sequence[object] | None = None,
    kernel: object = None,
) -> bool:
    """Returns whether `get_kernel_bundle` has kernels for these arguments; nothing is compiled.

    Without `kernel_ids` and `kernel`: whether there is a kernel that one of the devices supports.  With them:
    whether each of them is such a kernel, so that an empty list gives True.

    Raises:
        InvalidError: an empty device list, a device that the context does not have, or an unknown name.
        TypeError: an argument of the wrong kind, or both of `kernel_ids` and `kernel`.
    """
    what = "has_kernel_bundle"
    wanted = wanted_kernels(what, kernel_ids, kernel, None)
    devices = checked_devices(what, ctx, devs, state)
    if lacking(devices, state) is not None:
        return False
    if wanted is None:
        return any(image.kernel_ids for image in input_images(what, devices, None))
    return _have_all(what, wanted, devices, state)


def _have_all(what: str, wanted: Sequence[KernelId], devices: tuple[Device, ...], state: BundleState) -> bool:
    """Returns whether bundles of a state can have every one of some kernels, for one of some devices."""
    loaded = [id_ for id_ in wanted if id_.origin is not None]
    if loaded:
        from .lpk_loading import is_in_files

        if not is_in_files(loaded, devices, state):
            return False
    own = [id_ for id_ in wanted if id_.origin is None]
    images = [image for image in input_images(what, devices, own) if is_representable(image, state)]
    if state is BundleState.EXECUTABLE and any(id_.is_application for id_ in own):
        from .linked_needs import runs_linked  # the analysis has loaded the compiler by now

        images = [image for image in images if runs_linked(image, devices)]
    return all(any(image.has_kernel(id_, item) for image in images for item in devices) for id_ in own)


@user_facing
def is_compatible(
    kernel_ids: Sequence[object] | None = None, dev: Device | None = None, *, kernel: object = None
) -> bool:
    """Returns whether a device can run all of some kernels, True for none.

    Args:
        kernel_ids: ids, kernel functions or names.
        dev: the device; None: the default device.
        kernel: one kernel, instead of `kernel_ids`.

    Raises:
        InvalidError: an unknown name.
        TypeError: neither or both of `kernel_ids` and `kernel`, or an argument of the wrong kind.
    """
    what = "is_compatible"
    wanted = wanted_kernels(what, kernel_ids, kernel, None)
    if wanted is None:
        raise ConstraintError("is_compatible takes kernel_ids or kernel, found neither")
    where = device() if dev is None else checked_device(what, dev)
    # Whatever a device supports it can have in executable form.
    return _have_all(what, wanted, (where,), BundleState.EXECUTABLE)


# From state to state


@user_facing
def compile(
    kb: KernelBundle, devs: Sequence[Device] | None = None, *, props: Iterable[object] = ()
) -> KernelBundle:
    """Compiles an input bundle to an object bundle; kernels that none of the devices supports are left out.

    Args:
        kb: in state INPUT.
        devs: devices of the bundle; None: all of them.
        props: `lp.properties.Debug`, `lp.properties.Log`, and of compile and build `EmulateSpecConstants`; of native
            modules `lp.SpecValues` too.

    Raises:
        BuildError: a kernel cannot be compiled.
        InvalidError: an empty device list, a device that the bundle does not have, or a property not taken.
        TypeError: a bundle in another state, or an argument of the wrong kind.
    """
    if _is_source(kb):
        from ..vk_runtime.source_bundles import compile_source

        return compile_source(kb, devs, props, toolchain)
    return compile_bundle(kb, devs, props)


@user_facing
def link(
    kb_or_list: KernelBundle | Sequence[KernelBundle],
    devs: Sequence[Device] | None = None,
    *,
    props: Iterable[object] = (),
) -> KernelBundle:
    """Links object bundles to an executable bundle, and makes its pipelines.

    Args:
        kb_or_list: one bundle or several, in state OBJECT, of one context.
        devs: devices that each of the bundles has; None: all that they have in common.
        props: `lp.properties.Debug`, `lp.properties.Log`.

    Raises:
        BuildError: a symbol is not resolved or defined twice, or a driver refuses a pipeline.
        InvalidError: no bundle, several contexts, no common device, an empty device list, a device that a bundle
            does not have, specialization constants set to different values, or a property not taken.
        TypeError: a bundle in another state, or an argument of the wrong kind.
    """
    return link_bundles(kb_or_list, devs, props, toolchain)


@user_facing
def build(
    kb: KernelBundle, devs: Sequence[Device] | None = None, *, props: Iterable[object] = ()
) -> KernelBundle:
    """Compiles and links an input bundle to an executable bundle; arguments and errors as `compile` and `link`."""
    if _is_source(kb):
        from ..vk_runtime.source_bundles import build_source

        return build_source(kb, devs, props, toolchain)
    return build_bundle(kb, devs, props, toolchain)


def _is_source(kb: object) -> bool:
    return isinstance(kb, KernelBundle) and kb.state is BundleState.SOURCE


@user_facing
def join(bundles: Iterable[KernelBundle], *, state: BundleState | None = None) -> KernelBundle:
    """Returns the union of bundles of one state; nothing is compiled or linked.

    Args:
        bundles: of one context and the same devices.
        state: their state; without bundles the state of the empty result, in the default device's context.

    Raises:
        InvalidError: several contexts or different devices, or specialization constants set to different values.
        TypeError: bundles in different states, an argument of the wrong kind, or neither bundles nor a state.
    """
    joined = join_bundles(bundles, state)
    if joined is not None:
        return joined
    if state is None:
        raise ConstraintError("join: an empty list of kernel bundles needs state=…")
    context = device().default_context
    return make_bundle(context, context.devices, state, ())
