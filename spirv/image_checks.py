"""What must hold inside a device image that was read from outside, so that a launch can rely on it.

Checked: the words look like SPIR-V; kernels and constants have distinct names; data types and access modes
exist; every offset lies in its argument block or value; counts, sizes and ids are in range.  Not checked:
whether the SPIR-V is valid, which costs more than a launch may; whoever takes images from strangers runs
`spirv.validation`.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ..ir.errors import InvalidError
from ..ir.kernel_info import (
    COMPOSITES,
    IMAGE_DESCRIPTORS,
    MAXIMUM_SITE_VALUES,
    SITE_KINDS,
    BufferParameter,
    ImageParameter,
    KernelInfo,
    LaunchAbi,
    LocalParameter,
    Parameter,
    ScalarParameter,
    SpecConstantInfo,
    StreamParameter,
    ValueParameter,
)
from ..ir.local_memory import MAX_ARRAY_DIMENSIONS
from ..ir.size_arithmetic import OPERAND_COUNTS, SIZE_BITS

if TYPE_CHECKING:
    from .device_image import DeviceImage

DTYPE_BYTES: Final[dict[str, int]] = {
    "bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
}  # fmt: skip
"""Scalar types as lapilli spells them, with their size in host memory."""
SITE_DTYPES: Final = DTYPE_BYTES.keys() - {"bf16"}
"""Scalar types that a check or print may report."""
ACCESS_MODES: Final = ("read", "write", "read_write")
MAX_ARGUMENT_BLOCK_BYTES: Final = 1 << 20
MAX_SPEC_BLOCK_BYTES: Final = 1 << 24
MAX_RANK: Final = 3
MAX_ELEMENT_BYTES: Final = 1 << 31
"""Of an element of an array that a kernel makes; foreign kernels have whole arrays and structs as elements."""
MAX_ARRAY_RANK: Final = 16
"""Dimensions of an array that a kernel makes; foreign kernels may have many."""


def check_image(image: DeviceImage) -> None:
    """Raises InvalidError, naming the first thing that cannot be."""
    for problem in _problems(image):
        raise InvalidError(f"device image: {problem}")


def _problems(image: DeviceImage) -> Iterator[str]:
    if len(image.spirv) % 4 or image.spirv[:4] != b"\x03\x02\x23\x07":
        yield "its code is no little-endian SPIR-V"
    for what, names in (
        ("kernel", [kernel.name for kernel in image.kernels]),
        ("entry point", [kernel.entry_point for kernel in image.kernels]),
        ("specialization constant", [constant.symbol for constant in image.spec_constants]),
        ("SpecId", [leaf.spec_id for constant in image.spec_constants for leaf in constant.leaves]),
    ):
        if len(set(names)) != len(names):
            yield f"a {what} appears twice"
    for what, symbols in (("imports", image.imports), ("exports", image.exports)):
        if list(symbols) != sorted(set(symbols)) or "" in symbols:
            yield f"its {what} are not sorted names"
    for symbol in sorted({*image.imports} & {*image.exports}):
        yield f"it imports and exports {symbol!r}"
    yield from _emulation_problems(image)
    for kernel in image.kernels:
        yield from (f"kernel {kernel.name!r}: {problem}" for problem in _kernel_problems(kernel))
    for constant in image.spec_constants:
        problems = _constant_problems(constant)
        yield from (f"specialization constant {constant.symbol!r}: {problem}" for problem in problems)
    sizes = (*image.requirements.work_group_sizes, image.requirements.sub_group_sizes)
    if any(size < 1 for group in sizes for size in group):
        yield "a required size is not positive"


def _emulation_problems(image: DeviceImage) -> Iterator[str]:
    """A launch looks the values of hidden fields up by SpecId."""
    known = {leaf.spec_id: leaf.dtype for constant in image.spec_constants for leaf in constant.leaves}
    for kernel in image.kernels:
        for field in kernel.abi.spec_fields:
            if known.get(field.spec_id) != field.dtype:
                yield f"kernel {kernel.name!r} has a hidden field for SpecId {field.spec_id}, which no constant has"


def _kernel_problems(kernel: KernelInfo) -> Iterator[str]:
    abi = kernel.abi
    block = abi.argument_block_bytes
    if not 0 <= block <= MAX_ARGUMENT_BLOCK_BYTES or block % 4:
        yield f"an argument block of {block} bytes"
    if not 1 <= abi.rank <= MAX_RANK:
        yield f"a launch range of {abi.rank} dimensions"
    local = kernel.default_local_size
    if local is not None and (not 1 <= len(local) <= MAX_RANK or any(size < 1 for size in local)):
        yield f"a default local size of {local}"
    for offset, size in _block_fields(kernel):
        if not 0 <= offset <= block - size:
            yield f"a field of {size} bytes at {offset} in an argument block of {block}"
    for parameter in kernel.parameters:
        yield from (f"parameter {parameter.name!r}: {problem}" for problem in _parameter_problems(parameter))
    yield from _abi_problems(abi)
    yield from _size_problems(kernel)
    yield from _site_problems(kernel)
    required = kernel.required_work_group_size
    if required is not None and (not 1 <= len(required) <= MAX_RANK or min(required) < 1):
        yield f"a required work-group size of {required}"


def _size_problems(kernel: KernelInfo) -> Iterator[str]:
    for position, node in enumerate(kernel.size_nodes):
        is_leaf = node.opcode in ("constant", "spec_constant")
        count = 1 if is_leaf else OPERAND_COUNTS.get(node.opcode)
        if len(node.operands) != count:
            yield f"a size computed by {node.opcode!r} of {len(node.operands)} operands"
        elif node.bits not in SIZE_BITS:
            yield f"a size of {node.bits} bits"
        elif not is_leaf and not _all_in_range(node.operands, position):
            yield f"size {position} is computed from later ones"
    for array in kernel.local_arrays:
        if not 1 <= len(array.lengths) <= MAX_ARRAY_RANK or not _all_in_range(
            array.lengths, len(kernel.size_nodes)
        ):
            yield f"an array with lengths {array.lengths}"
        if not 1 <= array.element_bytes <= MAX_ELEMENT_BYTES:
            yield f"an array with elements of {array.element_bytes} bytes"


def _site_problems(kernel: KernelInfo) -> Iterator[str]:
    others = {p.binding for p in kernel.parameters if isinstance(p, BufferParameter | ImageParameter)}
    others.add(-1 if kernel.abi.argument_block_binding is None else kernel.abi.argument_block_binding)
    is_address = any(
        isinstance(p, BufferParameter) and p.address_offset_bytes is not None for p in kernel.parameters
    )
    if kernel.abi.report_binding in others and not is_address:
        yield f"a report buffer at binding {kernel.abi.report_binding}, where another buffer is"
    if kernel.sites and kernel.abi.report_binding is None:
        yield "checks or prints without a report buffer"
    if kernel.sites:
        yield from _text_problems(kernel)


def _text_problems(kernel: KernelInfo) -> Iterator[str]:
    from ..ir.site_templates import template_problem  # which few kernels need

    streams = {p.name for p in kernel.parameters if isinstance(p, StreamParameter)}
    for site in kernel.sites:
        if site.stream and (site.kind != "print" or site.stream not in streams):
            yield f"a {site.kind} for the stream {site.stream!r}, which is no parameter"
        if site.kind not in SITE_KINDS:
            yield f"no check is called {site.kind!r}"
        if len(site.dtypes) > MAXIMUM_SITE_VALUES or set(site.dtypes) - SITE_DTYPES:
            yield f"a check or print of values {site.dtypes}"
        problem = template_problem(site.text, len(site.dtypes))
        if problem is not None:
            yield problem


def _abi_problems(abi: LaunchAbi) -> Iterator[str]:
    for offsets in (abi.range_offsets_bytes, abi.base_offsets_bytes):
        if len(offsets) not in (0, abi.rank):
            yield f"{len(offsets)} hidden fields for {abi.rank} dimensions"
    if abi.index_bits not in (32, 64):
        yield f"indices of {abi.index_bits} bits"
    if len({field.spec_id for field in abi.spec_fields}) != len(abi.spec_fields):
        yield "a specialization constant appears twice among the hidden fields"
    for field in abi.spec_fields:
        if field.dtype not in DTYPE_BYTES:
            yield f"no data type is called {field.dtype!r}"
    if any(not table.data or len(table.data) % 4 for table in abi.tables):
        yield "a table that is not made of words"
    if abi.tables and abi.argument_block_binding is None:
        yield "tables among push constants"
    yield from _local_size_problems(abi)
    for what, binding in (
        ("an argument block", abi.argument_block_binding),
        ("a report buffer", abi.report_binding),
    ):
        if binding is not None and not 0 <= binding < 1 << 16:
            yield f"{what} at binding {binding}"


def _local_size_problems(abi: LaunchAbi) -> Iterator[str]:
    if not 0 <= (abi.without_notes_spec_id or 0) < 1 << 32:
        yield f"SpecId {abi.without_notes_spec_id} for a switch of debug mode"
    if abi.local_size_spec_ids is None:
        return
    ids = [number for number in abi.local_size_spec_ids if number is not None]
    # Only the binary of a foreign kernel fixes some of the sizes, or takes two of them from one constant.
    is_foreign = abi.fixed_local_size is not None
    if not _all_in_range(ids, 1 << 32) or (not is_foreign and len(set(ids)) != len(abi.local_size_spec_ids)):
        yield f"SpecIds {abi.local_size_spec_ids} for the local size"
    if abi.fixed_local_size is not None and min(abi.fixed_local_size) < 0:
        yield f"a fixed local size of {abi.fixed_local_size}"


def _block_fields(kernel: KernelInfo) -> Iterator[tuple[int, int]]:
    """(offset, size) of every field of the argument block that the runtime writes."""
    hidden = (*kernel.abi.range_offsets_bytes, *kernel.abi.base_offsets_bytes)
    yield from ((offset, kernel.abi.index_bits // 8) for offset in hidden if offset is not None)
    for field in kernel.abi.spec_fields:
        yield (field.offset_bytes, max(4, DTYPE_BYTES.get(field.dtype, 4)))
    yield from ((table.offset_bytes, len(table.data)) for table in kernel.abi.tables)
    for parameter in kernel.parameters:
        if isinstance(parameter, BufferParameter):
            extents = parameter.extent_offsets_bytes
            yield from ((offset, kernel.abi.index_bits // 8) for offset in extents if offset is not None)
            if parameter.address_offset_bytes is not None:
                yield (parameter.address_offset_bytes, 8)
        elif isinstance(parameter, ImageParameter):
            yield from ((offset, 4) for offset in parameter.scale_offsets_bytes if offset is not None)
        elif isinstance(parameter, ValueParameter):
            yield (parameter.offset_bytes, parameter.size_bytes)
        elif isinstance(parameter, ScalarParameter) and parameter.offset_bytes is not None:
            # Narrow scalars travel in 32 bits.
            yield (parameter.offset_bytes, max(4, DTYPE_BYTES.get(parameter.dtype, 4)))


def _parameter_problems(parameter: Parameter) -> Iterator[str]:
    if isinstance(parameter, ValueParameter):
        yield from _value_problems(parameter)
    elif isinstance(parameter, ImageParameter):
        yield from _image_problems(parameter)
    elif isinstance(parameter, BufferParameter) and parameter.ndim == 0:
        if parameter.least_bytes < 0:
            yield f"{parameter.least_bytes} bytes at least"
        yield from _buffer_problems(parameter)
    elif not isinstance(parameter, StreamParameter):
        is_composite = parameter.dtype.startswith(COMPOSITES) and not isinstance(parameter, ScalarParameter)
        if parameter.dtype not in DTYPE_BYTES and not is_composite:
            yield f"no data type is called {parameter.dtype!r}"
        if isinstance(parameter, LocalParameter):
            yield from _local_problems(parameter)
        elif isinstance(parameter, BufferParameter):
            yield from _array_problems(parameter)


def _local_problems(parameter: LocalParameter) -> Iterator[str]:
    ids = [number for number in parameter.spec_ids if number is not None]
    if not 1 <= parameter.ndim <= MAX_ARRAY_DIMENSIONS or len(parameter.spec_ids) != parameter.ndim:
        yield f"{parameter.ndim} dimensions with {len(parameter.spec_ids)} SpecIds"
    if len(set(ids)) != len(ids) or not _all_in_range(ids, 1 << 32):
        yield f"SpecIds {parameter.spec_ids} for its extents"


def _array_problems(parameter: BufferParameter) -> Iterator[str]:
    if not 1 <= parameter.ndim <= MAX_ARRAY_DIMENSIONS or len(parameter.extent_offsets_bytes) not in (
        0,
        parameter.ndim,
    ):
        yield f"{parameter.ndim} dimensions with {len(parameter.extent_offsets_bytes)} extents"
    yield from _buffer_problems(parameter)


def _image_problems(parameter: ImageParameter) -> Iterator[str]:
    from ..ir.image_formats import CHANNELS, PIXEL_KINDS, ImageFormat, pixel_parts

    scalar, count = pixel_parts(parameter.dtype)
    if parameter.descriptor not in IMAGE_DESCRIPTORS:
        yield f"no descriptor is called {parameter.descriptor!r}"
    is_sampler = parameter.descriptor == "sampler"
    if not is_sampler and (scalar not in PIXEL_KINDS or count not in CHANNELS):
        yield f"no pixel is called {parameter.dtype!r}"
    if is_sampler != (parameter.ndim == 0) or not 0 <= parameter.ndim <= MAX_RANK:
        yield f"an image of {parameter.ndim} dimensions"
    if parameter.access not in ACCESS_MODES or (
        parameter.access != "read" and parameter.descriptor != "storage"
    ):
        yield f"access {parameter.access!r} to a descriptor that is {parameter.descriptor!r}"
    if parameter.format and parameter.format not in ImageFormat.__members__:
        yield f"no image format is called {parameter.format!r}"
    scales = parameter.scale_offsets_bytes
    if scales and (len(scales) != parameter.ndim or parameter.descriptor != "sampled"):
        yield f"{len(scales)} factors for coordinates of {parameter.ndim} dimensions"
    if parameter.takes_any_access:
        yield "an access that is not known"
    if not _all_in_range((parameter.binding, parameter.descriptor_set), 1 << 16):
        yield f"set {parameter.descriptor_set}, binding {parameter.binding}"


def _value_problems(parameter: ValueParameter) -> Iterator[str]:
    if parameter.size_bytes < 1 or not parameter.leaves:
        yield f"{parameter.size_bytes} bytes with {len(parameter.leaves)} scalars"
    for leaf in parameter.leaves:
        size = DTYPE_BYTES.get(leaf.dtype)
        if size is None or leaf.dtype == "bool":
            yield f"no scalar of a value is called {leaf.dtype!r}"
        elif not 0 <= leaf.offset_bytes <= parameter.size_bytes - size:
            yield f"a scalar at {leaf.offset_bytes} in {parameter.size_bytes} bytes"


def _buffer_problems(parameter: BufferParameter) -> Iterator[str]:
    if parameter.access not in ACCESS_MODES:
        yield f"no access mode is called {parameter.access!r}"
    if not _all_in_range((parameter.binding, parameter.descriptor_set), 1 << 16):
        yield f"set {parameter.descriptor_set}, binding {parameter.binding}"


def _constant_problems(constant: SpecConstantInfo) -> Iterator[str]:
    if not _all_in_range((constant.offset_bytes, constant.size_bytes), MAX_SPEC_BLOCK_BYTES):
        yield f"{constant.size_bytes} bytes at {constant.offset_bytes}"
    if len(constant.default) != constant.size_bytes:
        yield f"a default of {len(constant.default)} bytes for a value of {constant.size_bytes}"
    for leaf in constant.leaves:
        size = DTYPE_BYTES.get(leaf.dtype)
        if size != leaf.size_bytes:
            yield f"a scalar of type {leaf.dtype!r} and {leaf.size_bytes} bytes"
        if not 0 <= leaf.offset_bytes <= constant.size_bytes - leaf.size_bytes:
            yield f"a scalar at {leaf.offset_bytes} in a value of {constant.size_bytes} bytes"
        if not 0 <= leaf.spec_id < 1 << 32:
            yield f"SpecId {leaf.spec_id}"


def _all_in_range(values: Sequence[int], stop: int) -> bool:
    return all(0 <= value < stop for value in values)
