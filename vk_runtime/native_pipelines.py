"""Code of single pipelines in native images, and what a device does with it.

A native image of the kind ``pipeline_binary`` holds what the driver gave of each pipeline of an image
(`pipeline_binary`), under a digest of all that the pipeline is made of.  Layout, little-endian: the size of the
driver's global key and the key; the number of pipelines; for each its digest (32 bytes) and number of binaries; for
each binary the sizes of key and data, key, data.  Sizes and numbers are u32.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..ir.errors import DeviceLostError, Error, InvalidError, RuntimeFailure
from ..ir.lazy_logging import logger_of
from ..ir.sha256 import sha256
from .pipeline_binary import (
    MAX_BINARIES,
    MAX_KEY_BYTES,
    PipelineBinary,
    PipelineBinaryFunctions,
    functions_of,
)
from .pipeline_binary_feature import has_pipeline_binaries

if TYPE_CHECKING:
    from .logical_device import LogicalDevice

logger = logger_of(__name__)

T = TypeVar("T")

DIGEST_BYTES: Final = 32
MAX_PIPELINES: Final = 4096

Binaries = tuple[PipelineBinary, ...]


def pipeline_digest(code_digest: bytes, *parts: Hashable) -> bytes:
    """Returns what identifies a pipeline.

    Args:
        code_digest: of the module, `DeviceImage.code_digest`.
        parts: all else that it is made of, as values whose `repr` says everything.
    """
    return sha256(code_digest + repr(parts).encode()).digest()


def encoded(global_key: bytes, pipelines: Mapping[bytes, Binaries]) -> bytes:
    """Returns the data of a native image."""
    parts = [_sized(global_key), struct.pack("<I", len(pipelines))]
    for digest, binaries in pipelines.items():
        parts += [digest, struct.pack("<I", len(binaries))]
        for binary in binaries:
            parts += [struct.pack("<II", len(binary.key), len(binary.data)), binary.key, binary.data]
    return b"".join(parts)


def _sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def decoded(data: bytes) -> tuple[bytes, dict[bytes, Binaries]]:
    """Returns the global key and the pipelines of a native image.

    Raises:
        InvalidError: it is cut, has too much of something, or bytes are left over.
    """
    reader = _Reader(data)
    global_key = reader.take(reader.number(MAX_KEY_BYTES))
    pipelines: dict[bytes, Binaries] = {}
    for _ in range(reader.number(MAX_PIPELINES)):
        digest = reader.take(DIGEST_BYTES)
        pipelines[digest] = tuple(reader.binary() for _ in range(reader.number(MAX_BINARIES)))
    if reader.position != len(data):
        raise InvalidError(f"native code has {len(data) - reader.position} bytes behind its last pipeline")
    return global_key, pipelines


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self.position = data, 0

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self._data):
            raise InvalidError(f"native code ends at byte {len(self._data)}, before what it announces")
        found, self.position = self._data[self.position : end], end
        return found

    def number(self, most: int) -> int:
        found: int = struct.unpack("<I", self.take(4))[0]
        if found > most:
            raise InvalidError(f"native code announces {found} of what there are at most {most}")
        return found

    def binary(self) -> PipelineBinary:
        key_size, data_size = self.number(MAX_KEY_BYTES), self.number(len(self._data))
        key = self.take(key_size)
        return PipelineBinary(key, self.take(data_size))


class NativePipelines:
    """The code that native images have brought to one device, by `pipeline_digest`.

    Args:
        device: borrowed; must outlive this.
    """

    def __init__(self, device: LogicalDevice) -> None:
        self._device = device
        self._functions: PipelineBinaryFunctions | None = None
        self._is_asked = False
        self._pipelines: dict[bytes, Binaries] = {}

    @property
    def functions(self) -> PipelineBinaryFunctions | None:
        """The extension's functions; None where the driver has them not."""
        device = self._device
        if not self._is_asked:
            self._is_asked = True
            resolve = device.physical.instance.vk.vkGetDeviceProcAddr
            try:
                if has_pipeline_binaries(device):
                    self._functions = functions_of(
                        device.raw, lambda name: resolve(device.raw, name), device.name
                    )
            except RuntimeFailure as error:
                logger.info("%s", error)
        return self._functions

    def add(self, data: bytes) -> bool:
        """Takes the data of a native image; returns False where the driver must not be given it.

        Raises:
            InvalidError: it is damaged.
            RuntimeFailure: the driver fails.
        """
        functions = self.functions
        if functions is None:
            return False
        global_key, pipelines = decoded(data)
        if global_key != functions.global_key():
            return False
        self._pipelines |= pipelines
        return True

    def pipeline(self, digest: Callable[[], bytes], make: Callable[[Any], T]) -> T | None:
        """Makes a pipeline of code that is there.

        Args:
            digest: computes its `pipeline_digest`.
            make: makes it, given what is chained to its create info.

        Returns:
            The pipeline; None where there is no code for it, or the driver does not take it.
        """
        if not self._pipelines:
            return None
        binaries, functions = self._pipelines.get(digest()), self.functions
        if not binaries or functions is None:
            return None
        try:
            with functions.opened(binaries) as chained:
                return make(chained)
        except DeviceLostError:
            raise
        except Error as error:
            logger.info("'%s' makes no pipeline of its native code: %s", self._device.name, error)
            return None
