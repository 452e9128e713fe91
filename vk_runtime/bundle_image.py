"""DeviceImage: the unit of compiling and linking, as users see it (SYCL 2020, ``sycl::device_image``).

An image of an INPUT bundle holds IR, one of a later state SPIR-V.  The SPIR-V may be made when it is first needed:
a selector that only asks for kernels costs no compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Literal

from ..ir.kernel_info import KernelInfo, Requirements
from ..ir.kernel_info import SpecConstantInfo as ConstantInfo
from ..ir.process_object import ProcessObject
from ..ir.property_set import requirement_properties
from ..ir.public_names import PublicNames
from ..ir.sha256 import sha256
from ..ir.target_env import SPIRV_TARGET, TargetEnv
from ..spirv.device_image import DeviceImage as SpirvImage
from .bundle_errors import ConstraintError, no_constructor
from .bundle_state import BundleState
from .compatibility import checked_device, is_environment_supported, is_supported, runs_kernel
from .constants_of_image import SpecConstantInfo, public_infos
from .device import Device
from .items import items
from .kernel_id import KernelId, given_id, no_kernel
from .native_code import NativeCode
from .spec_values import SpecConstant
from .toolchain import InputImage, Toolchain

ImageFormat = Literal["ir", "spirv", "native"]

BundleFile = tuple[str, bytes]
"""A file that kernels were loaded from: its name in messages, and what identifies its content."""


class DeviceImage(
    ProcessObject,
    metaclass=PublicNames,
    internal="""
    binary digest id_of info input is_from_source name_of native spec_symbols spirv_digest takes_native_values
    toolchain
    """,
):
    """Some kernels that are compiled and linked as one.

    Equal to another image of the same content and state.  Images are found by iterating over a `KernelBundle`.
    """

    _instead = "save its bundle, kb.save(path), and lp.load_kernel_bundle(context, path) there"

    _state: BundleState
    _source: InputImage | None
    _load: Callable[[], SpirvImage] | None
    _loaded: SpirvImage | None
    _ids: Mapping[str, KernelId]
    _symbols: Mapping[str, SpecConstant]
    _requirements: Requirements
    _env: TargetEnv
    _only_on: Device | None
    _toolchain: Toolchain
    _native: NativeCode | None
    _spirv_digest: bytes
    _lock: threading.RLock
    _is_from_source: bool
    origin: tuple[InputImage, TargetEnv] | None
    """What an object image is compiled of, and for; None where there is no IR."""
    parts: tuple[DeviceImage, ...]
    """The object images that an executable one was linked of."""
    files: Mapping[KernelId, BundleFile]
    """Which of its kernels were loaded from files."""
    addressed: dict[Device, DeviceImage | None]
    """Its form that takes addresses of arrays, by device; see `bundle_addresses`."""

    def __init__(self, *_: object, **__: object) -> None:
        raise no_constructor("DeviceImage", "iterate over an lp.KernelBundle")

    @classmethod
    def _of_input(
        cls, source: InputImage, toolchain: Toolchain, *, is_from_source: bool = False
    ) -> DeviceImage:
        made = cls._bare(BundleState.INPUT, source.kernel_ids, source.spec_symbols, toolchain)
        made._source, made._is_from_source = source, is_from_source
        made._requirements, made._env, made._only_on = source.requirements, source.env, source.only_on
        return made

    @classmethod
    def _of_spirv(
        cls,
        state: BundleState,
        load: SpirvImage | Callable[[], SpirvImage],
        like: DeviceImage,
        env: TargetEnv | None = None,
    ) -> DeviceImage:
        """Makes an image of SPIR-V, or of what makes the SPIR-V; kernels and requirements are those of `like`."""
        made = cls._bare(state, like._ids, like._symbols, like._toolchain)
        made._requirements, made._env, made._only_on = like._requirements, env or like._env, like._only_on
        made._is_from_source, made.files = like._is_from_source, like.files
        if isinstance(load, SpirvImage):
            made._loaded = load
            made._requirements, made._env = load.requirements, load.target_env
        else:
            made._load = load
        return made

    @classmethod
    def _linked(
        cls, image: SpirvImage, parts: list[DeviceImage], added: Mapping[str, SpecConstant]
    ) -> DeviceImage:
        """Makes the executable image that object images, and functions with the constants `added`, were linked to."""
        names = {kernel.name for kernel in image.kernels}
        ids = {name: id_ for part in parts for name, id_ in part._ids.items() if name in names}
        symbols = {symbol: constant for part in parts for symbol, constant in part._symbols.items()} | dict(
            added
        )
        made = cls._bare(BundleState.EXECUTABLE, ids, symbols, parts[0]._toolchain)
        made._loaded, made._only_on, made.parts = image, parts[0]._only_on, tuple(parts)
        made._requirements, made._env = image.requirements, image.target_env
        made._is_from_source = parts[0]._is_from_source
        made.files = {id_: file for part in parts for id_, file in part.files.items()}
        return made

    @classmethod
    def _from_source(
        cls,
        state: BundleState,
        image: SpirvImage,
        ids: Mapping[str, KernelId],
        symbols: Mapping[str, SpecConstant],
        toolchain: Toolchain,
    ) -> DeviceImage:
        """Makes an image whose kernels have names and no public ids."""
        made = cls._bare(state, ids, symbols, toolchain)
        made._loaded = image
        made._requirements, made._env = image.requirements, image.target_env
        made._is_from_source = True
        return made

    @classmethod
    def _of_file(
        cls,
        state: BundleState,
        image: SpirvImage,
        ids: Mapping[str, KernelId],
        symbols: Mapping[str, SpecConstant],
        toolchain: Toolchain,
        file: BundleFile,
        native: NativeCode | None = None,
    ) -> DeviceImage:
        """Makes an image that was read from a file: SPIR-V in any state, or with the code of a driver."""
        made = cls._bare(state, ids, symbols, toolchain)
        made.files = dict.fromkeys(ids.values(), file)
        made._loaded, made._native = image, native
        if native is not None:  # equality and traces tell it from its SPIR-V
            made._loaded = image.identified(sha256(native.digest + image.digest).digest())
            made._spirv_digest = image.digest
        made._requirements, made._env = image.requirements, image.target_env
        return made

    @classmethod
    def _bare(
        cls,
        state: BundleState,
        ids: Mapping[str, KernelId],
        symbols: Mapping[str, SpecConstant],
        toolchain: Toolchain,
    ) -> DeviceImage:
        made = object.__new__(cls)
        made._state, made._ids, made._symbols, made._toolchain = state, ids, symbols, toolchain
        made._source = made._load = made._loaded = made._only_on = made._native = None
        made._lock = threading.RLock()
        made._is_from_source, made._spirv_digest = False, b""
        made.origin, made.parts, made.files, made.addressed = None, (), {}, {}
        return made

    # What it holds

    @property
    def state(self) -> BundleState:
        """The state of the bundle that it is of."""
        return self._state

    @property
    def format(self) -> ImageFormat:
        """``ir``, ``spirv``, or ``native`` for code of one driver; the state does not follow from it."""
        if self._native is not None:
            return "native"
        return "ir" if self._source is not None else "spirv"

    @property
    def target(self) -> str:
        """The target's name of a native image; ``spirv`` of all others, which are for any device."""
        return SPIRV_TARGET if self._native is None else self._native.target

    @property
    def frozen(self) -> bool:
        """Whether its specialization constants are fixed at their defaults; those of native images are."""
        return self._native is not None or self._env.freezes_spec_constants

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of its kernels; where two are called the same, the second has ``~2``."""
        return items(self._ids)

    @property
    def kernel_ids(self) -> tuple[KernelId, ...]:
        """The ids of its kernels; kernels from source have none."""
        return items(() if self._is_from_source else self._ids.values())

    def get_kernel_ids(self) -> list[KernelId]:
        """Returns `kernel_ids` as a list."""
        return list(self.kernel_ids)

    @property
    def requirements(self) -> Requirements:
        """What a device must have to run it."""
        return self._requirements

    @property
    def properties(self) -> Mapping[str, Mapping[str, bytes]]:
        """The requirements as property sets, ``properties["SYCL/device requirements"]["aspect"]``; see
        docs/lpk-format.md."""
        return requirement_properties(self._requirements)

    @property
    def takes_native_values(self) -> bool:
        """Whether the driver gets values of specialization constants as such."""
        return self._native is None and self.spec_constant_block is None

    @property
    def spec_constants(self) -> tuple[SpecConstantInfo, ...]:
        """The specialization constants that its kernels read, in SpecId order.

        Raises:
            BuildError: it is IR that cannot be compiled.
        """
        return public_infos(self._constants, self._symbols)

    @property
    def _constants(self) -> tuple[ConstantInfo, ...]:
        return self.binary.spec_constants if self._source is None else self._source.spec_constants

    @property
    def spec_constant_block(self) -> bytes | None:
        """The default values as kernels without native constants get them, at `SpecConstantInfo.offset_bytes`; None:
        all constants are native.

        Raises:
            BuildError: it is IR that cannot be compiled.
        """
        constants = self._constants
        if not any(constant.is_emulated for constant in constants):
            return None
        return b"".join(constant.default for constant in constants)

    def spirv(self) -> bytes:
        """Returns the SPIR-V module.

        Raises:
            TypeError: the image holds IR, or the code of a driver.
            BuildError: it is made now, and cannot be.
        """
        if self._source is not None:
            raise ConstraintError(
                f"DeviceImage.spirv does not exist in state {self._state.name}: the image holds IR; lp.compile or "
                "lp.build makes SPIR-V of it"
            )
        if self._native is not None:
            raise ConstraintError(
                f"DeviceImage.spirv does not exist for native code, here of target '{self._native.target}'"
            )
        return self.binary.spirv

    def disassemble(self) -> str:
        """Returns its code as text: MLIR, or SPIR-V assembly; of native code that of the SPIR-V it was made of."""
        if self._native is not None:
            return self._toolchain.disassemble(self.binary.spirv)
        return self._toolchain.disassemble(self.spirv()) if self._source is None else self._source.text()

    def has_kernel(self, kernel: object, dev: Device | None = None) -> bool:
        """Returns whether it holds a kernel, and whether `dev` can run it.

        Args:
            kernel: an `lp.KernelId`, a kernel function, or a name as `kernels` has it.
            dev: the device; None: any.
        """
        found = kernel if isinstance(kernel, str) else given_id(kernel)
        if found is None:
            raise no_kernel("DeviceImage.has_kernel", kernel)
        if dev is not None and not self.is_compatible(checked_device("DeviceImage.has_kernel", dev)):
            return False
        hidden = self._is_from_source  # their ids are none of the user's
        meant = [
            n for n, id_ in self._ids.items() if found in (n, id_, None if hidden else id_.qualified_name)
        ]
        return any(dev is None or runs_kernel(self, name, dev) for name in meant)

    def is_compatible(self, dev: Device) -> bool:
        """Returns whether a device can run its kernels."""
        checked_device("DeviceImage.is_compatible", dev)
        if self._only_on not in (None, dev) or not is_supported(self._requirements, dev):
            return False
        if self._native is not None and not self._native.is_for(dev):
            return False
        return self._source is not None or is_environment_supported(self._env, dev)

    # For this folder and the composition root

    @property
    def input(self) -> InputImage | None:
        """The IR, None in later states."""
        return self._source

    @property
    def binary(self) -> SpirvImage:
        """The SPIR-V with all that a launch must know; made now where it is not there yet."""
        with self._lock:
            if self._loaded is None:
                assert self._load is not None, "an image holds IR, SPIR-V, or what makes SPIR-V"
                self._loaded = self._load()
                self._load = None
            return self._loaded

    @property
    def toolchain(self) -> Toolchain:
        """What links and disassembles it."""
        return self._toolchain

    @property
    def native(self) -> NativeCode | None:
        """The code of a driver, None for other images."""
        return self._native

    @property
    def spec_symbols(self) -> Mapping[str, SpecConstant]:
        """The specialization ids that its kernels read, by symbol."""
        return self._symbols

    @property
    def is_from_source(self) -> bool:
        """Whether its kernels come from source, and have names but no ids that `kernel_ids` shows."""
        return self._is_from_source

    def name_of(self, kernel: KernelId) -> str | None:
        """Returns what the image calls a kernel, None where it has no such kernel."""
        return next((name for name, id_ in self._ids.items() if id_ is kernel), None)

    def id_of(self, name: str) -> KernelId | None:
        """Returns the id of what the image calls `name`, None where it has no such kernel."""
        return self._ids.get(name)

    def info(self, name: str) -> KernelInfo:
        """Returns what a launch must know of a kernel; KeyError where there is none of that name."""
        return self.binary.kernel(name)

    @property
    def digest(self) -> bytes:
        """Identifies the code: IR, SPIR-V with its metadata, or a driver's code."""
        return self.binary.digest if self._source is None else self._source.digest

    @property
    def spirv_digest(self) -> bytes:
        """Identifies the SPIR-V with its metadata, whatever a driver made of it."""
        return self._spirv_digest or self.binary.digest

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceImage):
            return NotImplemented
        return self is other or (
            self._state is other._state
            and set(self._ids.values()) == set(other._ids.values())
            and self.digest == other.digest
        )

    def __hash__(self) -> int:
        return hash((self._state, frozenset(self._ids.values()), tuple(self._ids)))

    def __repr__(self) -> str:
        return f"<lp.DeviceImage {self._state.name} {self.format}: {', '.join(self._ids)}>"


of_input = DeviceImage._of_input  # pyright: ignore[reportPrivateUsage]  # factories of this folder
of_spirv = DeviceImage._of_spirv  # pyright: ignore[reportPrivateUsage]
from_source = DeviceImage._from_source  # pyright: ignore[reportPrivateUsage]
linked = DeviceImage._linked  # pyright: ignore[reportPrivateUsage]
of_file = DeviceImage._of_file  # pyright: ignore[reportPrivateUsage]


def compiled(
    image: DeviceImage, env: TargetEnv, devices: tuple[Device, ...], log: tuple[object, ...]
) -> DeviceImage:
    """Returns the object image of an input image, not compiled yet; `binary` does it.

    An input image that came from a file is SPIR-V, which stays as it is.
    """
    if image.input is None:
        return of_spirv(BundleState.OBJECT, image.binary, image)
    source = image.input
    made = of_spirv(BundleState.OBJECT, lambda: source.translate(env, devices, log), image, env)
    made.origin = source, env
    return made
