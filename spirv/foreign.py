"""SPIR-V of other compilers: from bytes that nobody vouches for to device images.

The module is validated by our rules and by SPIRV-Tools, taken apart by entry point, and each part is described as the
passes describe lapilli's own kernels, so that the runtime launches both alike.  Nothing reaches a driver that was not
validated, or that needs a capability whose Vulkan feature is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.errors import BuildError, Diagnostic, FeatureNotSupportedError, InvalidError, KernelArgumentError
from ..ir.kernel_info import AspectUse, KernelInfo, LaunchAbi, LocalParameter, Requirements
from ..ir.target_env import SPIRV_VERSION_OF_VULKAN, TargetEnv
from .binary import Module, parse, serialise
from .clspv import ClspvArgument, kernel_arguments
from .core_sub_groups import with_core_sub_groups
from .count_rounds import counted
from .decoration_groups import without_groups
from .device_image import DeviceImage
from .driver_remedies import labelled, marked, module_for
from .errors import SpirvError
from .foreign_capabilities import Needs, needs_of
from .foreign_module import isolate, library, rebind, without_hints, without_tool_instructions
from .foreign_parameters import Interface, interface_of
from .foreign_sizes import SizeTable, arrays_of, constant_infos
from .foreign_types import ForeignTypes, has_rows_as_columns
from .image_checks import check_image
from .matched_signs import signs_matched
from .module_view import ModuleView
from .own_layouts import layouts_owned
from .reflect import reflect
from .reflection import EntryPoint, LinkageSymbol, LocalSize, Reflection
from .specialise import SpecValue, freeze_spec_constants, set_spec_constant_defaults
from .tables import Capability, ExecutionMode, ExecutionModel, Op, enumerant_name
from .tools import DEFAULT_TARGET_ENV, SCALAR_LAYOUT, ValidationFinding, spirv_tools
from .type_growth import oversized_type
from .validation import validate

PLAIN_ENV = TargetEnv()
"""Of a driver without faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKernels:
    """What a foreign module holds."""

    images: tuple[DeviceImage, ...]
    """One for each kernel, in the order of the entry points."""
    warnings: tuple[str, ...]
    """What is worth saying of a valid module."""
    left_out: Mapping[str, str]
    """Kernels that need what lapilli enables on no device, by name, and why."""


def foreign_kernels(
    binary: bytes,
    *,
    spec_values: Mapping[int | str, object] | None = None,
    label: str = "SPIR-V",
    is_object: bool = False,
    loop_cap: int | None = None,
    env: TargetEnv = PLAIN_ENV,
) -> ForeignKernels:
    """Returns the kernels of a module.

    Args:
        binary: any bytes.
        spec_values: values of specialization constants by SpecId or by name.
        label: what messages call the module.
        is_object: whether the module is to be linked, and may import and export.
        loop_cap: rounds after which the driver ends all loops; kernels then count theirs, see `count_rounds`.
        env: of the driver; says which remedies for its faults it needs, see `driver_remedies`.

    Raises:
        BuildError: the bytes are no valid SPIR-V for Vulkan; its log has every finding.
        KernelArgumentError: a value for a constant that the module does not have, or not of its type.
        FeatureNotSupportedError: an entry point takes what lapilli cannot pass: images, arrays of descriptors,
            pointers.
    """
    try:
        module = with_core_sub_groups(without_hints(_validated(binary, label)))
        values = _by_spec_id(reflect(module), spec_values or {})
        if values:
            module = parse(set_spec_constant_defaults(serialise(module), values))
        if _has_linkage(module):
            # SpecIds of several modules would clash: what is linked has the values that were given here.
            module = parse(freeze_spec_constants(serialise(module)))
        module = module_for(signs_matched(labelled(module)), env)
        found = _kernels(module, frozenset(values), label, loop_cap)
        images = (*found.images, *_library(module, loop_cap)) if is_object else found.images
        return replace(found, images=tuple(marked(image, env) for image in images))
    except SpirvError as error:
        raise _build_error(label, [error.message]) from error


def _validated(binary: bytes, label: str) -> Module:
    try:
        module = without_groups(parse(binary))
    except SpirvError as error:
        raise _build_error(label, [error.message]) from error
    oversized = oversized_type(binary)
    if oversized is not None:
        raise _build_error(label, [oversized])
    is_linked_later = _has_linkage(module)
    findings = [
        str(finding)
        for finding in validate(
            without_tool_instructions(module), environment="universal" if is_linked_later else "vulkan"
        )
    ]
    # Vulkan's rules forbid linkage; what it is linked to is checked again.
    env = "spv{}.{}".format(*min(module.version, (1, 6))) if is_linked_later else DEFAULT_TARGET_ENV
    module, finding = _accepted(module, env)
    if finding is not None:
        place = "" if finding.instruction_ordinal is None else f"instruction {finding.instruction_ordinal}: "
        findings.append(f"{place}SPIRV-Tools, {env}: {finding.message}")
    if findings:
        raise _build_error(label, findings)
    return module


def _accepted(module: Module, env: str) -> tuple[Module, ValidationFinding | None]:
    """Returns a module that SPIRV-Tools accepts and None, or a module and what it has against it."""
    finding = _finding(module, env)
    if finding is None:
        return module, None
    # What glslang and spirv-opt write of debug information is not always valid, and no driver sees it.
    plain = without_tool_instructions(module)
    if len(plain.instructions) < len(module.instructions):
        module, finding = plain, _finding(plain, env)
        if finding is None:
            return module, None
    for change in (_with_storage_buffers, layouts_owned):
        try:
            changed = change(module)
        except (SpirvError, LookupError, ValueError):
            continue
        if changed is not module and _finding(changed, env) is None:
            return changed, None
    return module, finding


def _with_storage_buffers(module: Module) -> Module:
    """Returns a module without BufferBlock, which glslang makes of HLSL for versions of SPIR-V that lack it, too."""
    if module.version < (1, 4):
        return module
    from .deserialise.buffer_blocks import with_storage_buffers  # loads the dialect

    return with_storage_buffers(module)


def _finding(module: Module, env: str) -> ValidationFinding | None:
    return spirv_tools().validate(serialise(module), env, scalar_block_layout=True)


def _has_linkage(module: Module) -> bool:
    linkage = (Op.Capability, (Capability.Linkage,))
    return any((item.opcode, item.operands) == linkage for item in module.instructions)


def _library(module: Module, loop_cap: int | None) -> tuple[DeviceImage, ...]:
    """Returns the image of the functions that a module exports, if it does."""
    exported = [symbol for symbol in reflect(module).exports if symbol.is_function]
    if not exported:
        return ()
    part = library(module, [symbol.target_id for symbol in exported])
    reflection = reflect(part)
    needs = needs_of(reflection)
    if needs.unknown:
        raise _build_error(
            "the library", [f"it needs {', '.join(needs.unknown)}, which lapilli enables on no device"]
        )
    image = DeviceImage(
        spirv=serialise(part),
        kernels=(),
        spec_constants=(),
        requirements=Requirements(aspects=tuple(needs.aspects), features=needs.features),
        target_env=replace(_environment(part, 0, ()), loop_iteration_cap=loop_cap),
        imports=_names(reflection.imports),
        exports=_names(reflection.exports),
    )
    check_image(image)
    return (image,)


def _names(symbols: Sequence[LinkageSymbol]) -> tuple[str, ...]:
    return tuple(sorted({symbol.name for symbol in symbols}))


def _build_error(label: str, findings: Sequence[str]) -> BuildError:
    lines = [f"{label}: error: {finding}" for finding in findings]
    return BuildError(
        f"{label} is no valid module for {DEFAULT_TARGET_ENV}:\n" + "\n".join(lines),
        code="LP2103",
        diagnostics=[Diagnostic(line) for line in lines],
    )


def _by_spec_id(reflection: Reflection, values: Mapping[int | str, object]) -> dict[int, SpecValue]:
    """Returns values by SpecId.

    Raises:
        KernelArgumentError: a name is unknown or stands for several constants, a constant has two values, or a value
            is no number.
    """
    found: dict[int, SpecValue] = {}
    keys: dict[int, int | str] = {}
    for key, value in values.items():
        if not isinstance(value, bool | int | float):
            raise KernelArgumentError(
                f"lp.SpecValues: constants of SPIR-V are set one number at a time, found {value!r} of type "
                f"{type(value).__name__} for {key!r}",
                code="LP3012",
            )
        ids = {c.spec_id for c in reflection.spec_constants if key in (c.spec_id, c.name)}
        if len(ids) != 1:
            shown = (
                f"{c.spec_id} {c.name!r}" if c.name else f"{c.spec_id}" for c in reflection.spec_constants
            )
            known = ", ".join(dict.fromkeys(shown)) or "none"
            raise KernelArgumentError(
                f"lp.SpecValues: the module has {'no' if not ids else 'several'} specialization constant "
                f"{key!r}; it has {known}",
                code="LP3012",
            )
        spec_id = ids.pop()
        first = keys.setdefault(spec_id, key)
        if first != key and found[spec_id] != value:
            raise KernelArgumentError(
                f"lp.SpecValues: {first!r} and {key!r} are one specialization constant, found {values[first]!r} and "
                f"{value!r}; expected one value",
                code="LP3012",
            )
        found[spec_id] = value
    return found


def _kernels(module: Module, given: frozenset[int], label: str, loop_cap: int | None) -> ForeignKernels:
    images: list[DeviceImage] = []
    warnings: list[str] = []
    left_out: dict[str, str] = {}
    reflection = reflect(module)
    names = [entry.name for entry in reflection.entry_points]
    whole = ModuleView(module)
    arguments, is_transposed = kernel_arguments(whole), has_rows_as_columns(whole)
    for entry in reflection.entry_points:
        if entry.execution_model != ExecutionModel.GLCompute:
            model = enumerant_name("ExecutionModel", entry.execution_model)
            warnings.append(f"entry point '{entry.name}' is left out: it is of model {model}, not GLCompute")
            continue
        if names.count(entry.name) > 1:
            raise _build_error(label, [f"{names.count(entry.name)} entry points are called '{entry.name}'"])
        found = arguments.get(entry.function_id)
        part = isolate(module, entry.function_id)
        image, lacking = _image(part, entry.name, given, found, is_transposed=is_transposed)
        if image is None:
            left_out[entry.name] = lacking
        else:
            images.append(image if loop_cap is None else _counting(image, loop_cap))
    return ForeignKernels(images=tuple(images), warnings=tuple(warnings), left_out=left_out)


def _image(
    module: Module,
    name: str,
    given: frozenset[int],
    arguments: tuple[ClspvArgument, ...] | None,
    *,
    is_transposed: bool,
) -> tuple[DeviceImage | None, str]:
    """Returns the image of a module with one entry point, or None and what no device has."""
    reflection = reflect(module)
    entry = reflection.entry_point(name)
    needs = needs_of(reflection)
    if needs.unknown:
        return None, f"it needs {', '.join(needs.unknown)}, which lapilli enables on no device"
    view = ModuleView(module)
    size = _local_size(entry)
    ids = frozenset(number for number in size.spec_ids if number is not None)
    interface = interface_of(
        entry, ForeignTypes(view, has_rows_as_columns=is_transposed), ids | given, arguments
    )
    kernel = _kernel_info(entry, size, interface, needs, view)
    lengths = [p.spec_ids for p in kernel.parameters if isinstance(p, LocalParameter)]
    at_launch = ids | {number for spec_ids in lengths for number in spec_ids if number is not None}
    image = DeviceImage(
        spirv=serialise(rebind(module, interface.bindings)),
        kernels=(kernel,),
        spec_constants=constant_infos(reflection.spec_constants, at_launch),
        requirements=Requirements(
            aspects=kernel.aspects,
            work_group_sizes=()
            if kernel.required_work_group_size is None
            else (kernel.required_work_group_size,),
            features=needs.features,
        ),
        target_env=_environment(
            module,
            0 if interface.block_binding is not None else interface.block_bytes,
            _preserved_bits(view, entry),
        ),
        imports=_names(reflection.imports),
    )
    check_image(image)
    return _rewritten(image), ""


def _counting(image: DeviceImage, loop_cap: int) -> DeviceImage:
    """Returns an image that counts its rounds, or will when it is linked; itself where it cannot."""
    if image.is_object:
        return replace(image, target_env=replace(image.target_env, loop_iteration_cap=loop_cap))
    found = counted(image, loop_cap)
    if found is None:
        return image
    check_image(found)
    return _rewritten(found)


def _rewritten(image: DeviceImage) -> DeviceImage:
    """Returns the part of a valid module, which requires `SCALAR_LAYOUT` where only that allows its buffers.

    Raises:
        BuildError: the part is not valid: a fault of lapilli, which no driver is to see.
    """
    if image.is_object:
        return image  # checked when it is linked
    finding = spirv_tools().validate(image.spirv, DEFAULT_TARGET_ENV)
    if finding is None:
        return image
    finding = spirv_tools().validate(image.spirv, DEFAULT_TARGET_ENV, scalar_block_layout=True)
    if finding is not None:
        name = image.kernels[0].name
        raise _build_error(
            f"kernel '{name}'", [f"internal error, please report the module: {finding.message}"]
        )
    needed = image.requirements
    features = tuple(sorted({*needed.features, SCALAR_LAYOUT}))
    return replace(image, requirements=replace(needed, features=features))


def _local_size(entry: EntryPoint) -> LocalSize:
    size = entry.local_size
    if size is None or None in size.size:
        raise FeatureNotSupportedError(
            f"kernel '{entry.name}' has {'no' if size is None else 'a computed'} local size; expected LocalSize, or "
            "LocalSizeId or WorkgroupSize of constants"
        )
    if 0 in size.size:
        zeros = [spec_id for number, spec_id in zip(size.size, size.spec_ids, strict=True) if number == 0]
        names = ", ".join(f"SpecId {spec_id} is 0" for spec_id in zeros if spec_id is not None)
        raise InvalidError(
            f"kernel '{entry.name}': the local size (x, y, z) is {size.size}, expected at least 1 in each dimension"
            f"{f'; {names}' if names else ''}"
        )
    return size


def _kernel_info(
    entry: EntryPoint, size: LocalSize, interface: Interface, needs: Needs, view: ModuleView
) -> KernelInfo:
    x, y, z = (number or 0 for number in size.size)
    is_fixed = size.spec_ids == (None, None, None)
    table = SizeTable(view)
    arrays = arrays_of(table)
    return KernelInfo(
        name=entry.name,
        entry_point=entry.name,
        parameters=interface.parameters,
        abi=LaunchAbi(
            rank=3,
            local_size_spec_ids=None if is_fixed else size.spec_ids,
            fixed_local_size=None if is_fixed else (x, y, z),
            is_masked=False,
            is_divisible=False,
            argument_block_bytes=interface.block_bytes,
            argument_block_binding=interface.block_binding,
            is_argument_block_uniform=interface.is_block_uniform,
        ),
        required_work_group_size=(z, y, x) if is_fixed else None,
        default_local_size=None if is_fixed else (z, y, x),
        aspects=tuple(needs.aspects),
        aspect_uses=tuple(
            AspectUse(aspect=number, location=None, what=what) for number, what in needs.aspects.items()
        ),
        size_nodes=tuple(table.nodes),
        local_arrays=arrays,
        has_any_rank=True,
        has_loops=any(i.opcode == Op.LoopMerge for f in view.functions for i in f.instructions()),
    )


_LEAST_VULKAN = {(1, 0): (1, 1), (1, 1): (1, 1), (1, 2): (1, 1), (1, 3): (1, 1), (1, 4): (1, 2)}
"""Vulkan versions by SPIR-V version; see `SPIRV_VERSION_OF_VULKAN` for the others."""


def _environment(module: Module, block_bytes: int, preserved_bits: tuple[int, ...]) -> TargetEnv:
    """Returns the least environment that accepts a module."""
    fitting = [vulkan for vulkan, spirv in SPIRV_VERSION_OF_VULKAN.items() if spirv >= module.version]
    return TargetEnv(
        vulkan_version=_LEAST_VULKAN.get(module.version) or min(fitting, default=(1, 4)),
        max_push_constant_bytes=block_bytes,
        signed_zero_inf_nan_preserve_bits=preserved_bits,
    )


def _preserved_bits(view: ModuleView, entry: EntryPoint) -> tuple[int, ...]:
    modes = (
        item.operands[2]
        for item in view.of_opcode(Op.ExecutionMode)
        if item.operands[:2] == (entry.function_id, ExecutionMode.SignedZeroInfNanPreserve)
    )
    return tuple(sorted(set(modes)))
