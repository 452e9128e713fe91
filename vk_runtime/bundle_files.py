"""Kernel bundles to files: `save_bundle`, and the records that ``lapilli build`` writes too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError
from ..ir.kernel_info import KernelInfo, Requirements
from ..ir.lpk_records import ConstantRecord, KernelRecord, PropertyRecord
from ..ir.property_set import requirement_properties
from ..ir.target_env import SPIRV_TARGET
from ..spirv.device_image import DeviceImage as SpirvImage
from ..spirv.lpk import BlobTable, ImageRecord, to_bytes, write_file
from .kernel_id import KernelId
from .native_code import NativeCode
from .spec_values import SpecConstant

if TYPE_CHECKING:
    from .kernel_bundle import KernelBundle


@dataclass(slots=True)
class FileWriter:
    """A bundle file in the making."""

    values: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """Host bytes of the specialization constants that have another value than the default, by symbol."""
    _kernels: list[KernelRecord] = field(default_factory=list[KernelRecord])
    _positions: dict[KernelId, int] = field(default_factory=dict[KernelId, int])
    _constants: dict[str, ConstantRecord] = field(default_factory=dict[str, ConstantRecord])
    _images: list[ImageRecord] = field(default_factory=list[ImageRecord])
    _blobs: BlobTable = field(default_factory=BlobTable)

    def add(
        self,
        image: SpirvImage,
        ids: Mapping[str, KernelId],
        symbols: Mapping[str, SpecConstant],
        *,
        native: NativeCode | None = None,
        has_code: bool = True,
    ) -> None:
        """Adds an image.

        Args:
            image: the SPIR-V with all that a launch must know.
            ids: of its kernels, by its names for them.
            symbols: its specialization constants.
            native: the code of a driver, which the SPIR-V is then only the source of.
            has_code: False: only what it needs is noted.

        Raises:
            InvalidError: a kernel that files cannot describe.
        """
        for constant in symbols.values():
            self._add_constant(constant.describe())
        self._images.append(
            ImageRecord(
                target=SPIRV_TARGET if native is None else native.target,
                properties=property_records(image.requirements),
                kernels=tuple(map(_portable, image.kernels)),
                ids=tuple(self._kernel(ids[kernel.name]) for kernel in image.kernels),
                spec_constants=image.spec_constants,
                symbols=tuple(symbols),
                target_env=image.target_env,
                features=image.requirements.features,
                imports=image.imports,
                exports=image.exports,
                code=self._blobs.add(image.spirv) if has_code else None,
                native=None if native is None else native.tag,
                native_code=None if native is None else self._blobs.add(native.data),
            )
        )

    def to_bytes(self) -> bytes:
        """Returns the file."""
        return to_bytes(self._kernels, tuple(self._constants.values()), self._images, self._blobs)

    def _kernel(self, id_: KernelId) -> int:
        if id_ in self._positions:
            return self._positions[id_]
        if id_.describe is None:
            raise InvalidError(
                f"kernel '{id_.qualified_name}' cannot be written to a bundle file: it is a built-in kernel, which "
                "every program has on the device; leave it out of the bundle, by kernel_ids= where that is made"
            )
        record, constants = id_.describe()
        for constant in constants:
            self._add_constant(constant)
        taken = {kernel.qualified_name for kernel in self._kernels}
        name, count = record.qualified_name, 1
        while name in taken:  # a def in a loop makes several functions of one name
            count += 1
            name = f"{record.qualified_name}~{count}"
        self._positions[id_] = len(self._kernels)
        self._kernels.append(replace(record, qualified_name=name))
        return self._positions[id_]

    def _add_constant(self, record: ConstantRecord) -> None:
        record = replace(record, value=self.values.get(record.symbol))
        known = self._constants.setdefault(record.symbol, record)
        if known != record:
            raise InvalidError(f"two specialization constants are called '{record.symbol}'")


def property_records(requirements: Requirements) -> tuple[PropertyRecord, ...]:
    """Returns requirements as the properties of a file."""
    sets = requirement_properties(requirements)
    return tuple(
        PropertyRecord(set=name, name=key, data=data)
        for name, properties in sets.items()
        for key, data in properties.items()
    )


def _portable(kernel: KernelInfo) -> KernelInfo:
    """Returns a kernel whose source locations name files without the folders of this machine."""
    return kernel.with_locations(lambda location: replace(location, file=os.path.basename(location.file)))


def save_bundle(bundle: KernelBundle, path: str | os.PathLike[str]) -> None:
    """Writes the images of a bundle to a file; see `KernelBundle.save`."""
    set_values = bundle.spec_values.effective()
    writer = FileWriter({constant.symbol: data for constant, data in set_values.items()})
    for image in bundle:
        ids = {name: id_ for name in image.kernels if (id_ := image.id_of(name)) is not None}
        writer.add(image.binary, ids, image.spec_symbols, native=image.native)
    write_file(Path(path), writer.to_bytes())
