"""Signatures, types and specialization constants of the records of a bundle file; `lpk_descriptions` writes them.

What comes back is as good as what the decorator makes: arguments are bound, checked and taken apart by the same code.
Records are untrusted: names, sizes, offsets and depths are checked, expressions are parsed and never executed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast, get_args
from weakref import WeakValueDictionary

import numpy as np

from ..ir.errors import InvalidError
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from ..ir.lpk_records import (
    ConstantRecord,
    KernelRecord,
    ParameterRecord,
    SizeNameRecord,
    TypeRecord,
)
from .image_types import ImageType, image_type
from .local_size import LocalSize
from .lpk_descriptions import constant_record
from .parameter_types import ConstType, LocalArrayType, StreamType
from .signature import NO_DEFAULT, ParameterSpec, Signature
from .spec_constant import SpecializationId
from .struct_types import (
    STRUCT_ATTRIBUTE,
    Field,
    StructType,
    alignment_of,
    checked_alignment,
    dtype_of,
    scalar_count,
    scalar_leaves,
    size_of,
)
from .struct_values import add_methods, from_record
from .types import MAX_SCALARS, SCALAR_TYPES, Access, ArrayType, FixedArrayType, ScalarType, Type
from .vector_types import VECTOR_SIZES, CompositeArrayType, VecType, array_type

MAX_DEPTH: Final = 16
"""Of structs in structs."""
MAX_PARAMETERS: Final = 1024
MAX_EXPRESSION: Final = 1024
"""Characters of an expression of ``local_size=``."""


@dataclass(frozen=True, slots=True)
class RuntimeParameter:
    """An argument as the runtime sees it: an array, or a scalar of a value."""

    name: str
    dtype: str
    ndim: int
    """0 of a scalar."""
    access: str = ""
    """Of an array; ``local`` for one in the memory of a work-group; ``image`` and ``sampled`` of images."""


def runtime_parameters(signature: Signature) -> tuple[RuntimeParameter, ...]:
    """Returns what the parameters of an image of this kernel must be."""
    return tuple(_runtime_parameters(signature))


def _runtime_parameters(signature: Signature) -> Iterator[RuntimeParameter]:
    for parameter in signature.parameters:
        kind = parameter.type
        if isinstance(kind, ArrayType | LocalArrayType):
            access = kind.access if isinstance(kind, ArrayType) else "local"
            if isinstance(kind, ImageType):
                access = "sampled" if kind.is_sampled else "image"
            yield RuntimeParameter(parameter.name, kind.element_spelling, kind.ndim, access)
        elif isinstance(kind, StreamType):
            yield RuntimeParameter(parameter.name, kind.spelling, 0)
        elif not isinstance(kind, ConstType):  # which is in the code
            for path, scalar, _ in scalar_leaves(kind):
                yield RuntimeParameter(parameter.name + path, scalar.spelling, 0)


def signature_of(record: KernelRecord, constants: Mapping[str, SpecializationId]) -> Signature:
    """Returns the signature of a kernel.

    Args:
        record: of the kernel.
        constants: by symbol.

    Raises:
        InvalidError: it describes no signature.
    """
    names = [p.name for p in (*record.parameters, *record.spec_parameters)]
    if len(set(names)) != len(names) or len(names) > MAX_PARAMETERS or not all(map(_is_name, names)):
        raise InvalidError(f"kernel {record.name!r} has parameters {names!r:.200}")
    return Signature(
        tuple(_parameter(p) for p in record.parameters),
        {p.name: _constant(p.symbol, constants) for p in record.spec_parameters},
    )


def foreign_parameters(record: KernelRecord) -> tuple[str, ...]:
    """Returns the names of a foreign kernel's parameters, of which its code alone knows the types.

    Raises:
        InvalidError: it describes no such kernel.
    """
    names = tuple(p.name for p in record.parameters)
    plain = (TypeRecord(kind="foreign"), None, False, False)
    if (
        len(set(names)) != len(names)
        or len(names) > MAX_PARAMETERS
        or record.spec_parameters
        or record.local_size is not None
        or any(
            (p.type, p.default, p.is_keyword_only, p.is_positional_only) != plain for p in record.parameters
        )
    ):
        raise InvalidError(f"kernel {record.name!r} has parameters {names!r:.200}")
    return names


def local_size_of(record: KernelRecord, constants: Mapping[str, SpecializationId]) -> LocalSize | None:
    """Returns the work-group size that a kernel asks for; errors as `signature_of`."""
    if record.local_size is None:
        return None
    if not 1 <= len(record.local_size) <= 3:
        raise InvalidError(f"kernel {record.name!r} has a local size of {len(record.local_size)} dimensions")
    parts: list[tuple[str, dict[str, SpecializationId | int]]] = []
    for part in record.local_size:
        if len(part.text) > MAX_EXPRESSION:
            raise InvalidError(f"kernel {record.name!r} has a local size of {len(part.text)} characters")
        parts.append((part.text, {n.name: _size_value(n, constants) for n in part.names}))
    return LocalSize.of_names(parts)


def _size_value(name: SizeNameRecord, constants: Mapping[str, SpecializationId]) -> SpecializationId | int:
    return name.value if name.symbol is None else _constant(name.symbol, constants)


def _constant(symbol: str, constants: Mapping[str, SpecializationId]) -> SpecializationId:
    found = constants.get(symbol)
    if found is None:
        raise InvalidError(f"there is no specialization constant {symbol!r}")
    return found


_loaded: WeakValueDictionary[ConstantRecord, SpecializationId] = WeakValueDictionary()
"""The constants of files that are in use, so that two files of one library share them."""


def constant_of(record: ConstantRecord) -> SpecializationId:
    """Returns the specialization constant of a record: the program's own of this symbol where type and default are the
    same, else one that stands for it.

    Raises:
        InvalidError: it describes no constant.
    """
    value, record = record.value, replace(record, value=None)
    if value is not None and len(value) != len(record.default):
        raise InvalidError(f"specialization constant {record.symbol!r} has a value of {len(value)} bytes")
    own = SpecializationId.living(record.symbol)
    if own is not None and constant_record(own) == record:
        return own
    found = _loaded.get(record)
    if found is None:
        kind = _type(record.type, MAX_DEPTH)
        if (
            isinstance(kind, ArrayType | ConstType | LocalArrayType | StreamType)
            or not record.symbol
            or len(record.default) != size_of(kind)
        ):
            raise InvalidError(f"specialization constant {record.symbol!r} has no value of type {kind}")
        found = SpecializationId.of_file(kind, record.symbol, record.name, record.default)
        _loaded[record] = found
    return found


def _parameter(record: ParameterRecord) -> ParameterSpec:
    kind = _type(record.type, MAX_DEPTH)
    default: object = NO_DEFAULT
    if record.default is not None:
        value_type = kind.element if isinstance(kind, ConstType) else kind
        default = _host_value(value_type, record.default, record.name)
    return ParameterSpec(
        name=record.name,
        type=kind,
        default=default,
        keyword_only=record.is_keyword_only,
        positional_only=record.is_positional_only,
    )


def _host_value(kind: Type, data: bytes, name: str) -> object:
    if isinstance(kind, ArrayType | LocalArrayType | StreamType) or len(data) != size_of(kind):
        raise InvalidError(f"{name!r} has a default of {len(data)} bytes for type {kind}")
    return from_record(kind, np.frombuffer(data, dtype_of(kind))[0])


def _type(record: TypeRecord, depth: int) -> Type:
    if not depth:
        raise InvalidError("a type is nested too deeply")
    match record.kind:
        case "scalar" if record.name in SCALAR_TYPES:
            return SCALAR_TYPES[record.name]
        case "vec" if len(record.shape) == 1 and record.shape[0] in VECTOR_SIZES:
            return VecType(_scalar(record), record.shape[0])
        case "fixed" if _is_shape(record.shape):
            return _fixed(record, depth)
        case "array" if depth == MAX_DEPTH:
            return _array(record, depth)
        case "image" if depth == MAX_DEPTH and record.element is not None:
            return _image(record)
        case "const" if depth == MAX_DEPTH and record.element is not None:
            return ConstType(_type(record.element, depth - 1))
        case "local" if (
            depth == MAX_DEPTH and len(record.shape) == 1 and 1 <= record.shape[0] <= MAX_ARRAY_DIMENSIONS
        ):
            return _local(record)
        case "stream" if depth == MAX_DEPTH:
            return StreamType()
        case "struct":
            return _struct(record, depth)
        case _:
            raise InvalidError(f"{record.kind!r} {record.name!r} {record.shape!r:.60} is no type")


def _scalar(record: TypeRecord) -> ScalarType:
    element = record.element
    if element is None or element.kind != "scalar" or element.name not in SCALAR_TYPES:
        raise InvalidError(f"a {record.kind!r} without scalar elements is no type")
    return SCALAR_TYPES[element.name]


def _fixed(record: TypeRecord, depth: int) -> FixedArrayType | CompositeArrayType:
    element = None if record.element is None else _type(record.element, depth - 1)
    if not isinstance(element, ScalarType | VecType | StructType):
        raise InvalidError("a fixed array without numbers, vectors or structs as elements is no type")
    found = array_type(element, record.shape)
    if scalar_count(found) > MAX_SCALARS:
        raise InvalidError(f"a fixed array of {record.shape!r:.60} is too large")
    return found


def _is_shape(shape: tuple[int, ...]) -> bool:
    total = 1
    for length in shape:
        total *= length
        if length < 1 or total > MAX_SCALARS:
            return False
    return 1 <= len(shape) <= MAX_DEPTH


def _array(record: TypeRecord, depth: int) -> ArrayType:
    is_array = len(record.shape) == 1 and 1 <= record.shape[0] <= MAX_ARRAY_DIMENSIONS
    if record.element is None or not is_array or record.access not in get_args(Access):
        raise InvalidError(f"an array of {record.shape!r:.60} dimensions with access {record.access!r}")
    return ArrayType(_type(record.element, depth - 1), record.shape[0], cast("Access", record.access))


def _image(record: TypeRecord) -> ImageType:
    element = None if record.element is None else _type(record.element, 2)
    is_known = record.name in ("", "sampled") and record.access in ("read", "write", "read_write")
    kind = image_type((element, *record.shape), is_sampled=record.name == "sampled", access="read")
    if isinstance(kind, str) or not is_known or (kind.is_sampled and record.access != "read"):
        raise InvalidError(
            f"an image of {element} with shape {record.shape!r:.60} and access {record.access!r}"
        )
    access = (
        "read_write" if record.access == "read_write" else "write" if record.access == "write" else "read"
    )
    return replace(kind, access=access)


def _local(record: TypeRecord) -> LocalArrayType:
    element = None if record.element is None else _type(record.element, MAX_DEPTH - 1)
    if not isinstance(element, ScalarType | VecType | FixedArrayType | StructType | CompositeArrayType):
        raise InvalidError(
            "an array in the memory of a work-group has numbers, vectors, fixed arrays or structs"
        )
    return LocalArrayType(element, record.shape[0])


def _struct(record: TypeRecord, depth: int) -> StructType:
    names = [f.name for f in record.fields]
    if not names or len(set(names)) != len(names) or not all(map(_is_name, names)):
        raise InvalidError(f"struct {record.name!r} has members {names!r:.200}")
    checked_alignment(record.alignment, f"struct {record.name!r}")
    fields: list[Field] = []
    end = 0
    for member in record.fields:
        kind = _type(member.type, depth - 1)
        if member.offset_bytes < end or member.offset_bytes % alignment_of(kind):
            raise InvalidError(f"struct {record.name!r} has member {member.name!r} at {member.offset_bytes}")
        fields.append(Field(member.name, kind, member.offset_bytes))
        end = member.offset_bytes + size_of(kind)
    if not end <= record.size_bytes <= MAX_SCALARS * 8 or record.size_bytes % record.alignment:
        raise InvalidError(f"struct {record.name!r} has {record.size_bytes} bytes")
    defaults = {
        member.name: _host_value(field.type, member.default, member.name)
        for member, field in zip(record.fields, fields, strict=True)
        if member.default is not None
    }
    name = record.name if _is_name(record.name) else "Struct"
    made = type(name, (), defaults)
    result = StructType(name, tuple(fields), record.alignment, record.size_bytes, made)
    if sum(1 for _ in itertools.islice(scalar_leaves(result), MAX_SCALARS + 1)) > MAX_SCALARS:
        raise InvalidError(f"struct {record.name!r} has more than {MAX_SCALARS} scalars")
    setattr(made, STRUCT_ATTRIBUTE, result)
    add_methods(made, result)
    return result


def _is_name(name: str) -> bool:
    return name.isidentifier() and len(name) <= 256 and not name.startswith("__")


__all__ = [
    "RuntimeParameter",
    "constant_of",
    "foreign_parameters",
    "local_size_of",
    "runtime_parameters",
    "signature_of",
]
