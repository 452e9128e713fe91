"""The free functions of kernel bundles: the composition root of ``lp.get_kernel_bundle`` and its siblings.

What a bundle is made of comes from `unit_images`; what the states do is `vk_runtime.bundle_transitions`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import cast

from ..ir.aspects import Aspect
from ..ir.errors import InvalidError
from ..spirv.device_image import DeviceImage as SpirvImage
from ..vk_runtime.bundle_errors import ConstraintError, type_name
from ..vk_runtime.bundle_image import DeviceImage, compiled, of_input, of_spirv
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.bundle_transitions import (
    build_bundle,
    common_environment,
    compile_bundle,
    join_bundles,
    link_bundles,
)
from ..vk_runtime.context import Context, member_devices
from ..vk_runtime.device import Device, device
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.toolchain import LinkedImage, Toolchain
from .built_in_images import built_in_images
from .unit_images import UnitImage, all_images, images_of_kernel, images_of_unit, note_linked
from .units import all_kernels, find_id, id_of

Selector = Callable[[DeviceImage], object]


class _Toolchain:
    """The compiler's work on SPIR-V; a `vk_runtime.toolchain.Toolchain`."""

    def link(
        self, images: Sequence[SpirvImage], devices: Sequence[Device], *, is_whole_program: bool
    ) -> list[LinkedImage]:
        """Returns the images that have kernels without imports and exports; see `bundle_linking`."""
        if any(image.is_object for image in images):
            from .bundle_linking import link_kernels

            made = link_kernels(images, is_whole_program=is_whole_program)
        else:
            made = [LinkedImage(image, (position,)) for position, image in enumerate(images)]
        for item in made:
            note_linked(item.image)
        return made

    def disassemble(self, spirv: bytes) -> str:
        """Returns SPIR-V as text."""
        from ..spirv.tools import spirv_tools

        return spirv_tools().disassemble(spirv)


toolchain: Toolchain = _Toolchain()
"""The compiler, as kernel bundles need it."""


# ---- kernel ids ----


def get_kernel_id(kernel: object) -> KernelId:
    """Returns the identity of a kernel of the application.

    Args:
        kernel: a kernel function, its module-qualified name, or its ``name=`` where that is unambiguous.

    Raises:
        UnknownKernelError: there is no kernel of that name.
        InvalidError: several kernels have the name, or the function is no kernel.
    """
    return find_id("get_kernel_id", kernel)


def get_kernel_ids() -> list[KernelId]:
    """Returns the identities of all kernels that the application defines; built-in kernels are not among them."""
    return [id_of(kernel) for kernel in all_kernels()]


# ---- getting bundles ----


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
    wanted = _wanted(what, kernel_ids, kernel, selector)
    devices = _devices(what, ctx, devs, state)
    for aspect, needed in _NEEDED_ASPECTS.get(state, ()):
        for item in devices:
            if not item.has(aspect):
                raise InvalidError(
                    f"{what}: state {state.name} needs {needed}, which device '{item.selector}' does not have "
                    f"(aspect {aspect.spelling})"
                )
    if wanted is not None and any(id_.origin is not None for id_ in wanted):
        from .lpk_loading import bundle_of_files

        return bundle_of_files(what, ctx, devices, state, wanted)
    images = _input_images(what, devices, wanted)
    if wanted is not None:
        _require_compatible(what, wanted, images, devices)
        images = [image for image in images if _is_representable(image, state)]
    if selector is not None:
        images = [image for image in images if selector(_preview(image, state, devices))]
    bundle = make_bundle(ctx, devices, BundleState.INPUT, images)
    if state is BundleState.INPUT:
        return bundle
    if state is BundleState.OBJECT:
        return compile_bundle(bundle, None, ())
    return build_bundle(bundle, None, (), toolchain)


_NEEDED_ASPECTS = {
    BundleState.INPUT: ((Aspect.ONLINE_COMPILER, "an online compiler"),),
    BundleState.OBJECT: ((Aspect.ONLINE_LINKER, "an online linker"),),
}


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
    wanted = _wanted(what, kernel_ids, kernel, None)
    devices = _devices(what, ctx, devs, state)
    if any(not item.has(aspect) for aspect, _ in _NEEDED_ASPECTS.get(state, ()) for item in devices):
        return False
    if wanted is not None and any(id_.origin is not None for id_ in wanted):
        from .lpk_loading import is_in_files

        loaded = [id_ for id_ in wanted if id_.origin is not None]
        if not is_in_files(loaded, devices, state):
            return False
        wanted = tuple(id_ for id_ in wanted if id_.origin is None)
    images = [image for image in _input_images(what, devices, wanted) if _is_representable(image, state)]
    if wanted is None:
        return any(image.kernel_ids for image in images)
    return all(any(image.has_kernel(id_) for image in images) for id_ in wanted)


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
    wanted = _wanted(what, kernel_ids, kernel, None)
    if wanted is None:
        raise ConstraintError("is_compatible takes kernel_ids or kernel, found neither")
    if dev is not None and not isinstance(dev, Device):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(f"is_compatible takes an lp.Device, found {dev!r} of type {type_name(dev)}")
    chosen = device() if dev is None else dev
    if any(id_.origin is not None for id_ in wanted):
        from .lpk_loading import is_in_files

        loaded = [id_ for id_ in wanted if id_.origin is not None]
        if not is_in_files(loaded, (chosen,), BundleState.EXECUTABLE):
            return False
        wanted = tuple(id_ for id_ in wanted if id_.origin is None)
    images = _input_images(what, (chosen,), wanted)
    return all(any(image.has_kernel(id_) for image in images) for id_ in wanted)


# ---- from state to state ----


def compile(
    kb: KernelBundle, devs: Sequence[Device] | None = None, *, props: Iterable[object] = ()
) -> KernelBundle:
    """Compiles an input bundle to an object bundle; kernels that none of the devices supports are left out.

    Args:
        kb: in state INPUT.
        devs: devices of the bundle; None: all of them.
        props: `lp.properties.Debug`, `lp.properties.Log`, and of compile and build `EmulateSpecConstants`.

    Raises:
        BuildError: a kernel cannot be compiled.
        InvalidError: an empty device list, a device that the bundle does not have, or a property not taken.
        TypeError: a bundle in another state, or an argument of the wrong kind.
    """
    if _is_source(kb):
        from ..vk_runtime.source_bundles import compile_source

        return compile_source(kb, devs, props, toolchain)
    return compile_bundle(kb, devs, props)


def link(
    kb: KernelBundle | Sequence[KernelBundle],
    devs: Sequence[Device] | None = None,
    *,
    props: Iterable[object] = (),
) -> KernelBundle:
    """Links object bundles to an executable bundle, and makes its pipelines.

    Args:
        kb: one bundle or several, in state OBJECT, of one context.
        devs: devices that each of the bundles has; None: all that they have in common.
        props: `lp.properties.Debug`, `lp.properties.Log`.

    Raises:
        BuildError: a symbol is not resolved or defined twice, or a driver refuses a pipeline.
        InvalidError: no bundle, several contexts, no common device, an empty device list, a device that a bundle
            does not have, specialization constants set to different values, or a property not taken.
        TypeError: a bundle in another state, or an argument of the wrong kind.
    """
    return link_bundles(kb, devs, props, toolchain)


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


# ---- the calling module ----


class ThisModule:
    """The kernels of the Python module that calls: SYCL's ``this_module`` of the Modules proposal."""

    def get(self, ctx: Context, state: BundleState) -> KernelBundle:
        """Returns the calling module's kernels as a bundle, compiled and linked as far as `state` needs it.

        Raises:
            InvalidError: there are none in this state.
            BuildError: a kernel cannot be compiled or linked.
        """
        module = _calling_module()
        images = self._images(module, ctx, state)
        if not images:
            raise InvalidError(
                f"this_module.get: Python module '{module}' has no kernel in state {state.name} for this context"
            )
        bundle = make_bundle(ctx, ctx.devices, BundleState.INPUT, images)
        if state is BundleState.INPUT:
            return bundle
        if state is BundleState.OBJECT:
            return compile_bundle(bundle, None, ())
        return build_bundle(bundle, None, (), toolchain)

    def has_any_module(self, ctx: Context) -> bool:
        """Returns whether the calling module has kernels in any state."""
        module = _calling_module()
        return any(self._images(module, ctx, state) for state in _BUNDLE_STATES)

    def has_module_in(self, ctx: Context, state: BundleState) -> bool:
        """Returns whether `get` returns a bundle for the calling module."""
        return bool(self._images(_calling_module(), ctx, state))

    def _images(self, module: str, ctx: Context, state: BundleState) -> list[DeviceImage]:
        devices = _devices("this_module", ctx, None, state)
        if any(not item.has(aspect) for aspect, _ in _NEEDED_ASPECTS.get(state, ()) for item in devices):
            return []
        return _compatible(images_of_unit(module, common_environment(devices)), devices)

    def __repr__(self) -> str:
        return "lp.this_module"


this_module = ThisModule()
"""The kernels of the Python module that calls."""


def _calling_module() -> str:
    return str(sys._getframe(2).f_globals.get("__name__", "__main__"))  # pyright: ignore[reportPrivateUsage]


# ---- arguments ----

_BUNDLE_STATES = (BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE)


def _wanted(what: str, kernel_ids: object, kernel: object, selector: object) -> tuple[KernelId, ...] | None:
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
            f"{what}(kernel_ids=…) takes a list of lp.KernelId objects, found {kernel_ids!r}"
        )
    return tuple(dict.fromkeys(find_id(what, item) for item in cast("Iterable[object]", kernel_ids)))


def _devices(what: str, ctx: object, devs: object, state: object) -> tuple[Device, ...]:
    if not isinstance(ctx, Context):
        raise ConstraintError(f"{what} takes an lp.Context first, found {ctx!r} of type {type_name(ctx)}")
    if not isinstance(state, BundleState):
        raise ConstraintError(f"{what}(state=…) takes an lp.BundleState, found {state!r}")
    if state not in _BUNDLE_STATES:
        raise InvalidError(
            f"{what}: kernels of the application have no state {state.name}; expected INPUT, OBJECT or EXECUTABLE "
            "(lp.create_kernel_bundle_from_source makes source bundles)"
        )
    return member_devices(what, devs, ctx.devices, "context")


# ---- images ----


def _input_images(
    what: str, devices: Sequence[Device], wanted: Sequence[KernelId] | None
) -> list[DeviceImage]:
    """Returns the images of the application that one of the devices supports, those of `wanted` kernels or all."""
    env = common_environment(devices)
    if wanted is None:
        found = all_images(env)
    else:
        found = [image for id_ in wanted if id_.is_application for image in images_of_kernel(what, id_, env)]
        found += built_in_images([id_ for id_ in wanted if not id_.is_application], devices)
    return _compatible(found, devices)


def _is_representable(image: DeviceImage, state: BundleState) -> bool:
    """Whether images of a state may hold its kernels: built-in kernels are executable only."""
    return state is BundleState.EXECUTABLE or all(id_.is_application for id_ in image.kernel_ids)


def _compatible(images: Iterable[UnitImage], devices: Sequence[Device]) -> list[DeviceImage]:
    made = [of_input(image, toolchain) for image in dict.fromkeys(images)]
    return [image for image in made if any(image.is_compatible(item) for item in devices)]


def _preview(image: DeviceImage, state: BundleState, devices: tuple[Device, ...]) -> DeviceImage:
    """Returns an image in the state that a selector sees; it is only compiled if the selector looks into its code."""
    if state is BundleState.INPUT:
        return image
    able = tuple(item for item in devices if image.is_compatible(item))
    made = compiled(image, common_environment(able), able, ())
    if state is BundleState.OBJECT:
        return made
    return of_spirv(BundleState.EXECUTABLE, lambda: made.binary, made)


def _require_compatible(
    what: str, wanted: Sequence[KernelId], images: Sequence[DeviceImage], devices: Sequence[Device]
) -> None:
    for id_ in wanted:
        if not any(image.has_kernel(id_) for image in images):
            names = ", ".join(f"'{item.selector}'" for item in devices)
            raise InvalidError(
                f"{what}: kernel '{id_.qualified_name}' runs on none of the devices {names}; "
                "lp.is_compatible tells which kernels a device supports"
            )
