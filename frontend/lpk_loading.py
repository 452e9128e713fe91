"""``lp.load_kernel_bundle``: kernel bundles from files, without the compiler.

A file is untrusted.  Its header is checked when it is opened; code is looked at only for devices that can run it, and
then checked as a stranger's: our own rules, SPIRV-Tools where it is installed, and whether the code is what the
header says (`spirv.image_agreement`).  Native code goes to a driver only where vendor, device, driver and its cache
version are those that made it; where it is damaged or of another driver the SPIR-V is used.

A composition root: it joins the file format, the validator, signatures and the runtime.  Nothing here loads xdsl.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from ..ir.config import config
from ..ir.errors import Error, InvalidError, KernelNotSupportedError, user_facing
from ..ir.kernel_info import (
    KernelInfo,
    Requirements,
)
from ..ir.lazy_logging import logger_of
from ..ir.target_env import TargetEnv, smallest_cap
from ..spirv.count_rounds import for_driver
from ..spirv.device_image import DeviceImage as SpirvImage
from ..spirv.driver_remedies import image_for
from ..spirv.empty_module import EMPTY_MODULE
from ..spirv.float_modes import preserving
from ..spirv.image_checks import check_image
from ..spirv.lpk import ImageRecord, LpkFile
from ..vk_runtime.bundle_errors import ConstraintError, type_name
from ..vk_runtime.bundle_image import DeviceImage, linked, of_file
from ..vk_runtime.bundle_pipelines import make_pipelines
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.bundle_transitions import join_bundles
from ..vk_runtime.compatibility import is_environment_supported, is_supported
from ..vk_runtime.context import Context, member_devices
from ..vk_runtime.device import Device
from ..vk_runtime.kernel_bundle import KernelBundle, Refusal, make_bundle
from ..vk_runtime.kernel_id import KernelId
from ..vk_runtime.native_code import NativeCode, is_tag_of
from ..vk_runtime.requirements import own_requirements, require_device
from ..vk_runtime.spec_values import SpecValues
from .bundle_toolchain import toolchain
from .bundles import get_kernel_bundle
from .lpk_kernel_ids import application_ids, check_parameters, expected_parameters, kernel_id
from .lpk_signatures import (
    constant_of,
)
from .spec_constant import SpecializationId
from .units import note_loaded

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

logger = logger_of(__name__)

_STATES = (BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE)


@user_facing
def load_kernel_bundle(
    ctx: Context,
    path: str | os.PathLike[str] | bytes | Traversable,
    devs: Sequence[Device] | None = None,
    *,
    state: BundleState = BundleState.EXECUTABLE,
) -> KernelBundle:
    """Returns the kernels of a ``.lpk`` file that devices can run; nothing is compiled but by drivers.

    On a device that the file has native code for, that is used; the SPIR-V otherwise.  In states INPUT and OBJECT the
    bundle has the SPIR-V, so that kernels of which a file has native code only are not in it.

    Args:
        ctx: the context.
        path: of a file that ``lapilli build`` or `KernelBundle.save` wrote; or a resource of a package, as
            `importlib.resources.files` gives it, which may lie in a zip file; or the bytes of the file.
        devs: devices of the context; None: all of them.
        state: INPUT, where values of specialization constants can be set, OBJECT or EXECUTABLE.

    Raises:
        InvalidError: the file cannot be read, is none of this format and version, or is damaged; an empty device list,
            or a device that the context does not have.
        BuildError: a driver refuses a pipeline, or symbols are unresolved.
        TypeError: an argument of the wrong kind.
    """
    what = "load_kernel_bundle"
    if not isinstance(ctx, Context):  # pyright: ignore[reportUnnecessaryIsInstance] - called by users
        raise ConstraintError(
            f"{what} takes an lp.Context first, found {ctx!r} of type {type_name(ctx)}; "
            "a device has its device.default_context, a queue its queue.context"
        )
    if not isinstance(state, BundleState) or state not in _STATES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConstraintError(
            f"{what}(state=…) takes BundleState.INPUT, OBJECT or EXECUTABLE, found {state!r}"
        )
    devices = member_devices(what, devs, ctx.devices, "context")
    file = LoadedFile(_opened(what, path))
    return file.bundle(ctx, devices, state, values=file.values)


def _opened(what: str, given: object) -> LpkFile:
    if isinstance(given, bytes | bytearray):
        return LpkFile(bytes(given), "given as bytes")
    if isinstance(given, str | os.PathLike):
        return LpkFile.open(Path(cast("str | os.PathLike[str]", given)))
    if callable(getattr(given, "read_bytes", None)) and callable(getattr(given, "open", None)):
        return LpkFile.open(cast("Traversable", given))
    raise ConstraintError(
        f"{what} takes the path of a file, a resource of importlib.resources.files(…), or bytes; found {given!r} of "
        f"type {type_name(given)}"
    )


def bundle_of_files(
    what: str,
    context: Context,
    devices: tuple[Device, ...],
    state: BundleState,
    wanted: Sequence[KernelId],
) -> KernelBundle:
    """Returns what `lp.get_kernel_bundle` does for kernels some of which were loaded from files.

    Kernels that a file has only as native code are not in bundles of the states INPUT and OBJECT.
    """
    own = [id_ for id_ in wanted if id_.origin is None]
    parts = [get_kernel_bundle(context, devices, state=state, kernel_ids=own)] if own else []
    files = {id(file): file for id_ in wanted if isinstance(file := id_.origin, LoadedFile)}
    for file in files.values():
        asked = [id_ for id_ in wanted if id_.origin is file]
        for id_ in asked:
            if not file.has(id_, devices, BundleState.EXECUTABLE):
                names = ", ".join(f"'{item.selector}'" for item in devices)
                raise InvalidError(
                    f"{what}: kernel '{id_.qualified_name}' runs on none of the devices {names}"
                )
        parts.append(file.bundle(context, devices, state, asked))
    joined = join_bundles(parts, state)
    assert joined is not None, "some kernel was asked for"
    return joined


def is_in_files(kernels: Sequence[KernelId], devices: Sequence[Device], state: BundleState) -> bool:
    """Returns whether the files of loaded kernels have them all in a state, for one of the devices."""
    return all(
        isinstance(file := id_.origin, LoadedFile) and file.has(id_, devices, state) for id_ in kernels
    )


class LoadedFile:
    """A bundle file with its kernels and constants as the program knows them.

    Args:
        file: opened.

    Raises:
        InvalidError: the header describes something that cannot be.
    """

    def __init__(self, file: LpkFile) -> None:
        self._file = file
        header = file.header
        try:
            constants = {record.symbol: constant_of(record) for record in header.constants}
            self.ids = tuple(kernel_id(record, constants) for record in header.kernels)
            parameters = [expected_parameters(record, constants) for record in header.kernels]
            for image in header.images:
                check_image(image.image(EMPTY_MODULE))
                for info, position in zip(image.kernels, image.ids, strict=True):
                    check_parameters(info, parameters[position])
        except (Error, RecursionError, OverflowError, MemoryError) as error:
            raise file.error(f"its header describes what cannot be: {error}") from error
        self._constants: Mapping[str, SpecializationId] = constants
        self.values = SpecValues(
            {constants[c.symbol]: c.value for c in header.constants if c.value is not None}
        )
        """What the saved bundle was given."""
        for id_ in self.ids:
            if id_ not in application_ids(id_.qualified_name):
                id_.origin = self
                note_loaded(id_)

    def bundle(
        self,
        context: Context,
        devices: tuple[Device, ...],
        state: BundleState,
        wanted: Sequence[KernelId] | None = None,
        values: SpecValues | None = None,
    ) -> KernelBundle:
        """Returns what devices can run as a bundle.

        Args:
            context: of the devices.
            devices: of the bundle.
            state: INPUT, OBJECT or EXECUTABLE.
            wanted: only images with one of these kernels; None: all.
            values: of the specialization constants; None: the defaults.
        """
        records = [
            image
            for image in self._file.header.images
            if wanted is None or not image.ids or any(self.ids[position] in wanted for position in image.ids)
        ]
        if state is not BundleState.EXECUTABLE:
            return make_bundle(context, devices, state, self._portable(records, devices, state), values)
        images = [*self._native(records, devices), *self._linked(records, devices)]
        for image in images:
            for device in devices:
                if image.native is not None and image.native.is_for(device):
                    image.native.install(device)
        pipelines = make_pipelines(images, devices, values.by_symbol() if values is not None else {})
        refused = self._refused(records, images)
        return make_bundle(context, devices, state, images, values, pipelines, refused=refused)

    def has(self, kernel: KernelId, devices: Sequence[Device], state: BundleState) -> bool:
        """Returns whether `bundle` has a kernel; no code is read."""
        position = self.ids.index(kernel)
        for record in self._file.header.images:
            if position not in record.ids or record.code is None:
                continue
            is_native = record.native is not None
            needs = own_requirements(record.kernels[record.ids.index(position)])
            able = [device for device in devices if is_supported(needs, device)]
            if (not is_native or state is BundleState.EXECUTABLE) and _able(record, able):
                return True
        return False

    def _portable(
        self, records: Sequence[ImageRecord], devices: Sequence[Device], state: BundleState
    ) -> list[DeviceImage]:
        """Returns the SPIR-V images that a device can run, as they are in the file."""
        return [
            self._image(record, state, self._spirv(record, record.code, devices))
            for record in records
            if record.native is None and record.code is not None and _able(record, devices)
        ]

    def _linked(self, records: Sequence[ImageRecord], devices: Sequence[Device]) -> list[DeviceImage]:
        """Returns the SPIR-V images, executable."""
        if not any(record.imports or record.exports for record in records):
            return self._portable(records, devices, BundleState.EXECUTABLE)
        parts = self._portable(records, devices, BundleState.OBJECT)
        made = toolchain.link([part.binary for part in parts], devices, is_whole_program=False)
        return [
            linked(item.image, [parts[position] for position in item.parts], item.spec_symbols)
            for item in made
        ]

    def _native(self, records: Sequence[ImageRecord], devices: Sequence[Device]) -> list[DeviceImage]:
        """Returns the images with code for the driver of one of the devices; damaged code is left out."""
        found: list[DeviceImage] = []
        for record in records if config.native_images else ():
            if record.native is None or record.native_code is None or not _able(record, devices):
                continue
            try:
                data = self._file.blob(record.native_code)
            except InvalidError as error:
                logger.info("%s", error)
                continue
            native = NativeCode(record.target, record.native, data)
            binary = self._spirv(record, record.code, devices)
            found.append(self._image(record, BundleState.EXECUTABLE, binary, native))
        return found

    def _image(
        self, record: ImageRecord, state: BundleState, binary: SpirvImage, native: NativeCode | None = None
    ) -> DeviceImage:
        pairs = zip(record.kernels, record.ids, strict=True)
        ids = {info.name: self.ids[position] for info, position in pairs}
        symbols = {symbol: self._constants[symbol] for symbol in record.symbols}
        file = self._file.where, self._file.digest
        return of_file(state, binary, ids, symbols, toolchain, file, native)

    def _spirv(self, record: ImageRecord, code: int | None, devices: Sequence[Device]) -> SpirvImage:
        """Returns an image with its code, checked, as the drivers need it: for those that end loops early it counts
        their rounds, kernels of ours ask them to keep NaN, those of other compilers keep what their loops compute."""
        assert code is not None, "the header of an image with native code was checked to have some"
        image = record.image(self._file.blob(code))
        problem = _code_problem(image)
        if problem is not None:
            raise self._file.error(f"code {code}: {problem}")
        env = TargetEnv.meet(device.target_env for device in devices)
        if image.has_foreign_code:
            image = image_for(image, env)
        if not any(self._file.header.kernels[position].is_foreign for position in record.ids):
            image = preserving(image, env)
        return for_driver(image, smallest_cap(device.target_env for device in devices))

    def _refused(
        self, records: Sequence[ImageRecord], images: Sequence[DeviceImage]
    ) -> dict[KernelId, Refusal]:
        """Returns why no device can run kernels that the file has and the bundle has not."""
        present = {id_ for image in images for id_ in image.kernel_ids}
        found: dict[KernelId, Refusal] = {}
        for record in records:
            requirements = record.image(EMPTY_MODULE).requirements
            for info, position in zip(record.kernels, record.ids, strict=True):
                if self.ids[position] not in present:
                    found.setdefault(self.ids[position], _refusal(info, requirements, self._file.where))
        return found


def _refusal(info: KernelInfo, requirements: Requirements, where: str) -> Refusal:
    def refuse(device: Device) -> NoReturn:
        require_device(device, info, requirements)
        raise KernelNotSupportedError(
            f"kernel '{info.name}': the bundle file {where} has neither SPIR-V of it that device '{device.selector}' "
            f"({device.name}) takes nor native code for this version of its driver"
        )

    return refuse


def _able(record: ImageRecord, devices: Sequence[Device]) -> bool:
    """Whether one of the devices can run an image, by what the header says."""
    requirements, env, tag = record.image(EMPTY_MODULE).requirements, record.target_env, record.native
    return any(
        is_supported(requirements, device)
        and is_environment_supported(env, device)
        and (tag is None or is_tag_of(tag, device.physical))
        for device in devices
    )


MAX_CODE_BYTES = 8 << 20
"""Of one SPIR-V module; checking takes about 1.5 seconds a megabyte."""


def _code_problem(image: SpirvImage) -> str | None:
    """Returns why the code of an image must not reach a driver, None where it may."""
    if len(image.spirv) > MAX_CODE_BYTES:
        return f"expected at most {MAX_CODE_BYTES} bytes of SPIR-V, found {len(image.spirv)}"
    return _checked(image)


@lru_cache(maxsize=256)
def _checked(image: SpirvImage) -> str | None:
    from ..spirv.code_checks import code_problem

    return code_problem(image)
