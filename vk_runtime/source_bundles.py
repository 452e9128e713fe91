"""Kernel bundles from source: making them, and compiling and building them (sycl_ext_oneapi_kernel_compiler).

Creating a bundle stores the source and looks at nothing; `compile_source` and `build_source` compile.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from weakref import WeakValueDictionary

from ..ir.errors import BuildError, Diagnostic, InvalidError
from ..ir.kernel_info import KernelInfo
from ..ir.lpk_records import foreign_record
from ..spirv.device_image import DeviceImage as SpirvImage
from .build_properties import Debug, Log, Property, checked_properties, property_of
from .bundle_errors import ConstraintError, type_name
from .bundle_image import DeviceImage, from_source
from .bundle_state import BundleState
from .bundle_transitions import common_environment, link_parts
from .compatibility import unmet_environment
from .context import Context, member_devices
from .device import Device
from .foreign_arguments import binder_by_name
from .kernel_bundle import KernelBundle, make_bundle
from .kernel_id import KernelId, make_kernel_id
from .requirements import unmet
from .source_language import (
    CompiledSource,
    LanguageFrontEnd,
    Source,
    SourceRequest,
    can_compile,
    checked_language,
    front_end_of,
)
from .source_options import BuildOptions, SaveLog, SourceOptions, SpecValues
from .spec_values import SpecValues as SetValues
from .toolchain import Toolchain


def create_bundle(ctx: object, language: object, source: object, props: object) -> KernelBundle:
    """Returns the source bundle of some text or bytes; see `frontend.sources.create_kernel_bundle_from_source`."""
    what = "create_kernel_bundle_from_source"
    if not isinstance(ctx, Context):
        raise ConstraintError(
            f"{what} takes an lp.Context first, found {ctx!r} of type {type_name(ctx)}; "
            "a device has its device.default_context, a queue its queue.context"
        )
    checked = checked_language(what, language)
    front_end = _front_end(what, checked)
    checked_properties(what, props)
    code = _checked_code(what, checked, front_end, source)
    if not any(can_compile(device, checked) for device in ctx.devices):
        names = ", ".join(f"'{device.selector}'" for device in ctx.devices)
        raise InvalidError(f"{what}: no device of the context can compile {checked.name}; it has {names}")
    return make_bundle(ctx, ctx.devices, BundleState.SOURCE, (), source=Source(checked, code))


def _front_end(what: str, language: enum.Enum) -> LanguageFrontEnd:
    found = front_end_of(language)
    if found is None:
        raise InvalidError(f"{what}: no front end is registered for language {language}")
    return found


def _checked_code(what: str, language: enum.Enum, front_end: LanguageFrontEnd, source: object) -> str | bytes:
    if front_end.is_binary and isinstance(source, bytes | bytearray | memoryview):
        return bytes(cast("bytes", source))
    if not front_end.is_binary and isinstance(source, str):
        return source
    expected = "bytes" if front_end.is_binary else "a str"
    raise ConstraintError(
        f"{what}: source of language {language.name} is {expected}, found {type_name(source)}"
    )


@dataclass(frozen=True, slots=True)
class _Request:
    """A checked call of `compile` or `build`."""

    what: str
    bundle: KernelBundle
    source: Source
    devices: tuple[Device, ...]
    props: tuple[Property, ...]
    front_end: LanguageFrontEnd
    options: SourceOptions


def _checked_request(what: str, bundle: KernelBundle, devs: object, props: object) -> _Request:
    source = bundle.source
    assert source is not None, "a bundle in state SOURCE has source"
    found = checked_properties(what, props, BuildOptions, SaveLog, SpecValues, Debug, Log)
    devices = member_devices(what, devs, bundle.devices, "kernel bundle")
    for device in devices:
        if not can_compile(device, source.language):
            raise InvalidError(
                f"{what}: device '{device.selector}' cannot compile {source.language.name}; leave it out of devs="
            )
    front_end = _front_end(what, source.language)
    given = property_of(found, BuildOptions)
    words = () if given is None else given.words
    options = SourceOptions.parsed(what, words, front_end.option_prefixes)
    return _Request(what, bundle, source, devices, found, front_end, options)


def compile_source(bundle: KernelBundle, devs: object, props: object, toolchain: Toolchain) -> KernelBundle:
    """Returns the object bundle of a source bundle."""
    request = _checked_request("compile", bundle, devs, props)
    made, log = _compiled(request, toolchain, is_object=True)
    _save(request, log)
    return made


def build_source(bundle: KernelBundle, devs: object, props: object, toolchain: Toolchain) -> KernelBundle:
    """Returns the executable bundle of a source bundle."""
    request = _checked_request("build", bundle, devs, props)
    made, log = _compiled(request, toolchain, is_object=False)
    logs = [prop for prop in request.props if isinstance(prop, Log)]
    built = link_parts([made], request.devices, logs, toolchain, left_out=made.left_out)
    _save(request, log)
    return built


def _compiled(request: _Request, toolchain: Toolchain, *, is_object: bool) -> tuple[KernelBundle, str]:
    """Returns the compiled bundle and its warnings as lines; tells the stream of `Log` what there is to say."""
    log = property_of(request.props, Log)
    try:
        made, warnings = _translated(request, toolchain, is_object=is_object)
    except BuildError as error:
        if log is not None:
            log.stream.write(f"{error.log}\n")
        raise
    if log is not None:
        log.stream.write(warnings)
        for image in made:
            log.stream.write(f"compiled {', '.join(image.kernels)}: {len(image.spirv())} bytes of SPIR-V\n")
    return made, warnings


def _translated(request: _Request, toolchain: Toolchain, *, is_object: bool) -> tuple[KernelBundle, str]:
    """Returns the compiled bundle and its warnings as lines."""
    values = property_of(request.props, SpecValues)
    env = common_environment(request.devices)
    result = request.front_end.compile(
        SourceRequest(
            code=request.source.code,
            options=request.options,
            spec_values={} if values is None else values.values,
            env=env,
            devices=request.devices,
            is_object=is_object,
        )
    )
    left_out: dict[str, str] = {}
    ids: dict[str, KernelId] = {}
    images: list[DeviceImage] = []
    for image in result.images:
        lacking = _lacking(image, request.devices)
        if lacking:
            left_out |= {kernel.name: lacking for kernel in image.kernels}
            continue
        for kernel in image.kernels:
            ids.setdefault(kernel.name, _kernel_id(request.source, kernel, result))
        own = {kernel.name: ids[kernel.name] for kernel in image.kernels}
        read = {constant.symbol for constant in image.spec_constants}
        symbols = {symbol: found for symbol, found in result.spec_symbols.items() if symbol in read}
        images.append(from_source(BundleState.OBJECT, image, own, symbols, toolchain))
    warnings = [
        *result.warnings,
        *(f"kernel '{name}' is left out: {why}" for name, why in {**result.left_out, **left_out}.items()),
    ]
    if warnings and request.options.warnings_are_errors:
        lines = [f"{warning} [-Werror]" for warning in warnings]
        raise BuildError(
            f"{request.what}: warnings are errors:\n" + "\n".join(lines),
            diagnostics=[Diagnostic(line) for line in lines],
        )
    bundle = request.bundle
    made = make_bundle(
        bundle.context,
        request.devices,
        BundleState.OBJECT,
        images,
        SetValues(result.spec_bytes),
        left_out={**result.left_out, **left_out},
    )
    return made, "".join(f"{_as_warning(text)}\n" for text in warnings)


def _as_warning(text: str) -> str:
    """Returns a line of the log; what a compiler says of a line of the source calls itself a warning already."""
    return text if ": warning: " in text.partition("\n")[0] else f"warning: {text}"


def _lacking(image: SpirvImage, devices: Sequence[Device]) -> str:
    """Returns why none of some devices can run an image, empty where one can."""
    reasons: list[str] = []
    for device in devices:
        lacks = [*unmet(device, image.requirements), *unmet_environment(image.target_env, device)]
        if not lacks:
            return ""
        reasons.append(f"device '{device.selector}' lacks {', '.join(lacks)}")
    return "; ".join(reasons)


_kernel_ids: WeakValueDictionary[tuple[Source, str, tuple[str, ...]], KernelId] = WeakValueDictionary()
"""Kernels of one source are the same ones in every bundle that is built of it, which makes these equal."""


def _kernel_id(source: Source, kernel: KernelInfo, result: CompiledSource) -> KernelId:
    names = tuple(parameter.name for parameter in kernel.parameters)
    name, qualified_name = kernel.name, f"{source.language.name}:{kernel.name}"
    binder, given = result.binders.get(name) or (binder_by_name(name, names), names)
    describe = result.describers.get(name) or (lambda: (foreign_record(name, qualified_name, names), ()))
    made = make_kernel_id(
        name, qualified_name, binder, given, result.local_sizes.get(name), describe, is_from_source=True
    )
    return _kernel_ids.setdefault((source, name, names), made)


def _save(request: _Request, log: str) -> None:
    saved = property_of(request.props, SaveLog)
    if saved is not None:
        saved.text = log
