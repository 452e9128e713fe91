"""What is in a bundle file, a file table or a SPIR-V module, as data: `contents_of`.  ``lapilli inspect`` shows it.

Files are untrusted.  Code that is damaged or no SPIR-V is reported as such and does not keep the rest from being shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..frontend.lpk_signatures import constant_of
from ..ir.aspects import aspect_spelling
from ..ir.device_config import device_config
from ..ir.errors import Error, InvalidError
from ..ir.kernel_info import Requirements
from ..ir.lpk_records import ConstantRecord
from ..ir.property_set import requirements_of_properties
from ..spirv.binary import parse
from ..spirv.file_table import read_table
from ..spirv.lpk import MAGIC, ImageRecord, LpkFile
from ..spirv.module_view import FunctionView, ModuleView
from ..spirv.reflect import reflect
from ..spirv.tables import Op

MAX_SPIRV_BYTES = 64 << 20
_SPIRV_MAGIC = b"\x03\x02\x23\x07"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContents:
    """One device image."""

    number: int
    target: str
    kernels: tuple[str, ...]
    aspects: tuple[str, ...] = ()
    work_group_sizes: tuple[tuple[int, ...], ...] = ()
    sub_group_sizes: tuple[int, ...] = ()
    fixed_targets: tuple[str, ...] | None = None
    size_bytes: int | None = None
    """Of its code, a driver's where there is some; None: none of it for this target."""
    spec_constants: tuple[str, ...] = ()
    callees: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each kernel the functions that it calls, directly or not, by name."""
    problem: str = ""
    """What is wrong with its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantContents:
    """One specialization constant."""

    name: str
    type: str
    default: str
    images: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """A file."""

    file: str
    kind: str
    """``lpk``, ``table`` or ``spv``."""
    images: tuple[ImageContents, ...]
    spec_constants: tuple[ConstantContents, ...] = ()
    producer: str = ""
    """What wrote a bundle file, with its version."""

    @property
    def kernels(self) -> dict[str, tuple[int, ...]]:
        """The images of each kernel."""
        found: dict[str, list[int]] = {}
        for image in self.images:
            for kernel in image.kernels:
                found.setdefault(kernel, []).append(image.number)
        return {kernel: tuple(images) for kernel, images in found.items()}

    @property
    def shared_callees(self) -> dict[str, tuple[int, ...]]:
        """The functions that have code in several images, with these."""
        found: dict[str, dict[int, None]] = {}
        for image in self.images:
            for callees in image.callees.values():
                for callee in callees:
                    found.setdefault(callee, {})[image.number] = None
        return {callee: tuple(images) for callee, images in sorted(found.items()) if len(images) > 1}

    def as_json(self) -> dict[str, object]:
        """Returns it as what JSON can hold."""
        return {**asdict(self), "kernels": self.kernels, "shared_callees": self.shared_callees}


def contents_of(path: Path) -> FileContents:
    """Reads a file; its first bytes say what it is.

    Raises:
        InvalidError: it cannot be read, or is none of these.
    """
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except (OSError, ValueError) as error:
        raise InvalidError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if start == MAGIC:
        return _of_bundle_file(LpkFile.open(path))
    if path.suffix == ".table" or start[:1] == b"[":
        return _of_table(path)
    return _of_module(path)


def _of_bundle_file(file: LpkFile) -> FileContents:
    header = file.header
    names = [record.qualified_name for record in header.kernels]
    images = tuple(_of_record(file, number, image, names) for number, image in enumerate(header.images))
    constants = tuple(
        ConstantContents(
            name=record.symbol,
            type=record.type.name or record.type.kind,
            default=_default(record),
            images=tuple(
                number for number, image in enumerate(header.images) if record.symbol in image.symbols
            ),
        )
        for record in header.constants
    )
    return FileContents(
        file=file.where, kind="lpk", images=images, spec_constants=constants, producer=header.producer
    )


def _default(record: ConstantRecord) -> str:
    """Returns the default as Python shows it, and the value that the file has instead; bytes that are none of the type
    as they are."""
    try:
        constant = constant_of(record)
        value = "" if record.value is None else f", set to {constant.from_bytes(record.value)!r}"
        return f"{constant.default!r}{value}"
    except Error:
        return record.default.hex()


def _of_record(file: LpkFile, number: int, image: ImageRecord, names: list[str]) -> ImageContents:
    kernels = {info.entry_point: names[n] for info, n in zip(image.kernels, image.ids, strict=True)}
    callees, problem, size = dict[str, tuple[str, ...]](), "", None
    if image.code is not None:
        own = image.code if image.native_code is None else image.native_code
        size = file.header.blobs[own].size_bytes
        try:
            file.blob(own)
            callees = _callees(file.blob(image.code), kernels)
        except Error as error:
            problem = error.message
    return _image(
        number,
        image.target,
        tuple(kernels.values()),
        requirements_of_properties(image.property_sets()),
        size_bytes=size,
        spec_constants=image.symbols,
        callees=callees,
        problem=problem,
    )


def _of_table(path: Path) -> FileContents:
    images: list[ImageContents] = []
    for number, row in enumerate(read_table(path)):
        callees, problem = dict[str, tuple[str, ...]](), ""
        try:
            callees = _callees(row.code, {name: name for name in row.symbols})
        except Error as error:
            problem = error.message
        images.append(
            _image(
                number,
                "spirv",
                row.symbols,
                requirements_of_properties(row.properties),
                size_bytes=None if row.is_empty else len(row.code),
                callees=callees,
                problem=problem,
            )
        )
    return FileContents(file=str(path), kind="table", images=tuple(images))


def _of_module(path: Path) -> FileContents:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SPIRV_BYTES + 1)
    except OSError as error:
        raise InvalidError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > MAX_SPIRV_BYTES:
        raise InvalidError(f"{path}: expected at most {MAX_SPIRV_BYTES} bytes of SPIR-V, found more")
    if data[:4] not in (_SPIRV_MAGIC, _SPIRV_MAGIC[::-1]):
        raise InvalidError(
            f"{path}: expected a bundle file, a file table or a SPIR-V module, found none of them"
        )
    found = reflect(data)
    kernels = {entry.name: entry.name for entry in found.entry_points}
    constants = tuple(
        ConstantContents(
            name=constant.name or f"SpecId {constant.spec_id}",
            type=constant.type,
            default=str(constant.default),
            images=(0,),
        )
        for constant in found.spec_constants
    )
    image = ImageContents(
        number=0,
        target="spirv",
        kernels=tuple(kernels),
        aspects=_aspects_of(found.capabilities),
        size_bytes=len(data),
        spec_constants=tuple(constant.name for constant in constants),
        callees=_callees(data, kernels),
    )
    return FileContents(file=str(path), kind="spv", images=(image,), spec_constants=constants)


def _aspects_of(capabilities: Iterable[int]) -> tuple[str, ...]:
    from ..ir.aspect_table import ASPECT_OF_CAPABILITY

    aspects = {ASPECT_OF_CAPABILITY[c] for c in capabilities if c in ASPECT_OF_CAPABILITY}
    return tuple(aspect_spelling(aspect) for aspect in sorted(aspects))


def _image(
    number: int,
    target: str,
    kernels: tuple[str, ...],
    requirements: Requirements,
    *,
    size_bytes: int | None,
    callees: Mapping[str, tuple[str, ...]],
    problem: str,
    spec_constants: tuple[str, ...] = (),
) -> ImageContents:
    fixed = requirements.fixed_targets
    config = device_config()
    return ImageContents(
        number=number,
        target=target,
        kernels=kernels,
        aspects=tuple(aspect_spelling(aspect) for aspect in requirements.aspects),
        work_group_sizes=requirements.work_group_sizes,
        sub_group_sizes=requirements.sub_group_sizes,
        fixed_targets=None if fixed is None else tuple(config.name_of(n) or str(n) for n in fixed),
        size_bytes=size_bytes,
        spec_constants=spec_constants,
        callees=callees,
        problem=problem,
    )


def _callees(spirv: bytes, kernels: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Returns the functions that each kernel reaches, by name.

    Args:
        spirv: the module.
        kernels: names by entry point.

    Raises:
        SpirvError: no module.
    """
    module = parse(spirv)
    view = ModuleView(module)
    functions = {function.result_id: function for function in view.functions}
    entries = {entry.function_id: entry.name for entry in reflect(module).entry_points}
    return {
        kernels[name]: tuple(
            view.names.get(number, f"%{number}")
            for number in _reached(number, functions)
            if number not in entries
        )
        for number, name in entries.items()
        if name in kernels
    }


def _reached(start: int, functions: Mapping[int, FunctionView]) -> list[int]:
    seen, pending = {start: None}, [start]
    while pending:
        function = functions.get(pending.pop())
        for item in () if function is None else function.instructions():
            if item.opcode == Op.FunctionCall and item.operands and item.operands[0] not in seen:
                seen[item.operands[0]] = None
                pending.append(item.operands[0])
    return list(seen)
