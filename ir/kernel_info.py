"""What a launch must know of a kernel: parameters, argument block, specialization constants, requirements.

Written by the lowering (passes/convert_to_spirv), carried by `DeviceImage`, read by the runtime.  Standard
library only.  An *argument block* is the memory through which everything but arrays reaches a kernel:
push constants, or a storage buffer where they are too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .errors import Location
from .size_arithmetic import SizeNode

UNIFORM_BLOCK_BYTES = 1 << 16
"""Of a uniform buffer of a kernel written in Python: its arrays have a fixed length, and the array that a launch
gives may be shorter."""
COMPOSITES = ("Vec[", "FixedArray[", "{")
"""How the spellings of elements begin that are no scalars: vectors, fixed arrays, structs."""
STREAM_DTYPE = "Stream"
"""The type of stream parameters, as lapilli spells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferParameter:
    """An array argument."""

    name: str
    dtype: str
    """Element type as lapilli spells it: ``f32``; of a foreign kernel its block's, for messages."""
    ndim: int
    """1 to 8; 0 where an array of any number of dimensions will do, as foreign kernels do not name any."""
    access: str
    """``read``, ``write`` or ``read_write``: what the kernel does with it."""
    may_alias: bool = False
    """Whether it was declared ``lp.Array``, so that other such arguments may be the same memory; ``lp.In`` and
    ``lp.Out`` may not overlap what is written.  An array that is read and written always may."""
    descriptor_set: int = 0
    binding: int = 0
    """Descriptor binding (binding model DESCRIPTOR)."""
    address_offset_bytes: int | None = None
    """Where the 64-bit device address goes in the argument block (binding model ADDRESS)."""
    extent_offsets_bytes: tuple[int | None, ...] = ()
    """Where each extent (`LaunchAbi.index_bits`, slowest dimension first) goes in the argument block; None: the kernel
    does not use it."""
    element_types: tuple[str, ...] = ()
    """With `ndim` 0: the element types that arrays may have; (): any, the array is taken as bytes."""
    is_uniform: bool = False
    """Whether it is a uniform buffer; else a storage buffer."""
    least_bytes: int = 0
    """With `ndim` 0: bytes that the array must have, those of the members with a fixed size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLeaf:
    """One scalar of a `ValueParameter`."""

    path: str
    """Where in the value, for messages: ``.lights[2].colour[0]``; empty for a scalar."""
    dtype: str
    """As lapilli spells it."""
    offset_bytes: int
    """From the start of the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueParameter:
    """A value of any layout in the argument block: vectors, matrices, arrays and structs of foreign kernels."""

    name: str
    dtype: str
    """How the type is spelt, for messages."""
    offset_bytes: int
    """Where it goes in the argument block."""
    size_bytes: int
    """From its first byte to behind its last scalar."""
    shape: tuple[int, ...]
    """Shape of a NumPy array of its scalars, matrices as (rows, columns); () for structs."""
    leaves: tuple[ValueLeaf, ...]
    """Its scalars in the order in which Python goes through the value: C order, members as declared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarParameter:
    """A scalar argument, passed by value in the argument block."""

    name: str
    dtype: str
    """As lapilli spells it; ``bool`` travels as a u32 of 0 or 1."""
    offset_bytes: int | None
    """Where it goes in the argument block; None: the kernel does not use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalParameter:
    """An array in the memory of a work-group; the argument is a `LocalMemory`."""

    name: str
    dtype: str
    """Element type as lapilli spells it."""
    ndim: int
    """1 to 8."""
    spec_ids: tuple[int | None, ...] = ()
    """SpecId of each extent (i32, slowest dimension first); None: the kernel does not use it."""


IMAGE_DESCRIPTORS = ("storage", "fetched", "sampled", "sampler")
"""What the descriptor of an image parameter is: a storage image, an image that is read without a sampler, one with its
sampler (combined), or a sampler alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageParameter:
    """An image argument, or a sampler by itself."""

    name: str
    dtype: str
    """What a pixel is in the kernel, as lapilli spells it: ``Vec[f32, 4]``, ``u32``; of a foreign kernel the scalar."""
    ndim: int
    """1 to 3; 0 of a sampler."""
    descriptor: str = "storage"
    """One of `IMAGE_DESCRIPTORS`."""
    access: str = "read"
    """``read``, ``write`` or ``read_write``: what the kernel does with it."""
    takes_any_access: bool = False
    """Whether only the signature is known yet, so that `descriptor` says just whether there is a sampler."""
    format: str = ""
    """The format that the image must have, by the name of an `ImageFormat`; empty: any of the right kind."""
    needs_normalized: bool = False
    """Whether the sampler must be one for normalised coordinates: of foreign kernels, that of a 3-D image."""
    descriptor_set: int = 0
    binding: int = 0
    """Descriptor binding."""
    scale_offsets_bytes: tuple[int | None, ...] = ()
    """Where the factors (f32, slowest dimension first) go that make coordinates of the sampler normalised; None: the
    kernel does not sample it."""

    @property
    def is_sampled(self) -> bool:
        """Whether the argument brings a sampler."""
        return self.descriptor in ("sampled", "sampler")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamParameter:
    """A text stream; the argument is a `stream.Stream`, of which the device knows nothing."""

    name: str
    dtype: str = STREAM_DTYPE
    """What messages and `kernel.parameters` call it."""


Parameter = (
    BufferParameter | ScalarParameter | ValueParameter | LocalParameter | StreamParameter | ImageParameter
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConstantLeaf:
    """One scalar of a specialization constant: one OpSpecConstant."""

    spec_id: int
    """The SpecId decoration."""
    dtype: str
    """Scalar type as lapilli spells it."""
    offset_bytes: int
    """Where the scalar lies in the host value."""
    size_bytes: int
    """Size in the host value; a bool is 1 here and 4 (VkBool32) in VkSpecializationInfo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConstantInfo:
    """A specialization constant that the image refers to."""

    symbol: str
    """Stable name: defining Python module and qualified name."""
    name: str
    """Short name, for messages."""
    type: str
    """The type as lapilli spells it: ``f32``, ``FixedArray[f32, 3, 3]``."""
    offset_bytes: int
    """Where the host value lies in the image's packed block of values."""
    size_bytes: int
    """Size of the host value."""
    default: bytes
    """Host bytes of the default value, `size_bytes` long."""
    leaves: tuple[SpecConstantLeaf, ...]
    """One entry a scalar, in C order; offsets are from the start of this constant."""
    is_emulated: bool = False
    """Whether the value travels with the arguments; its SpecIds are then numbers that no OpSpecConstant has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecField:
    """A scalar of an emulated specialization constant in the argument block."""

    spec_id: int
    """Of the leaf."""
    dtype: str
    """As lapilli spells it; narrow ones travel as 32 bits, like arguments."""
    offset_bytes: int
    """Where it goes in the argument block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantTable:
    """Numbers that the code looks up in the argument block, the same at every launch."""

    offset_bytes: int
    """Where they go in the argument block."""
    data: bytes
    """Words of 32 bits, at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchAbi:
    """Hidden fields that the runtime writes into the argument block, and the local size's SpecIds."""

    rank: int
    """Dimensions of the launch range, 1 to 3."""
    range_offsets_bytes: tuple[int | None, ...] = ()
    """Where each extent n of ``k[n]`` (i32, slowest first) goes; None: not used."""
    base_offsets_bytes: tuple[int | None, ...] = ()
    """Where each first work-group index of this dispatch (i32, slowest first) goes: ranges above
    maxComputeWorkGroupCount are launched in pieces.  None: the kernel does not use it, any piece computes the
    same."""
    local_size_spec_ids: tuple[int | None, int | None, int | None] | None = None
    """SpecIds of the local size as (x, y, z), a None for a size that is fixed in the binary; None where all are."""
    fixed_local_size: tuple[int, int, int] | None = None
    """The local size (x, y, z) of the binary, which holds where `local_size_spec_ids` has a None."""
    is_divisible: bool = True
    """Whether a range above maxComputeWorkGroupCount may be dispatched in pieces."""
    index_bits: int = 32
    """Bits of the hidden fields and extents, 32 or 64: with 64 ranges and arrays may have 2**31 elements and more."""
    is_masked: bool = True
    """Whether the kernel itself skips work-items beyond the range; otherwise the range must be a multiple."""
    spec_fields: tuple[SpecField, ...] = ()
    """Scalars of emulated specialization constants that the kernel reads."""
    tables: tuple[ConstantTable, ...] = ()
    """What lies in the block behind the fields; it is a buffer then."""
    argument_block_bytes: int = 0
    """Size of the argument block, a multiple of 4."""
    argument_block_binding: int | None = None
    """None: the block is the push-constant range.  Else the binding, in set 0, of a buffer that holds it."""
    is_argument_block_uniform: bool = False
    """Whether that is a uniform buffer, as only foreign kernels have it; else it is a storage buffer."""
    without_notes_spec_id: int | None = None
    """SpecId of an i32 of debug mode: 0, the default, for bits beside shared arrays that note what was written to them;
    1 where a launch has no room for these.  None: the kernel has none, or they fit on every device."""
    report_binding: int | None = None
    """Binding, in set 0, of the storage buffer for `KernelInfo.sites` (laid out in `kernel_info.ReportWord`); None:
    the kernel has no sites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AspectUse:
    """Why a kernel needs an aspect: the first place in its call graph that uses it."""

    aspect: int
    location: Location | None
    what: str = ""
    """What uses it, in a few words: ``f64 value``."""
    is_declared: bool = False
    """Whether only a declaration says so (device_has, uses_aspects) and nothing in the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalArrayInfo:
    """An array that a kernel makes: drivers check neither its length nor the total."""

    is_shared: bool
    """Whether a work-group shares it (storage class Workgroup); else each work-item has its own."""
    element_bytes: int
    """Size of one element; a bool counts as 4."""
    lengths: tuple[int, ...]
    """Positions in `KernelInfo.size_nodes`, slowest dimension first."""
    spelled: tuple[str, ...] = ()
    """The lengths as the source spells them, for messages."""
    location: Location | None = None


CHECK_KINDS = ("assert", "index", "division", "nan", "loop", "uninitialised", "barrier", "step")
"""What a check is about."""
SITE_KINDS = (*CHECK_KINDS, "print")
MAXIMUM_SITE_VALUES = 32
"""Values that a site may report; each takes two words at most."""


class ReportWord:
    """Where things lie in a report buffer, in words of 32 bits.

    The first work-item of a launch that ends with a failed check claims the buffer by a compare-exchange of TRAPPED
    from 0 to 1, and writes the rest up to VALUES.  Prints take as many words as they need by adding to PRINTED; what
    would pass CAPACITY is counted in LOST.
    """

    TRAPPED = 0
    SITE = 1
    """Number of the site, from 0."""
    GLOBAL_ID = 2
    """Three numbers of two words, the lower one first, slowest dimension first; those beyond the rank are 0."""
    VALUES = GLOBAL_ID + 6
    """Up to `MAXIMUM_SITE_VALUES`, one after the other, of one or two words each."""
    PRINTED = VALUES + 2 * MAXIMUM_SITE_VALUES
    """Words asked for by prints."""
    CAPACITY = PRINTED + 1
    """Words that prints may take, written by the host."""
    LOST = PRINTED + 2
    """Prints that found no room."""
    LINES = PRINTED + 3
    """Where prints begin: number of the site plus 1, then the values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A check or a print in a kernel."""

    kind: str
    """One of `SITE_KINDS`."""
    text: str
    """A template as of ``str.format`` with values by number: ``index {0} is out of range``; see `site_templates`."""
    dtypes: tuple[str, ...] = ()
    """Types of the values."""
    location: Location | None = None
    stream: str = ""
    """Of a print: the stream parameter that it goes to; empty: sys.stdout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelInfo:
    """One entry point."""

    name: str
    """The kernel's name for the user."""
    entry_point: str
    """Name of the OpEntryPoint."""
    parameters: tuple[Parameter, ...]
    """In signature order."""
    abi: LaunchAbi
    required_work_group_size: tuple[int, ...] | None = None
    """As declared, slowest dimension first."""
    required_sub_group_size: int | None = None
    has_primary_sub_group_size: bool = False
    """Whether it asks for the size that the device uses where nothing is asked for."""
    aspects: tuple[int, ...] = ()
    """Aspects that this kernel needs, ascending, without internal ones."""
    aspect_uses: tuple[AspectUse, ...] = ()
    location: Location | None = None
    """Where the kernel is defined."""
    size_nodes: tuple[SizeNode, ...] = ()
    """Integer expressions of constants, operands before their users; 32-bit, wrapping."""
    local_arrays: tuple[LocalArrayInfo, ...] = ()
    """The arrays that it makes, those of inlined helpers included."""
    sites: tuple[Site, ...] = ()
    """Its checks and prints, by number."""
    lanes: tuple[int, ...] = ()
    """Work-items that an invocation does, slowest dimension first; empty: one.  The range must be a multiple."""
    aligned_rows: tuple[int, ...] = ()
    """Positions of the array parameters whose last extent must be a multiple of 4: coarsened kernels have some."""
    has_loops: bool = False
    """Whether a work-item may do much: a launch of few may be worth coarsening then."""
    has_any_rank: bool = False
    """Whether it names no dimension, so that a range of fewer dimensions than `LaunchAbi.rank` may be padded
    with ones in front and gives the same."""
    has_any_local_size: bool = False
    """Whether a launch that names no local size takes one that divides the range, where the body masks nothing."""
    default_local_size: tuple[int, ...] | None = None
    """The local size of launches that give none, slowest dimension first; None: the runtime chooses."""

    def with_locations(self, change: Callable[[Location], Location]) -> KernelInfo:
        """Returns the kernel with what `change` makes of each of its locations."""

        def changed(location: Location | None) -> Location | None:
            return None if location is None else change(location)

        return replace(
            self,
            location=changed(self.location),
            aspect_uses=tuple([replace(use, location=changed(use.location)) for use in self.aspect_uses]),
            local_arrays=tuple(
                [replace(each, location=changed(each.location)) for each in self.local_arrays]
            ),
            sites=tuple([replace(site, location=changed(site.location)) for site in self.sites]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a device must have to run an image ("SYCL/device requirements")."""

    aspects: tuple[int, ...] = ()
    """Ascending; no internal aspects."""
    work_group_sizes: tuple[tuple[int, ...], ...] = ()
    sub_group_sizes: tuple[int, ...] = ()
    fixed_targets: tuple[int, ...] | None = None
    """None: compiled without fixed targets."""
    features: tuple[str, ...] = ()
    """Vulkan features that are no aspects, of foreign kernels; ``subgroup…`` stands for an operation of sub-groups."""
