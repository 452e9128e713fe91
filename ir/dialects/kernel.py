"""The `kernel` dialect: what lapilli knows of a kernel that upstream MLIR has no word for.

The operation `kernel.global_range`, those on parts of array elements (`kernel_fields`) and on images
(`kernel_image`), and discardable attributes on kernel functions.  Everything else of a kernel is upstream's: a
kernel is a `func.func` with the unit attribute `gpu.kernel`, or a `gpu.func … kernel`.  Dimensions are lapilli's
here: 0 is the slowest.  Only the `gpu` dialect's x, y, z are Vulkan's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DictionaryAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..attribute_values import elements, integer, integers, memref_element_type, memref_rank
from ..attributes import i32_attribute, text_attribute
from ..kernel_info import COMPOSITES, STREAM_DTYPE
from . import kernel_atomic, kernel_image, kernel_reports
from .kernel_fields import LoadFieldOp, StoreFieldOp
from .kernel_image import ImageType
from .kernel_wide import LoadWideOp, StoreWideOp
from .spirv.attributes import StorageClassAttr
from .spirv.enums import StorageClass

GPU_KERNEL = "gpu.kernel"
"""Unit attribute that makes a `func.func` a kernel."""
PARAMETERS = "kernel.parameters"
"""Array of dictionaries, one per argument: see `KernelParameter`."""
RANK = "kernel.rank"
"""i32: dimensions of the launch range, 1 to 3."""
ANY_LOCAL_SIZE = "kernel.any_local_size"
"""Unit: it masks nothing, and its work-items do nothing together: any local size that divides the range will do."""
ANY_RANK = "kernel.any_rank"
"""Unit: it names no dimension, so that a range of fewer dimensions may be padded with ones in front."""
MASKED = "kernel.masked"
"""Unit: the body itself skips work-items beyond the range."""
LINKAGE_NAME = "kernel.linkage_name"
"""String, on functions with `aspect.external`: the linker's symbol, where it is not the function's name."""
SOURCE_NAME = "kernel.source_name"
"""String, on any function: what the source calls it, where several functions of the module have that name."""
LOCAL_SIZE = "kernel.local_size"
"""array<i32>: fixed local size in invocations, slowest dimension first."""

LANES = "kernel.lanes"
"""array<i32>: work-items that each invocation stands for, slowest dimension first; the range must be a multiple."""
ALIGNED_ROWS = "kernel.aligned_rows"
"""array<i32>: numbers of the array parameters whose last extent must be a multiple of 4."""

NO_CONTRACTION = "kernel.no_contraction"
"""Unit, on any function: a multiplication and an addition must not become one operation."""
LIBRARY = "kernel.library"
"""Unit, on helpers: a function of lapilli's own, such as a reduction of the work-group; messages name the call."""
INLINED_CALLS = "kernel.inlined_calls"
"""i32, on any function: how many calls became bodies of functions in it, those within these counted, too."""
UNIFORM_RESULTS = "kernel.uniform_results"
"""Unit, on helpers that a whole work-group calls: what they return is the same for all of its work-items."""
OPT_LEVEL = "kernel.opt_level"
"""i32, on any function: 0 to 2, instead of the environment's level of optimisation."""
SETTLES = "kernel.settles"
"""i32, on `scf.while`: it runs fewer rounds than this, and rounds beyond its end would change nothing."""
IN_RANGE = "in_range"
"""Unit, on `arith.minui`: it only keeps an index in range of an extent that is a power of two, any other way does."""
WIDE = "kernel.wide"
"""Unit, on any function: the launch range and ids in it have 64 bits."""

DTYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")
"""Scalar types as lapilli spells them."""
ACCESS_MODES = ("read", "write", "read_write", "constant")
"""How a kernel reaches an array (SYCL's access modes)."""

Function = func.FuncOp | gpu.FuncOp


def is_kernel(op: Operation) -> bool:
    """Returns whether `op` is a `gpu.func … kernel` or a function with the attribute `gpu.kernel`."""
    if isinstance(op, func.FuncOp):
        return GPU_KERNEL in op.attributes
    return isinstance(op, gpu.FuncOp) and (op.kernel is not None or GPU_KERNEL in op.attributes)


def kernel_rank(op: Operation) -> int | None:
    """Returns the dimensions of the kernel's launch range, None where it does not say."""
    return integer(op.attributes.get(RANK))


def kernel_local_size(op: Operation) -> tuple[int, ...] | None:
    """Returns the fixed local size, slowest dimension first, or None."""
    return integers(op.attributes.get(LOCAL_SIZE))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelParameter:
    """One argument of a kernel, as the user wrote it."""

    name: str
    dtype: str
    """Scalar or element type: one of `DTYPES`; of arrays also ``Vec[f32, 4]``, ``FixedArray[f32, 3, 3]`` or a
    struct's layout in braces."""
    ndim: int | None = None
    """Dimensions of an array; None for a scalar."""
    access: str = "read_write"
    """One of `ACCESS_MODES`; of no meaning for a scalar."""
    may_alias: bool = False
    """Whether another array argument may be the same memory though this one is only read, or only written."""
    is_shared: bool = False
    """Whether it is memory of a work-group, whose extents a launch gives; its memref says so too."""
    is_image: bool = False
    """Whether it is an image, with `ndim` and `access`; its type says so too."""

    @property
    def is_array(self) -> bool:
        """Whether the argument is an array."""
        return self.ndim is not None

    def to_attribute(self) -> DictionaryAttr:
        """Returns the entry of `kernel.parameters`."""
        entry: dict[str, Attribute] = {
            "name": text_attribute(self.name),
            "dtype": text_attribute(self.dtype),
        }
        if self.ndim is not None:
            entry |= {"ndim": i32_attribute(self.ndim), "access": text_attribute(self.access)}
            if self.may_alias:
                entry["may_alias"] = _UNIT
            if self.is_shared:
                entry["shared"] = _UNIT
            if self.is_image:
                entry["image"] = _UNIT
        return DictionaryAttr(entry)


def parameters_attribute(parameters: Sequence[KernelParameter]) -> ArrayAttr[DictionaryAttr]:
    """Returns the value of `kernel.parameters`."""
    return ArrayAttr([parameter.to_attribute() for parameter in parameters])


def kernel_parameters(kernel: Function) -> tuple[KernelParameter, ...]:
    """Returns the kernel's parameters in signature order.

    A foreign kernel has none written down: they are called arg0, arg1, …, integers count as signed and
    arrays as read_write.  Raises `VerifyException` where the attribute has the wrong shape.
    """
    attribute = kernel.attributes.get(PARAMETERS)
    types = kernel.function_type.inputs.data
    if attribute is None:
        return tuple(_foreign_parameter(i, type_) for i, type_ in enumerate(types))
    entries = elements(attribute)
    if entries is None or len(entries) != len(types):
        raise VerifyException(
            f"'{PARAMETERS}' must be an array of one dictionary per argument, {len(types)} here"
        )
    return tuple(_parse_parameter(i, entry, types[i]) for i, entry in enumerate(entries))


_UNIT = UnitAttr()
_KEYS = frozenset(("name", "dtype", "ndim", "access", "may_alias", "shared", "image"))


def _parse_parameter(index: int, entry: Attribute, type_: Attribute) -> KernelParameter:
    where = f"entry {index} of '{PARAMETERS}'"
    if not isinstance(entry, DictionaryAttr):
        raise VerifyException(f"{where} must be a dictionary, found {entry}")
    if not entry.data.keys() <= _KEYS:
        unknown = sorted(entry.data.keys() - _KEYS)
        raise VerifyException(f"{where} has unknown keys {unknown}, expected some of {sorted(_KEYS)}")
    name, dtype, ndim = _string(entry, "name", where), _string(entry, "dtype", where), entry.data.get("ndim")
    if dtype == STREAM_DTYPE and (ndim is not None or type_ != i32):
        raise VerifyException(f"{where}: a stream is an i32 of no meaning, found {type_}")
    if dtype not in (*DTYPES, STREAM_DTYPE) and (ndim is None or not dtype.startswith(COMPOSITES)):
        raise VerifyException(f"{where}: unknown dtype '{dtype}', expected one of {', '.join(DTYPES)}")
    if isinstance(type_, MemRefType | ImageType) != (ndim is not None):
        raise VerifyException(
            f"{where}: an array has 'ndim' and a memref type, an image 'ndim' and !kernel.image, a scalar neither; "
            f"found {type_}"
        )
    if ndim is None:
        return KernelParameter(name=name, dtype=dtype)
    rank = integer(ndim)
    if rank is None or rank != _rank(type_):
        raise VerifyException(f"{where}: ndim is {ndim}, the argument's type is {type_}")
    access = _parse_access(entry, where)
    flags = _parse_flags(entry, type_, where)
    return KernelParameter(
        name=name,
        dtype=dtype,
        ndim=rank,
        access=access,
        may_alias=flags["may_alias"],
        is_shared=flags["shared"],
        is_image=flags["image"],
    )


def _parse_access(entry: DictionaryAttr, where: str) -> str:
    access = _string(entry, "access", where)
    if access not in ACCESS_MODES:
        raise VerifyException(
            f"{where}: unknown access '{access}', expected one of {', '.join(ACCESS_MODES)}"
        )
    return access


def _parse_flags(entry: DictionaryAttr, type_: Attribute, where: str) -> dict[str, bool]:
    """Returns which unit attributes an array or image has; they must suit its type."""
    flags: dict[str, bool] = {}
    for key in ("may_alias", "shared", "image"):
        flag = entry.data.get(key)
        if flag is not None and not isinstance(flag, UnitAttr):
            raise VerifyException(f"{where}: '{key}' must be a unit attribute, found {flag}")
        flags[key] = flag is not None
    if flags["shared"] != _is_workgroup(type_):
        raise VerifyException(
            f"{where}: memory of a work-group has 'shared' and memory space #spirv.storage_class<Workgroup>, other "
            f"arrays neither; found {type_}"
        )
    if flags["image"] != isinstance(type_, ImageType):
        raise VerifyException(
            f"{where}: an image has 'image' and type !kernel.image, others neither; found {type_}"
        )
    return flags


def _rank(type_: Attribute) -> int | None:
    return type_.ndim.data if isinstance(type_, ImageType) else memref_rank(type_)


def _is_workgroup(type_: Attribute) -> bool:
    space = type_.memory_space if isinstance(type_, MemRefType) else None
    return isinstance(space, StorageClassAttr) and space.data is StorageClass.Workgroup


def _string(entry: DictionaryAttr, key: str, where: str) -> str:
    value = entry.data.get(key)
    if not isinstance(value, StringAttr):
        raise VerifyException(f"{where}: '{key}' must be a string, found {value}")
    return value.data


def _foreign_parameter(index: int, type_: Attribute) -> KernelParameter:
    if isinstance(type_, ImageType):
        scalar = {"f32": "f32", "si32": "i32"}.get(str(type_.element), "u32")
        return KernelParameter(
            name=f"arg{index}", dtype=f"Vec[{scalar}, 4]", ndim=type_.ndim.data, is_image=True
        )
    element_type = memref_element_type(type_)
    dtype = _foreign_dtype(type_ if element_type is None else element_type)
    return KernelParameter(
        name=f"arg{index}", dtype=dtype, ndim=memref_rank(type_), is_shared=_is_workgroup(type_)
    )


def _foreign_dtype(type_: Attribute) -> str:
    match type_:
        case IntegerType():
            width = type_.width.data
            sign = "u" if str(type_).startswith("ui") else "i"
            return "bool" if width == 1 else f"{sign}{width}"
        case IndexType():
            return "i32"
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return str(type_)
        case VectorType() if len(type_.get_shape()) == 1:  # an array's element
            return f"Vec[{_foreign_dtype(type_.element_type)}, {type_.get_shape()[0]}]"
        case _:
            raise VerifyException(f"a kernel argument of type {type_} needs an entry in '{PARAMETERS}'")


@irdl_op_definition
class GlobalRangeOp(IRDLOperation):
    """The n of ``k[n]`` along one dimension: what the user asked for, never rounded up to whole work-groups.

    `dimension` is lapilli's: 0 is the slowest.

        %n = kernel.global_range 0
    """

    name = "kernel.global_range"

    dimension = prop_def(IntegerAttr)
    result = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, dimension: int):
        super().__init__(result_types=[IndexType()], properties={"dimension": IntegerAttr(dimension, i32)})

    def verify_(self) -> None:
        rank = self._enclosing_rank()
        found = self.dimension.value.data
        if self.dimension.type != i32 or not 0 <= found < rank:
            raise VerifyException(
                f"'{self.name}' dimension must be an i32 of 0 to {rank - 1}, found {self.dimension}"
            )

    def _enclosing_rank(self) -> int:
        """Rank of the kernel around; 3 in a helper, which may be called from kernels of any rank."""
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, Function):
                return kernel_rank(parent) or 3
            parent = parent.parent_op()
        return 3

    @classmethod
    def parse(cls, parser: Parser) -> GlobalRangeOp:
        op = cls(parser.parse_integer(allow_boolean=False, allow_negative=True))
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dimension.value.data}")
        printer.print_op_attributes(self.attributes)


_DIMENSIONS = {gpu.DimensionEnum.X: 1, gpu.DimensionEnum.Y: 2, gpu.DimensionEnum.Z: 3}
_IDS = (gpu.GlobalIdOp, gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp)


def launch_rank(kernel: Function) -> int:
    """Returns the dimensions of the launch range: as `RANK` says, or of a foreign kernel as many as it names."""
    rank = kernel_rank(kernel)
    if rank is not None:
        return rank
    rank = 1
    for op in kernel.body.walk():
        if isinstance(op, _IDS):
            rank = max(rank, _DIMENSIONS[op.dimension.data])
        elif isinstance(op, GlobalRangeOp):
            rank = max(rank, op.dimension.value.data + 1)
    return rank


__all__ = [
    "ACCESS_MODES",
    "ANY_LOCAL_SIZE",
    "ANY_RANK",
    "DTYPES",
    "GPU_KERNEL",
    "INLINED_CALLS",
    "KERNEL",
    "LIBRARY",
    "LOCAL_SIZE",
    "MASKED",
    "NO_CONTRACTION",
    "OPT_LEVEL",
    "PARAMETERS",
    "RANK",
    "SOURCE_NAME",
    "UNIFORM_RESULTS",
    "WIDE",
    "Function",
    "GlobalRangeOp",
    "KernelParameter",
    "LoadFieldOp",
    "StoreFieldOp",
    "is_kernel",
    "kernel_local_size",
    "kernel_parameters",
    "kernel_rank",
    "launch_rank",
    "parameters_attribute",
]

KERNEL = Dialect(
    "kernel",
    [
        GlobalRangeOp,
        LoadFieldOp,
        StoreFieldOp,
        LoadWideOp,
        StoreWideOp,
        *kernel_atomic.OPS,
        *kernel_reports.OPS,
        *kernel_image.OPS,
    ],
    [ImageType],
)
"""The dialect, for `Context.load_dialect`."""
