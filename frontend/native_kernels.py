"""Kernels and kernel bundles of native modules: a composition root, for the code of a module has to be understood.

Vulkan does not give the code of a VkShaderModule back, so whoever made it passes the SPIR-V along.  Its arguments
are those of kernels from source in language SPIRV.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from ..ir.errors import BuildError, Error, InvalidError, UnknownKernelError
from ..vk_runtime.bundle_errors import ConstraintError
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.context import Context, member_devices
from ..vk_runtime.device import Device
from ..vk_runtime.interop.bundles import kernel_info, known_kernel, known_module, set_natives
from ..vk_runtime.interop.natives import Native, native_int
from ..vk_runtime.interop.queues import require_context
from ..vk_runtime.kernel_bundle import KernelBundle, make_bundle
from ..vk_runtime.kernel_object import Kernel
from ..vk_runtime.preset_launch import PresetArguments, check_preset

if TYPE_CHECKING:
    from ..spirv.reflection import Reflection

_Made = TypeVar("_Made")

_Code = tuple[int | None, bytes]
"""A VkShaderModule, where there is one, and its SPIR-V."""

_NATIVE_STATES = (BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE)


def make_kernel(
    native: object, ctx: Context, *, descriptor_set: object = None, push_constants: bytes = b""
) -> Kernel:
    """Returns a kernel of a native module.

    Args:
        native: (VkShaderModule, entry point, SPIR-V), or what `get_native` gave for a kernel that still lives.
        ctx: the context that the module is of.
        descriptor_set: a VkDescriptorSet with all its buffers, bound as it is at each launch, which then gives no
            arguments; of the layout that `get_descriptor_set_layout` gives, or of an identically defined one.  What it
            shows is the application's to keep alive.
        push_constants: with a descriptor set, all of them as the shader reads them.

    Raises:
        InvalidError: no such entry point, a module of another VkDevice, SPIR-V that is wrong, a pipeline whose code
            nobody knows, or a kernel whose arguments no descriptor set can hold.
        KernelArgumentError: push constants of another size than the kernel's.
        TypeError: something else.
    """
    what = "make_kernel"
    kernel = _kernel_of(what, native, ctx)
    if descriptor_set is None:
        if push_constants:
            raise ConstraintError(f"{what}(push_constants=…) belongs to descriptor_set=, which is missing")
        return kernel
    data = _bytes_of(push_constants)
    if data is None:
        raise ConstraintError(f"{what}(push_constants=…) takes bytes, found {push_constants!r:.60}")
    preset = PresetArguments(native_int(what, descriptor_set, "VkDescriptorSet"), data)
    check_preset(kernel_info(kernel), preset, what)
    return kernel.with_preset(preset)


def _kernel_of(what: str, native: object, ctx: Context) -> Kernel:
    require_context(what, ctx)
    if not isinstance(native, tuple) or len(cast("tuple[object, ...]", native)) != 3:
        raise ConstraintError(f"{what} takes (VkShaderModule, entry point, SPIR-V), found {native!r:.80}")
    first, second, third = cast("tuple[object, ...]", native)
    if isinstance(third, str):
        return _known_kernel(what, first, ctx)
    if not isinstance(second, str):
        raise ConstraintError(
            f"{what} takes (VkShaderModule, entry point, SPIR-V), found {second!r:.60} as entry point"
        )
    bundle = make_kernel_bundle((first, third), ctx, state=BundleState.EXECUTABLE)
    try:
        return bundle.ext_oneapi_get_kernel(second)
    except UnknownKernelError as error:
        if second in bundle.left_out:
            raise InvalidError(f"{what}: {error.message}") from error
        names = ", ".join(sorted(bundle.get_kernel_names()))
        raise InvalidError(
            f"{what}: the module has no entry point {second!r}; it has {names or 'none'}"
        ) from error


def _known_kernel(what: str, native: object, ctx: Context) -> Kernel:
    number = native_int(what, native, "VkPipeline")
    found = known_kernel(number)
    if found is None:
        raise InvalidError(
            f"{what}: no living kernel of lapilli has the VkPipeline {number:#x}, and Vulkan does not tell what it "
            "takes; pass (VkShaderModule, entry point, SPIR-V)"
        )
    if found.context is not ctx:
        raise InvalidError(f"{what}: the VkPipeline {number:#x} belongs to another context")
    return found


def make_kernel_bundle(native: object, ctx: Context, *, state: BundleState) -> KernelBundle:
    """Returns a bundle of one native module.

    A module that needs linking, or whose specialization constants are open, is a program in an early state, and is
    compiled and linked as far as `state` needs it; any other is executable, and only that.

    Args:
        native: SPIR-V as bytes, (VkShaderModule, SPIR-V), a VkShaderModule of `get_native`, or a kernel's native.
        ctx: the context.
        state: INPUT, OBJECT or EXECUTABLE.

    Raises:
        InvalidError: a module of another context's VkDevice, an executable module asked for in another state, or any
            error of the backend; `get_error_code`.
        TypeError: something that is no module.
    """
    what = "make_kernel_bundle"
    _require(what, ctx, state)
    parts = list(cast("tuple[object, ...]", native)) if isinstance(native, tuple) else []
    if len(parts) == 3:
        kernel = make_kernel(tuple(parts), ctx)
        if state is not BundleState.EXECUTABLE:
            raise InvalidError(f"{what}: a VkPipeline is executable; it cannot be had in state {state.name}")
        return kernel.kernel_bundle
    module, code = _code(what, cast("object", native), ctx, state)
    _require_open(what, _reflected(what, code), state)
    return _as_invalid(what, lambda: _bundle(ctx, None, [(module, code)], state))


def create_bundle(
    ctx: Context,
    devs: Sequence[Device] | None = None,
    *,
    programs: Sequence[object] | None = None,
    kernels: Sequence[object] | None = None,
    state: BundleState = BundleState.EXECUTABLE,
) -> KernelBundle:
    """Returns a bundle of several native modules, linked where they import from each other, or of native kernels.

    Args:
        ctx: the context.
        devs: devices of the context; None: all.
        programs: modules, each as `make_kernel_bundle` takes it.
        kernels: kernels, each as `make_kernel` takes it, possibly of different modules; `state` is EXECUTABLE then.
        state: of the bundle.

    Raises:
        BuildError: any error of the backend, or symbols that clash or that nobody defines.
        InvalidError: a device or a module that is not the context's, or an executable module asked for in another
            state.
        BackendMismatchError: a context of another backend.
        TypeError: neither or both of `programs` and `kernels`, or an argument of the wrong kind.
    """
    what = "create_bundle"
    _require(what, ctx, state)
    devices = member_devices(what, devs, ctx.devices, "context")
    if (programs is None) == (kernels is None):
        raise ConstraintError(f"{what} takes one of programs= and kernels=")
    if kernels is not None:
        if state is not BundleState.EXECUTABLE:
            raise InvalidError(f"{what}: native kernels are executable; found state={state.name}")
        return _as_build(what, lambda: _of_kernels(ctx, devices, kernels))
    codes = [_code(what, item, ctx, state) for item in programs or ()]
    if not codes:
        return make_bundle(ctx, devices, state, ())
    for _, code in codes:
        _require_open(what, _as_build(what, partial(_reflected, what, code)), state)
    return _as_build(what, lambda: _bundle(ctx, devices, codes, state))


def import_module(state: BundleState, ctx: Context, program: object) -> KernelBundle:
    """Returns a bundle of a native module that is in a state already; the name of the Modules proposal.

    Raises:
        InvalidError: the module is in another state, or wrong.
    """
    what = "import_module"
    _require(what, ctx, state)
    module, code = _code(what, program, ctx, state)
    found = _reflected(what, code)
    own = (
        (BundleState.OBJECT,)
        if found.imports or found.exports
        else (BundleState.INPUT, BundleState.EXECUTABLE)
        if found.spec_constants
        else (BundleState.EXECUTABLE,)
    )
    if state not in own:
        names = " or ".join(item.name for item in own)
        raise InvalidError(f"{what}: the module is in state {names}, found state={state.name}")
    return _as_invalid(what, lambda: _bundle(ctx, None, [(module, code)], state))


def create_with_source(ctx: Context, source: str, *, language: str = "GLSL") -> KernelBundle:
    """Returns a source bundle, for `lp.compile` and `lp.build`; the name of the Modules proposal.

    Args:
        ctx: the context.
        source: text.
        language: name of an `lp.SourceLanguage`.

    Raises:
        InvalidError: no such language, or one that no device of the context compiles.
    """
    from .sources import SourceLanguage, create_kernel_bundle_from_source

    require_context("create_with_source", ctx)
    if language not in SourceLanguage.__members__:
        names = ", ".join(SourceLanguage.__members__)
        raise InvalidError(
            f"create_with_source: expected one of the languages {names}, found {language!r:.40}"
        )
    return create_kernel_bundle_from_source(ctx, SourceLanguage[language], source)


def create_with_il(ctx: Context, il: bytes) -> KernelBundle:
    """Returns the input bundle of a SPIR-V module; the name of the Modules proposal.

    Raises:
        InvalidError: the SPIR-V is wrong.
    """
    what = "create_with_il"
    _require(what, ctx, BundleState.INPUT)
    if not isinstance(il, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(f"{what} takes SPIR-V as bytes, found {il!r:.40}")
    code = bytes(il)
    _reflected(what, code)
    return _as_invalid(what, lambda: _bundle(ctx, None, [(None, code)], BundleState.INPUT))


def create_with_binary(ctx: Context, il: bytes, pipeline_cache: bytes) -> KernelBundle:
    """Returns the input bundle of a SPIR-V module together with the driver's compiled code of it.

    Vulkan's binaries are the data of a VkPipelineCache; the module itself comes along.  The Modules proposal's name.

    Args:
        ctx: a context.
        il: the module.
        pipeline_cache: of vkGetPipelineCacheData, for one of the context's devices.

    Raises:
        InvalidError: the data is of none of the devices, or the SPIR-V is wrong.
    """
    made = create_with_il(ctx, il)
    if not isinstance(pipeline_cache, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(
            f"create_with_binary takes a pipeline cache as bytes, found {pipeline_cache!r:.40}"
        )
    data = bytes(pipeline_cache)
    merged = [device.logical.pipelines.cache.merge(data) for device in ctx.devices]
    if not any(merged):
        names = ", ".join(f"'{device.selector}'" for device in ctx.devices)
        raise InvalidError(f"create_with_binary: the pipeline cache is of none of the devices {names}")
    return made


# Bundles


def _bundle(
    ctx: Context, devs: Sequence[Device] | None, codes: Sequence[_Code], state: BundleState
) -> KernelBundle:
    """Returns the bundle of some modules, linked with each other where they import or export."""
    from .bundles import join

    binaries = [code for _, code in codes]
    if state is BundleState.EXECUTABLE and any(_has_linkage(code) for code in binaries):
        from ..spirv.linker import link

        binaries = [link(binaries)]
    parts = [_bundle_of(ctx, devs, binary, state) for binary in binaries]
    made = parts[0] if len(parts) == 1 else join(parts)
    modules = [(module, code) for module, code in codes if module is not None]
    if modules:
        set_natives(made, [module for module, _ in modules], [code for _, code in modules])
    return made


def _bundle_of(
    ctx: Context, devs: Sequence[Device] | None, binary: bytes, state: BundleState
) -> KernelBundle:
    """Returns the bundle of one module: the one seam to kernels of foreign SPIR-V."""
    from .bundles import build, compile
    from .sources import SourceLanguage, create_kernel_bundle_from_source

    source = create_kernel_bundle_from_source(ctx, SourceLanguage.SPIRV, binary)
    if state is BundleState.EXECUTABLE:
        return build(source, devs)
    made = compile(source, devs)
    if state is BundleState.OBJECT:
        return made
    from .native_input import input_bundle

    return input_bundle(source, made, binary)


def _of_kernels(ctx: Context, devices: Sequence[Device], kernels: Sequence[object]) -> KernelBundle:
    made = [make_kernel(item, ctx) for item in kernels]
    images = [
        image
        for kernel in made
        for image in kernel.kernel_bundle
        if image.name_of(kernel.kernel_id) is not None
    ]
    handles = [handle for kernel in made for handle in kernel.kernel_bundle.handles]
    bundle = make_bundle(ctx, devices, BundleState.EXECUTABLE, images, None, handles)
    owned = {
        module: code
        for kernel in made
        for module, code in zip(
            kernel.kernel_bundle.native_modules, kernel.kernel_bundle.native_code, strict=True
        )
    }
    if owned:
        set_natives(bundle, list(owned), list(owned.values()))
    return bundle


# Arguments


def _require(what: str, ctx: object, state: object) -> None:
    require_context(what, ctx)
    if not isinstance(state, BundleState):
        raise ConstraintError(f"{what}(state=…) takes an lp.BundleState, found {state!r}")
    if state not in _NATIVE_STATES:
        raise InvalidError(f"{what}: expected state INPUT, OBJECT or EXECUTABLE, found {state.name}")


def _code(what: str, native: object, ctx: Context, state: BundleState) -> _Code:
    """Returns the module and the SPIR-V that a user gave for a context.

    Raises:
        InvalidError: another context's, or lapilli's own of an executable bundle, asked for in an earlier state.
    """
    data = _bytes_of(native)
    if data is not None:
        return None, data
    if isinstance(native, tuple):
        pair = list(cast("tuple[object, ...]", native))
        data = _bytes_of(pair[-1]) if len(pair) == 2 else None
        if data is None:
            raise ConstraintError(
                f"{what} takes SPIR-V as bytes or (VkShaderModule, SPIR-V), found {native!r:.80}"
            )
        number = native_int(what, pair[0], "VkShaderModule")
        if isinstance(pair[0], Native):  # a plain number may mean another module on each VkDevice
            known_module(number, ctx)
        return number, data
    number = native_int(what, native, "VkShaderModule")
    found = known_module(number, ctx)
    if found is None:
        raise InvalidError(
            f"{what}: Vulkan does not give back the code of the VkShaderModule {number:#x}; pass "
            "(VkShaderModule, SPIR-V)"
        )
    code, is_executable = found
    if is_executable and state is not BundleState.EXECUTABLE:
        raise InvalidError(
            f"{what}: the VkShaderModule {number:#x} is of an executable bundle; found state={state.name}, expected "
            "EXECUTABLE"
        )
    return number, code


def _bytes_of(value: object) -> bytes | None:
    return bytes(cast("bytes", value)) if isinstance(value, bytes | bytearray | memoryview) else None


def _reflected(what: str, code: bytes) -> Reflection:
    from ..spirv.reflect import reflect

    return _as_invalid(what, lambda: reflect(code))


def _is_open(found: Reflection) -> bool:
    return bool(found.imports or found.exports or found.spec_constants)


def _require_open(what: str, found: Reflection, state: BundleState) -> None:
    """Raises InvalidError where a module is executable and an earlier state is asked for."""
    if state is not BundleState.EXECUTABLE and not _is_open(found):
        raise InvalidError(
            f"{what}: the module is executable: it imports and exports nothing and has no specialization constants; "
            f"found state={state.name}, expected EXECUTABLE"
        )


def _has_linkage(code: bytes) -> bool:
    found = _reflected("create_bundle", code)
    return bool(found.imports or found.exports)


def _as_invalid(what: str, make: Callable[[], _Made]) -> _Made:
    try:
        return make()
    except InvalidError:
        raise
    except Error as error:
        raise InvalidError(f"{what}: {error}", diagnostics=error.diagnostics) from error


def _as_build(what: str, make: Callable[[], _Made]) -> _Made:
    try:
        return make()
    except (BuildError, ConstraintError):
        raise
    except Error as error:
        raise BuildError(f"{what}: {error}", diagnostics=error.diagnostics) from error
