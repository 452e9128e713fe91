"""Signatures, types and specialization constants as the records of a bundle file; `lpk_signatures` reads them back."""

from __future__ import annotations

from typing import Any

from ..ir.errors import InvalidError
from ..ir.lpk_records import (
    ConstantRecord,
    FieldRecord,
    KernelRecord,
    ParameterRecord,
    SizeNameRecord,
    SizeRecord,
    SpecParameterRecord,
    TypeRecord,
)
from .image_types import ImageType
from .local_size import LocalSize
from .parameter_types import ConstType, LocalArrayType, StreamType
from .signature import ParameterSpec, Signature
from .spec_constant import SpecializationId
from .struct_types import (
    StructType,
)
from .struct_values import defaults_of, to_record
from .types import ArrayType, FixedArrayType, ScalarType, Type
from .vector_types import CompositeArrayType, VecType


def kernel_record(
    name: str, qualified_name: str, signature: Signature, local_size: LocalSize | None
) -> KernelRecord:
    """Returns what a file says of a kernel."""
    return KernelRecord(
        name=name,
        qualified_name=qualified_name,
        parameters=tuple(_parameter_record(p) for p in signature.parameters),
        spec_parameters=tuple(
            SpecParameterRecord(name=key, symbol=constant.symbol)
            for key, constant in signature.specialization_ids.items()
        ),
        local_size=None if local_size is None else tuple(map(_size_record, local_size.parts)),
    )


def described(
    name: str, qualified_name: str, signature: Signature, local_size: LocalSize | None
) -> tuple[KernelRecord, tuple[ConstantRecord, ...]]:
    """Returns what a file says of a kernel, and of the constants that its signature and local size name."""
    named = [*signature.specialization_ids.values()]
    for part in () if local_size is None else local_size.parts:
        named += [found for found in part.names.values() if isinstance(found, SpecializationId)]
    constants = tuple(dict.fromkeys(map(constant_record, named)))
    return kernel_record(name, qualified_name, signature, local_size), constants


def constant_record(constant: SpecializationId) -> ConstantRecord:
    """Returns what a file says of a specialization constant."""
    return ConstantRecord(
        symbol=constant.symbol,
        name=constant.name,
        type=_type_record(constant.type),
        default=constant.default_bytes,
    )


def _parameter_record(parameter: ParameterSpec) -> ParameterRecord:
    kind = parameter.type.element if isinstance(parameter.type, ConstType) else parameter.type
    default = _host_bytes(kind, parameter.default) if parameter.has_default else None
    return ParameterRecord(
        name=parameter.name,
        type=_type_record(parameter.type),
        default=default,
        is_keyword_only=parameter.keyword_only,
        is_positional_only=parameter.positional_only,
    )


def _host_bytes(kind: Type, value: object) -> bytes:
    return to_record(kind, value, "a default").tobytes()


def _type_record(kind: Type) -> TypeRecord:
    match kind:
        case ScalarType():
            return TypeRecord(kind="scalar", name=kind.spelling)
        case VecType():
            return TypeRecord(kind="vec", element=_type_record(kind.element), shape=(kind.size,))
        case FixedArrayType() | CompositeArrayType():
            return TypeRecord(kind="fixed", element=_type_record(kind.element), shape=kind.shape)
        case ImageType():
            name, element = "sampled" if kind.is_sampled else "", _type_record(kind.element)
            return TypeRecord(
                kind="image", name=name, element=element, shape=(kind.ndim,), access=kind.access
            )
        case ArrayType():
            element = _type_record(kind.element)
            return TypeRecord(kind="array", element=element, shape=(kind.ndim,), access=kind.access)
        case ConstType():
            return TypeRecord(kind="const", element=_type_record(kind.element))
        case LocalArrayType():
            return TypeRecord(kind="local", element=_type_record(kind.element), shape=(kind.ndim,))
        case StreamType():
            return TypeRecord(kind="stream")
        case StructType():
            return _struct_record(kind)
        case _:
            raise InvalidError(f"a bundle file has no parameters of type {kind!r}")


def _struct_record(kind: StructType) -> TypeRecord:
    defaults = defaults_of(kind)
    fields = tuple(
        FieldRecord(
            name=f.name,
            type=_type_record(f.type),
            offset_bytes=f.offset_bytes,
            default=_host_bytes(f.type, defaults[f.name]) if f.name in defaults else None,
        )
        for f in kind.fields
    )
    return TypeRecord(
        kind="struct", name=kind.name, fields=fields, alignment=kind.alignment, size_bytes=kind.size_bytes
    )


def _size_record(part: Any) -> SizeRecord:
    names = tuple(
        SizeNameRecord(name=name, symbol=found.symbol)
        if isinstance(found, SpecializationId)
        else SizeNameRecord(name=name, symbol=None, value=found)
        for name, found in part.names.items()
    )
    return SizeRecord(text=part.text, names=names)
