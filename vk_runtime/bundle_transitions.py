"""compile, link, build and join: from kernel bundles to new kernel bundles (SYCL 2020, section 4.11.11).

Every function returns a new bundle and leaves its inputs as they are.  Images that no device of the result can run are
left out without an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NoReturn, cast

from ..ir.errors import BuildError, Error, InvalidError, KernelNotSupportedError, LinkError
from ..ir.lazy_logging import logger_of
from ..ir.target_env import TargetEnv
from . import trace
from .build_properties import Debug, EmulateSpecConstants, Log, Property, checked_properties, property_of
from .bundle_constants import with_given, without_native
from .bundle_errors import ConstraintError, for_each, type_name, wrong_state
from .bundle_image import DeviceImage, compiled, linked, of_input
from .bundle_pipelines import make_pipelines
from .bundle_state import BundleState
from .compatibility import unmet_environment
from .context import member_devices
from .device import Device
from .kernel_bundle import KernelBundle, Refusal, make_bundle
from .kernel_id import KernelId
from .requirements import require_device
from .source_options import SpecValues as GivenValues
from .spec_values import SpecConstant, SpecValues
from .toolchain import Toolchain

_JOINED = BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE

logger = logger_of(__name__)


def compile_bundle(bundle: object, devs: object, props: object) -> KernelBundle:
    """Returns the object bundle of an input bundle; see `frontend.bundles.compile`."""
    source = _bundle("compile", bundle, BundleState.INPUT)
    found = checked_properties("compile", props, *_compile_properties(source))
    return _compile(source, member_devices("compile", devs, source.devices, "kernel bundle"), found)


def link_bundles(bundles: object, devs: object, props: object, toolchain: Toolchain) -> KernelBundle:
    """Returns the executable bundle of object bundles; see `frontend.bundles.link`."""
    parts = _bundles("link", bundles, BundleState.OBJECT)
    found = checked_properties("link", props, Debug, Log)
    if not parts:
        raise InvalidError("link: expected at least one object bundle, found an empty list")
    _same_context("link", parts)
    shared = [device for device in parts[0].devices if all(device in part.devices for part in parts)]
    if devs is None and not shared:
        raise InvalidError("link: the kernel bundles have no device in common; expected one at least")
    return link_parts(parts, member_devices("link", devs, shared, "kernel bundle"), found, toolchain)


def build_bundle(bundle: object, devs: object, props: object, toolchain: Toolchain) -> KernelBundle:
    """Returns the executable bundle of an input bundle; see `frontend.bundles.build`."""
    source = _bundle("build", bundle, BundleState.INPUT)
    found = checked_properties("build", props, *_compile_properties(source))
    devices = member_devices("build", devs, source.devices, "kernel bundle")
    return link_parts([_compile(source, devices, found)], devices, found, toolchain, is_whole_program=True)


def join_bundles(bundles: object, state: object) -> KernelBundle | None:
    """Returns the union of bundles, None for an empty list; see `frontend.bundles.join`."""
    if state is not None and (not isinstance(state, BundleState) or state is BundleState.SOURCE):
        raise ConstraintError(f"join(…, state=…) takes INPUT, OBJECT or EXECUTABLE, found {state!r}")
    parts = _bundles("join", bundles, None)
    if not parts:
        return None
    first = parts[0]
    expected = first.state if state is None else state
    for part in parts:
        if part.state is BundleState.SOURCE:
            raise wrong_state("join", part.state, *_JOINED)
        if part.state is not expected:
            raise ConstraintError(
                f"join: expected kernel bundles in one state, {expected.name}; found one in {part.state.name}"
            )
    _same_context("join", parts)
    for part in parts:
        if set(part.devices) != set(first.devices):
            raise InvalidError(
                "join: expected kernel bundles for the same devices; found "
                f"{_names(first.devices)} and {_names(part.devices)}; make all with the same devs="
            )
    _require_one_version("join", parts, first.devices)
    values = SpecValues.merged("join", [part.spec_values for part in parts])
    images = [image for part in parts for image in part]
    handles = [handle for part in parts for handle in part.handles]
    if expected is BundleState.EXECUTABLE and any(
        part.spec_values.effective() != values.effective() for part in parts
    ):
        handles += make_pipelines(images, first.devices, values.by_symbol())
    return make_bundle(
        first.context,
        first.devices,
        expected,
        images,
        values,
        handles,
        left_out={name: why for part in parts for name, why in part.left_out.items()},
        refused={id_: refusal for part in parts for id_, refusal in part.refused.items()},
    )


def _compile_properties(source: KernelBundle) -> Sequence[type[Property]]:
    is_native = any(image.is_from_source for image in source)
    return (Debug, Log, EmulateSpecConstants, *((GivenValues,) if is_native else ()))


def _compile(source: KernelBundle, devices: tuple[Device, ...], props: Sequence[Property]) -> KernelBundle:
    debug, log = property_of(props, Debug) is not None, property_of(props, Log)
    emulates = property_of(props, EmulateSpecConstants) is not None
    streams = () if log is None else (log.stream,)
    given = property_of(props, GivenValues)
    values = with_given(source, source.spec_values, {} if given is None else given.values)

    def compile_image(image: DeviceImage) -> list[DeviceImage]:
        found = object_images(
            image, devices, values.explicit(), debug=debug, emulates=emulates, streams=streams
        )
        for made in found:
            _ = made.binary  # what cannot be compiled raises here
        return found

    images = [made for found in for_each(source, compile_image) for made in found]
    return make_bundle(source.context, devices, BundleState.OBJECT, images, without_native(values))


def object_images(
    image: DeviceImage,
    devices: Iterable[Device],
    values: Mapping[SpecConstant, bytes],
    *,
    debug: bool = False,
    emulates: bool = False,
    streams: tuple[object, ...] = (),
) -> list[DeviceImage]:
    """Returns what an input image is compiled to; `DeviceImage.binary` does it.

    Args:
        image: of state INPUT.
        devices: of the bundle; those that cannot run the image take no part, and without one there is no result.
        values: host bytes of the constants that were set; see `InputImage.with_values`.
        debug: with debug information.
        emulates: values of specialization constants are hidden arguments, as far as they can be.
        streams: text streams that get what there is to say.

    Raises:
        BuildError: where the image's module asks for emulated constants, so that it must be compiled now.
    """
    able = tuple(device for device in devices if image.is_compatible(device))
    if not able:
        return []
    if image.input is not None:
        source = image.input.with_values(values, able)
        if source is None:
            return []
        if source is not image.input:
            image = of_input(source, image.toolchain, is_from_source=image.is_from_source)
    env = replace(common_environment(able), debug_info=debug, emulates_spec_constants=emulates)
    made = compiled(image, env, able, streams)
    return [made, *_frozen(image, made, env, able, streams)]


def _frozen(
    image: DeviceImage,
    made: DeviceImage,
    env: TargetEnv,
    devices: tuple[Device, ...],
    streams: tuple[object, ...],
) -> list[DeviceImage]:
    """Returns a second image for launches at the defaults, which then pass no hidden values.

    There is none where no values are hidden, of images that others link with, which must define their symbols once,
    and where the defaults alone are no kernel: an array of length 0.
    """
    if image.input is None or not image.spec_symbols:
        return []
    if not (env.emulates_spec_constants or image.input.env.emulates_spec_constants):
        return []
    if made.binary.spec_constant_block is None or made.binary.exports:
        return []
    twin = compiled(
        image, replace(env, freezes_spec_constants=True, emulates_spec_constants=False), devices, streams
    )
    try:
        return [twin] if twin.binary.kernels else []
    except BuildError as error:
        logger.info("no image at the defaults of %s: %s", ", ".join(image.kernels), error)
        return []


def common_environment(devices: Iterable[Device]) -> TargetEnv:
    """Returns the environment that code for every one of some devices is made for."""
    return TargetEnv.meet(device.target_env for device in devices)


def link_parts(
    parts: Sequence[KernelBundle],
    devices: tuple[Device, ...],
    props: Sequence[Property],
    toolchain: Toolchain,
    *,
    is_whole_program: bool = False,
    left_out: Mapping[str, str] | None = None,
) -> KernelBundle:
    """Links object bundles of one context; see `frontend.bundles.link`.

    `left_out` are the kernels of a source that no device can run, and why.
    """
    _require_one_version("link", parts, devices)
    values = SpecValues.merged("link", [part.spec_values for part in parts])
    able = [
        image
        for image in dict.fromkeys(image for part in parts for image in part)
        if any(image.is_compatible(device) for device in devices)
    ]
    _require_distinct_kernels(able)
    made = toolchain.link([image.binary for image in able], devices, is_whole_program=is_whole_program)
    every = [linked(item.image, [able[part] for part in item.parts], item.spec_symbols) for item in made]
    selector = devices[0].selector if len(devices) == 1 else ""
    for item in made:
        trace.record("link", image=item.image, device=selector)
    images = [image for image in every if any(image.is_compatible(device) for device in devices)]
    pipelines = make_pipelines(images, devices, values.by_symbol())
    log = property_of(props, Log)
    if log is not None:
        for image in images:
            names = ", ".join(image.kernels)
            log.stream.write(f"linked {names} for {_names(devices)}: {len(image.spirv())} bytes of SPIR-V\n")
    return make_bundle(
        parts[0].context,
        devices,
        BundleState.EXECUTABLE,
        images,
        values,
        pipelines,
        left_out=left_out,
        refused=_refused(every, images),
    )


def _require_distinct_kernels(images: Sequence[DeviceImage]) -> None:
    """Raises where two sources have a kernel of one name: once they are linked, nothing could tell them apart."""
    known: dict[str, KernelId] = {}
    for image in images:
        for name in image.kernels if image.is_from_source else ():
            id_ = image.id_of(name)
            if id_ is not None and known.setdefault(name, id_) is not id_:
                raise LinkError(
                    f"kernel '{name}' is in two sources of the kernel bundles that are linked; rename one of them, or "
                    "link them apart"
                )


def _require_one_version(what: str, parts: Sequence[KernelBundle], devices: Iterable[Device]) -> None:
    """Raises where two bundle files have different code of one kernel for one device: nothing could tell them apart.

    Kernels of files are one kernel where name and signature are the same.
    """
    known: dict[tuple[KernelId, Device], DeviceImage] = {}
    for part in parts if len(parts) > 1 else ():
        loaded = dict.fromkeys(id_ for image in part for id_ in image.files)
        for id_, device in product(loaded, devices):
            image = _image_of_file(part, id_, device)
            other = image and known.setdefault((id_, device), image)
            if image is None or other is None:
                continue
            (where, content), (other_where, other_content) = image.files[id_], other.files[id_]
            if content != other_content and image.spirv_digest != other.spirv_digest:
                raise InvalidError(
                    f"{what}: kernel '{id_.qualified_name}' is in two bundle files with different code for device "
                    f"'{device.selector}', {other_where} and {where}; expected one version of it: load one of them, "
                    "or use each in a bundle of its own"
                )


def _image_of_file(part: KernelBundle, kernel: KernelId, device: Device) -> DeviceImage | None:
    """Returns what a bundle runs as a kernel on a device, None where that did not come from a file."""
    try:
        image = part.image_of(kernel, device)
    except Error:  # no image of it is for this device
        return None
    return image if kernel in image.files else None


def _refused(every: Sequence[DeviceImage], kept: Sequence[DeviceImage]) -> dict[KernelId, Refusal]:
    """Returns the kernels that none of the devices can run once they are linked, each with what tells why."""
    refused: dict[KernelId, Refusal] = {}
    for image in every:
        for name in image.kernels:
            id_ = image.id_of(name)
            if id_ is not None and not any(other.has_kernel(id_) for other in kept):
                refused[id_] = _refusal(image, name)
    return refused


def _refusal(image: DeviceImage, name: str) -> Refusal:
    def refuse(device: Device) -> NoReturn:
        require_device(device, image.info(name), image.requirements)
        lacking = ", ".join(unmet_environment(image.binary.target_env, device)) or "what it was compiled for"
        raise KernelNotSupportedError(f"kernel '{name}', linked: device '{device.selector}' lacks {lacking}")

    return refuse


def _bundle(what: str, value: object, state: BundleState) -> KernelBundle:
    if not isinstance(value, KernelBundle):
        raise ConstraintError(f"{what} takes an lp.KernelBundle, found {value!r} of type {type_name(value)}")
    if value.state is not state:
        raise wrong_state(what, value.state, state)
    return value


def _bundles(what: str, values: object, state: BundleState | None) -> list[KernelBundle]:
    if isinstance(values, KernelBundle):
        values = (values,)
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ConstraintError(
            f"{what} takes a list of lp.KernelBundle objects, found {values!r} of type {type_name(values)}"
        )
    found = list(cast("Iterable[object]", values))
    check = partial(_bundle, what)
    for value in found:
        if not isinstance(value, KernelBundle) or state is not None:
            check(value, state or BundleState.INPUT)
    return cast("list[KernelBundle]", found)


def _same_context(what: str, parts: Sequence[KernelBundle]) -> None:
    if any(part.context is not parts[0].context for part in parts):
        raise InvalidError(
            f"{what}: expected kernel bundles of one context, found several contexts; make all with the same lp.Context"
        )


def _names(devices: Iterable[Device]) -> str:
    return ", ".join(f"'{device.selector}'" for device in devices) or "no device"
