"""What each parameter of a kernel is inside of it: arrays by reference, values by their scalars, constants as literals
of their type, shared memory whose extents the launch gives, and the objects that say which work-item runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ..ir.create import add_arguments
from .aspect_lowering import note_struct, use_struct
from .assignment import variable_type
from .composites import build_value
from .constant_arguments import Constants, Leaves, MissingConstantError, default_constants
from .function_builder import AccessUse, FunctionBuilder
from .image_types import ImageType
from .images import ir_image_type
from .ir_types import ir_type, memref_type
from .local_arrays import local_array_parameter, local_memref_type
from .parameter_types import ConstType, LocalArrayType, StreamType, WorkItemType
from .signature import ParameterSpec, Signature
from .spec_parameters import IN_KERNEL
from .specialization import read_specialization
from .streams import KernelStream
from .struct_types import scalar_leaves
from .types import MOST_NUMBERS, ArrayType, FixedArrayType, ScalarType, Type
from .values import Array, FixedArray, Image, LocalArray, Scalar, Static, Value
from .work_item_members import id_value
from .work_item_values import work_item


def constant_values(kernel_name: str, signature: Signature, given: Constants) -> dict[str, Leaves]:
    """Returns the scalars of every constant parameter, the default where none are given.

    Raises:
        MissingConstantError: a parameter has neither value nor default.
    """
    known = {**default_constants(signature).values, **given.values}
    for parameter in signature.constants:
        if parameter.name not in known:
            raise MissingConstantError(
                f"kernel '{kernel_name}': its code depends on the value of '{parameter.name}' ({parameter.type!r}); "
                f"expected a value, found none: launch it, or give the parameter a default",
                code="LP1005",
            )
    return known


def has_shared_parameters(signature: Signature) -> bool:
    """Whether a launch gives shared memory, so that the work-items of a group work together."""
    return any(isinstance(p.type, LocalArrayType) for p in signature.parameters)


def bind_parameters(
    fb: FunctionBuilder, signature: Signature, constants: Mapping[str, Leaves]
) -> list[Attribute]:
    """Gives every parameter its value.

    Returns:
        The types of the arguments of the IR function, which it has got.
    """
    types: list[Attribute] = []
    for position, parameter in enumerate(signature.parameters):
        kind, name = parameter.type, parameter.name
        if isinstance(kind, ImageType):
            fb.env[name] = _image(fb, kind, position, name, types)
        elif isinstance(kind, ArrayType):
            fb.env[name] = _array(fb, kind, position, name, types)
        elif isinstance(kind, LocalArrayType):
            fb.env[name] = _shared_array(fb, kind, position, name, types)
        elif isinstance(kind, StreamType):
            types.append(i32)
            # A stream has no value on the device; this argument only keeps the others in their places.
            fb.prologue.insert_arg(i32, len(types) - 1)
            fb.env[name] = Static(KernelStream(name), name)
        elif isinstance(kind, ConstType):
            fb.env[name] = _constant(fb, kind.element, constants[name])
            _declare(fb, name, kind.element)
        else:
            fb.env[name] = _value(fb, parameter, types)
            _declare(fb, name, kind)
    for name, constant in signature.specialization_ids.items():
        if fb.facts.assignments[name]:  # a variable that begins with the constant's value
            fb.env[name] = read_specialization(fb, constant)
            _declare(fb, name, constant.type)
        else:
            fb.spec_parameters[name] = constant
    for name in signature.handlers:
        fb.env[name] = Static(IN_KERNEL, name)
    for name, kind in signature.work_items.items():
        fb.env[name] = _work_item(fb, kind)
        if fb.facts.assignments[name]:
            fb.variable_types[name] = variable_type(fb.env[name])  # pyright: ignore[reportArgumentType]
    return types


def _declare(fb: FunctionBuilder, name: str, kind: Type) -> None:
    """Fixes the type of a parameter that the kernel assigns to."""
    if fb.facts.assignments[name]:
        fb.variable_types[name] = FixedArray(kind, None) if isinstance(kind, FixedArrayType) else kind  # pyright: ignore[reportArgumentType]
        fb.declared.add(name)


def _array(fb: FunctionBuilder, kind: ArrayType, position: int, name: str, types: list[Attribute]) -> Array:
    note_struct(fb, kind)
    types.append(memref_type(kind))
    fb.accesses[position] = AccessUse()
    argument = fb.prologue.insert_arg(types[-1], len(types) - 1)
    if name.isascii():  # what MLIR's text can spell
        argument.name_hint = name
    return Array(kind, position, name, argument)


def _image(fb: FunctionBuilder, kind: ImageType, position: int, name: str, types: list[Attribute]) -> Image:
    types.append(ir_image_type(kind))
    fb.accesses[position] = AccessUse()
    argument = fb.prologue.insert_arg(types[-1], len(types) - 1)
    if name.isascii():
        argument.name_hint = name
    return Image(kind, position, name, argument)


def _shared_array(
    fb: FunctionBuilder, kind: LocalArrayType, position: int, name: str, types: list[Attribute]
) -> LocalArray:
    array = LocalArray(
        ArrayType(kind.element, kind.ndim),
        position,
        name,
        None,
        shape=(None,) * kind.ndim,
        extents=(),
        is_shared=True,
    )
    types.append(local_memref_type(array))
    fb.accesses[position] = AccessUse()
    argument = fb.prologue.insert_arg(types[-1], len(types) - 1)
    if name.isascii():
        argument.name_hint = name
    return local_array_parameter(fb, array, position, name, argument)


def _value(fb: FunctionBuilder, parameter: ParameterSpec, types: list[Attribute]) -> Value:
    kind, name = parameter.type, parameter.name
    leaves = tuple(scalar_leaves(kind))
    arguments = add_arguments(fb.prologue, [ir_type(scalar) for _, scalar, _ in leaves])
    types += (argument.type for argument in arguments)
    if len(leaves) > MOST_NUMBERS:
        from .large_values import note_large_parameter  # which few programs need

        note_large_parameter(fb, parameter, len(leaves))
    unread = iter(arguments)

    def leaf(scalar: ScalarType) -> Scalar:
        return Scalar(scalar, next(unread))

    if isinstance(kind, ScalarType):
        value = leaf(kind)
    else:
        with fb.into(fb.prologue):
            use_struct(fb, kind)
            value = build_value(fb, kind, leaf)
    for argument, (path, _, _) in zip(arguments, leaves, strict=True):
        hint = name + "".join(c if c.isalnum() else "_" for c in path)
        if hint.isascii():
            argument.name_hint = hint
    return value


def _constant(fb: FunctionBuilder, kind: Type, values: Leaves) -> Value:
    leaves = iter(values)

    def leaf(scalar: ScalarType) -> Scalar:
        number = next(leaves)
        bounds = (int(number), int(number)) if scalar.is_integer else None
        return Scalar(scalar, const=bool(number) if scalar.kind == "bool" else number, bounds=bounds)

    if isinstance(kind, ScalarType):
        return leaf(kind)
    with fb.into(fb.prologue):
        use_struct(fb, kind)
        return build_value(fb, kind, leaf)


def _work_item(fb: FunctionBuilder, kind: WorkItemType) -> Value:
    if kind.kind == "id":
        return id_value(fb, "global_id", kind.rank)
    made = work_item(kind.kind, kind.rank)
    return Static(made, str(made))
