"""Upstream's custom syntax of the `spirv` dialect, as mlir-opt prints it; what we print is generic syntax.

    %e = spirv.CompositeExtract %v[1 : i32] : vector<3xf32>
    %o = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %x : !spirv.ptr<i32, StorageBuffer>

Most operations are a pattern: ``%`` is an operand, ``%*`` any number of them, ``T`` a type, ``T*`` any number of types,
``{name}`` an attribute in angle brackets or, as up to MLIR 18, a string, ``[name]`` numbers; other words stand for
themselves, and ``?…?`` may be missing.  Beside it stands what the types say of operands and results.  Modules,
functions, memory and control flow are read by `parse_spirv_structure`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, SymbolRefAttr, i1, i32
from xdsl.ir import Attribute, Operation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from .dialects.spirv import SPIRV_OPS, attributes
from .dialects.spirv.atomic import AtomicCountOp, AtomicUpdateOp
from .dialects.spirv.base import BinaryOp, ComparisonOp, ConversionOp, TernaryOp, UnaryOp, bool_like
from .dialects.spirv.group import GroupArithmeticOp, GroupShuffleOp, GroupVoteOp
from .dialects.spirv.image_types import SampledImageType
from .dialects.spirv.integer_dot import IntegerDotAccumulateOp, IntegerDotOp
from .dialects.spirv.memory import access_chain_type
from .dialects.spirv.scalars import scalar_of
from .dialects.spirv.types import PointerType, StructType, element_type_at

Types = Sequence[Attribute]
Typing = Callable[[Types, int], tuple[Types, Types]]
"""From the types in the text and the number of operands to those of operands and results."""

_SCOPE, _SEMANTICS = attributes.ScopeAttr, attributes.MemorySemanticsAttr
_ATTRIBUTES: dict[str, Any] = {
    "execution_scope": _SCOPE,
    "memory_scope": _SCOPE,
    "semantics": _SEMANTICS,
    "memory_semantics": _SEMANTICS,
    "equal_semantics": _SEMANTICS,
    "unequal_semantics": _SEMANTICS,
    "group_operation": attributes.GroupOperationAttr,
    "format": attributes.PackedVectorFormatAttr,
    "matrix_layout": attributes.CooperativeMatrixLayoutAttr,
    "memory_operand": attributes.MemoryAccessAttr,
    "matrix_operands": attributes.CooperativeMatrixOperandsAttr,
    "image_operands": attributes.ImageOperandsAttr,
}


def _pointee(type_: Attribute) -> Attribute:
    if not isinstance(type_, PointerType):
        raise VerifyException(f"expected a !spirv.ptr, found {type_}")
    return type_.pointee


def _image_of(type_: Attribute) -> Attribute:
    if not isinstance(type_, SampledImageType):
        raise VerifyException(f"expected a !spirv.sampled_image, found {type_}")
    return type_.image_type


def _first_member(type_: Attribute) -> Attribute:
    if not isinstance(type_, StructType) or not type_.members:
        raise VerifyException(f"expected a struct, found {type_}")
    return type_.member_types[0]


def _alike(types: Types, count: int) -> tuple[Types, Types]:
    return [types[0]] * count, [types[0]]


def _converted(types: Types, count: int) -> tuple[Types, Types]:
    return [types[0]] * count, [types[-1]]


def _compared(types: Types, count: int) -> tuple[Types, Types]:
    return [types[0]] * count, [bool_like(types[0])]


def _each(types: Types, _count: int) -> tuple[Types, Types]:
    """One type an operand; the result's is the first."""
    return types, [types[0]]


def _from_each(types: Types, _count: int) -> tuple[Types, Types]:
    """One type an operand, then the result's."""
    return types[:-1], [types[-1]]


def _no_result(types: Types, _count: int) -> tuple[Types, Types]:
    return types, []


def _atomic(types: Types, count: int) -> tuple[Types, Types]:
    pointee = _pointee(types[0])
    return [types[0], *[pointee] * (count - 1)], [pointee]


def _reduced(types: Types, count: int) -> tuple[Types, Types]:
    return [types[0], *[i32] * (count - 1)], [types[-1]]


_REDUCTION = "{execution_scope} {group_operation} % ?cluster_size ( % )? : T ?-> T?"
_MATRIX = "{matrix_layout} ?, {memory_operand}? ?, alignment?"
_SHAPES: list[tuple[type[Operation], str, Typing]] = [
    (IntegerDotAccumulateOp, "% , % , % ?, {format}? : T -> T", lambda t, _: ([t[0], t[0], t[1]], [t[1]])),
    (IntegerDotOp, "% , % ?, {format}? : T -> T", _converted),
    (ComparisonOp, "% , % : T", _compared),
    (ConversionOp, "% : T to T", _converted),
    (UnaryOp, "% : T", _alike),
    (BinaryOp, "% , % : T", _alike),
    (TernaryOp, "% , % , % : T", _alike),
    (AtomicUpdateOp, "{memory_scope} {semantics} % , % : T", _atomic),
    (AtomicCountOp, "{memory_scope} {semantics} % : T", _atomic),
    (GroupArithmeticOp, _REDUCTION, _reduced),
    (GroupShuffleOp, "{execution_scope} % , % : T , T", _each),
    (GroupVoteOp, "{execution_scope} % : T", lambda t, _: ([i1], t)),
]
"""Operations that a class of the dialect groups, the narrower ones first."""
_PATTERNS: dict[str, tuple[str, Typing]] = {
    **dict.fromkeys(("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic"), ("% , % : T , T", _each)),
    **dict.fromkeys(("IAddCarry", "ISubBorrow", "UMulExtended", "SMulExtended"), (
        "% , % : T", lambda t, n: ([_first_member(t[0])] * n, t))),
    **dict.fromkeys(("IsNan", "IsInf"), ("% : T", _compared)),
    **dict.fromkeys(("Bitcast", "ConvertPtrToU", "ConvertUToPtr"), ("% : T to T", _converted)),
    **dict.fromkeys(("BitFieldSExtract", "BitFieldUExtract"), ("% , % , % : T , T , T", _each)),
    "BitFieldInsert": ("% , % , % , % : T , T , T", lambda t, _: ([t[0], *t], [t[0]])),
    "Select": ("% , % , % : T , T", lambda t, _: ([t[0], t[1], t[1]], [t[1]])),
    "Dot": ("% , % : T -> T", _converted),
    "VectorTimesScalar": ("% , % : ( T , T ) -> T", _from_each),
    "Transpose": ("% : T -> T", _converted),
    "MatrixTimesScalar": ("% , % : T , T ?-> T?", lambda t, _: (t[:2], [t[-1] if len(t) > 2 else t[0]])),
    **dict.fromkeys(("MatrixTimesMatrix", "MatrixTimesVector", "VectorTimesMatrix"), (
        "% , % : T , T -> T", _from_each)),
    "CompositeConstruct": ("%* : ( T* ) -> T", _from_each),
    "CompositeInsert": ("% , % [indices] : T into T", lambda t, _: (t, [t[1]])),
    "VectorExtractDynamic": ("% index : T , T", lambda t, _: (t, [scalar_of(t[0])])),
    "VectorShuffle": ("[components] % , % : T , T -> T", _from_each),
    "GL.FMix": ("% : T , % : T , % : T -> T", _from_each),
    "GL.Ldexp": ("% : T , % : T -> T", _from_each),
    **dict.fromkeys(("GL.FrexpStruct", "GL.ModfStruct"), ("% : T -> T", _converted)),
    "Undef": (": T", lambda t, _: ([], t)),
    "ControlBarrier": ("{execution_scope} , {memory_scope} , {memory_semantics}", _no_result),
    "MemoryBarrier": ("{memory_scope} , {memory_semantics}", _no_result),
    "AtomicCompareExchange": ("{memory_scope} {equal_semantics} {unequal_semantics} % , % , % : T", _atomic),
    "GroupNonUniformElect": ("{execution_scope} : T", lambda t, _: ([], t)),
    "GroupNonUniformBallot": ("{execution_scope} % : T", lambda t, _: ([i1], t)),
    "GroupNonUniformBallotBitCount": (_REDUCTION, _reduced),
    **dict.fromkeys(("GroupNonUniformBallotFindLSB", "GroupNonUniformBallotFindMSB"), (
        "{execution_scope} % : T , T", lambda t, _: ([t[0]], [t[1]]))),
    "GroupNonUniformRotateKHR": ("{execution_scope} % , % : T , T -> T", _from_each),
    "KHR.AssumeTrue": ("%", lambda _, __: ([i1], [])),
    "KHR.CooperativeMatrixLoad": (f"% , % , {_MATRIX} : T , T -> T", _from_each),
    "KHR.CooperativeMatrixStore": (f"% , % , % , {_MATRIX} : T , T , T", _no_result),
    "KHR.CooperativeMatrixMulAdd": ("% , % , % ?, {matrix_operands}? : T , T -> T", lambda t, _: (t, [t[2]])),
    "Return": ("", _no_result),
    "Unreachable": ("", _no_result),
    "ReturnValue": ("% : T", _no_result),
    "mlir.merge": ("?%* : T*?", _no_result),
    "mlir.yield": ("% : T", _no_result),
    "Image": ("% : T", lambda t, _: (t, [_image_of(t[0])])),
    "ImageDrefGather": ("% : T , % : T , % : T ?image_operands? -> T", _from_each),
    "ImageQuerySize": ("% : T -> T", lambda t, _: (t[:1], t[1:])),
    "FunctionCall": ("@callee ( ?%*? ) : function", lambda t, n: (t[:n], t[n:])),
    "mlir.addressof": ("@variable : T", lambda t, _: ([], t)),
    "mlir.referenceof": ("@spec_const : T", lambda t, _: ([], t)),
}  # fmt: skip


@dataclass(slots=True)
class _Read:
    """What a pattern has found."""

    operands: list[UnresolvedOperand] = field(default_factory=list[UnresolvedOperand])
    types: list[Attribute] = field(default_factory=list[Attribute])
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])


def _step(parser: Parser, word: str, read: _Read) -> bool:
    """Reads what one word of a pattern stands for; whether it was there."""
    if word == "%":
        read.operands.append(parser.parse_unresolved_operand())
    elif word == "%*":
        found = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        read.operands += found or []
        return found is not None
    elif word == "T":
        read.types.append(parser.parse_type())
    elif word == "T*":
        read.types += parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    elif word == "function":
        type_ = parser.parse_function_type()
        read.types += [*type_.inputs.data, *type_.outputs.data]
    elif word[0] == "{":
        return _enumerant(parser, word[1:-1], read)
    elif word[0] == "[":
        read.properties[word[1:-1]] = _numbers(parser)
    elif word[0] == "@":
        read.properties[word[1:]] = SymbolRefAttr(parser.parse_symbol_name())
    elif word == "index":
        with parser.in_square_brackets():
            read.operands.append(parser.parse_unresolved_operand())
    elif word == "image_operands":
        return _image_operands(parser, read)
    elif word == "alignment":
        found = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if found is not None:
            read.properties["alignment"] = IntegerAttr(found, i32)
        return found is not None
    elif word.isidentifier():
        return parser.parse_optional_keyword(word) is not None
    else:
        if word == ":" and not read.attributes:
            read.attributes.update(parser.parse_optional_attr_dict())
        return parser.parse_optional_punctuation(word) is not None  # pyright: ignore[reportArgumentType]
    return True


def _enumerant(parser: Parser, name: str, read: _Read) -> bool:
    from .parse_spirv_structure import spelled

    kind = _ATTRIBUTES[name]
    text = parser.parse_optional_str_literal()
    value = kind.parse_parameter(parser) if text is None else spelled(parser, kind.enumeration, text)
    read.properties[name] = kind(value)
    return True


def _image_operands(parser: Parser, read: _Read) -> bool:
    """Reads ``["Offset"](%x : vector<2xi32>)``, where it is there."""
    if parser.parse_optional_punctuation("[") is None:
        return False
    _enumerant(parser, "image_operands", read)
    parser.parse_punctuation("]")
    return _step(parser, "(", read) and all(_step(parser, word, read) for word in ("%*", ":", "T*", ")"))


def _numbers(parser: Parser) -> Attribute:
    """Reads ``[1 : i32, 3 : i32]``."""
    start = parser.pos
    found = parser.parse_attribute()
    if not isinstance(found, ArrayAttr):
        parser.raise_error(f"expected numbers in brackets, found {found}", start)
    return found  # pyright: ignore[reportUnknownVariableType]


def _read_pattern(parser: Parser, words: Sequence[str]) -> _Read:
    read = _Read()
    for word in words:
        if word[0] == "?":
            _read_optional(parser, word[1:-1].split(), read)
        elif not _step(parser, word, read):
            parser.raise_error(f"expected {word!r}")
    if ":" not in words:
        read.attributes.update(parser.parse_optional_attr_dict())
    return read


def _read_optional(parser: Parser, words: Sequence[str], read: _Read) -> None:
    if _step(parser, words[0], read):
        for word in words[1:]:
            if not _step(parser, word, read):
                parser.raise_error(f"expected {word!r}")


@cache
def _words(pattern: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\?.*?\?|\S+", pattern))


def _reader(kind: type[Operation], pattern: str, typing: Typing) -> Callable[[Parser], Operation]:
    def read(parser: Parser) -> Operation:
        start = parser.pos
        found = _read_pattern(parser, _words(pattern))
        operands, results = typing(found.types, len(found.operands))
        return _finished(parser, kind, found, operands, results, start)

    return read


def _finished(
    parser: Parser, kind: type[Operation], read: _Read, operands: Types, results: Types, start: int
) -> Operation:
    """Makes an operation of what was read."""
    if len(operands) != len(read.operands):
        parser.raise_error(f"{kind.name} has {len(read.operands)} operands and {len(operands)} types", start)
    values = parser.resolve_operands(read.operands, operands, start)
    made = kind.create(operands=values, result_types=results)
    declared = getattr(kind.get_irdl_definition(), "properties", {})  # pyright: ignore
    for name, value in (*read.attributes.items(), *read.properties.items()):
        (made.properties if name in declared else made.attributes)[name] = value
    segments = getattr(kind, "irdl_options", ())
    if segments and "operandSegmentSizes" not in made.properties:
        raise VerifyException(f"{kind.name} is read in generic syntax only")
    return made


def _composite_extract(parser: Parser) -> Operation:
    from .dialects.spirv.composite import CompositeExtractOp

    start = parser.pos
    read = _read_pattern(parser, _words("% [indices] : T"))
    indices: Any = read.properties["indices"]
    result: Attribute | None = read.types[0]
    for index in indices:
        result = None if result is None else element_type_at(result, index.value.data)
    if result is None:
        parser.raise_error(f"{indices} selects nothing in {read.types[0]}", start)
    return _finished(parser, CompositeExtractOp, read, read.types, [result], start)


def _vector_insert(parser: Parser) -> Operation:
    from .dialects.spirv.composite import VectorInsertDynamicOp

    start = parser.pos
    read = _read_pattern(parser, _words("% , % index : T , T"))
    component, vector, index = read.operands
    read.operands = [vector, component, index]  # as the operation has them
    type_, index_type = read.types
    operands = [type_, scalar_of(type_), index_type]
    return _finished(parser, VectorInsertDynamicOp, read, operands, [type_], start)


def _chain(kind: type[Operation], first: int) -> Callable[[Parser], Operation]:
    """An access chain, whose first `first` indices do not select."""

    def read(parser: Parser) -> Operation:
        start = parser.pos
        found = _Read([parser.parse_unresolved_operand()])
        found.operands += parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        found.attributes.update(parser.parse_optional_attr_dict())
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if parser.parse_optional_punctuation("->") is not None:
            return _finished(parser, kind, found, types, [parser.parse_type()], start)
        op = _finished(parser, kind, found, types, [types[0]], start)
        base = types[0]
        selected = access_chain_type(op, _pointee(base), op.operands[1 + first :])
        assert isinstance(base, PointerType)
        Rewriter.replace_value_with_new_type(op.results[0], PointerType(selected, base.storage_class))
        return op

    return read


def _matrix_length(parser: Parser) -> Operation:
    from .dialects.spirv.cooperative_matrix import KHRCooperativeMatrixLengthOp

    parser.parse_punctuation(":")
    properties = {"cooperative_matrix_type": parser.parse_type()}
    return KHRCooperativeMatrixLengthOp.create(result_types=[i32], properties=properties)


def _pattern_of(kind: type[Operation]) -> tuple[str, Typing] | None:
    known = _PATTERNS.get(kind.name.removeprefix("spirv."))
    if known is not None:
        return known
    return next(((pattern, typing) for base, pattern, typing in _SHAPES if issubclass(kind, base)), None)


@cache
def spirv_syntax() -> dict[str, Callable[[Parser], Operation]]:
    """Returns what reads each operation behind its name."""
    from .dialects.spirv.memory import AccessChainOp, InBoundsAccessChainOp
    from .dialects.spirv.pointers import PtrAccessChainOp
    from .parse_spirv_structure import STRUCTURE_SYNTAX

    patterns = {kind: found for kind in SPIRV_OPS.values() if (found := _pattern_of(kind)) is not None}
    return {
        **{kind.name: _reader(kind, *found) for kind, found in patterns.items()},
        **{kind.name: _chain(kind, 0) for kind in (AccessChainOp, InBoundsAccessChainOp)},
        PtrAccessChainOp.name: _chain(PtrAccessChainOp, 1),
        "spirv.CompositeExtract": _composite_extract,
        "spirv.VectorInsertDynamic": _vector_insert,
        "spirv.KHR.CooperativeMatrixLength": _matrix_length,
        **STRUCTURE_SYNTAX,
    }
