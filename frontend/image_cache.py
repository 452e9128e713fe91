"""Compiled kernels that are kept: which entry belongs to a kernel, and whether it still says the truth.

The key holds what is known before the kernel is looked into: its text, name, signature and options, the rank, the
environment, the compiler.  Which names it reads from around itself is only known after a compilation, so an entry of
that key lists them (`dependencies`), and the name of an image's entry holds what they mean.  A kernel of a function
that makes kernels so has an image for each value, all found at once.  Which names are read may depend on what some of
them mean: of one key, `VARIANTS` lists are kept.

The image's source locations are stored relative to the functions they lie in, so that an entry stays right when
the file moves or gets new lines above.  Whatever does not read back counts as absent.  The SPIR-V of an entry is not
validated again: it was when it was made, and only its owner can have changed it (`vk_runtime.disk_cache`).
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ..ir.errors import Location
from ..ir.kernel_info import KernelInfo
from ..ir.lazy_logging import logger_of
from ..ir.sha256 import sha256
from ..ir.target_env import TargetEnv
from .captures import Captures
from .compile_options import options_of
from .compiler_version import compiler_version
from .dependencies import Found, Name, dependencies, from_json, look_up, to_json
from .fingerprint import fingerprint, function_fingerprint, type_text
from .kernel import KernelFunction
from .source_text import file_lines, function_text, last_line

if TYPE_CHECKING:
    from typing import Protocol

    class Store(Protocol):
        """Where entries are kept: a `vk_runtime.disk_cache.DiskCache` or a `process_store.ProcessStore`."""

        @property
        def outlives_process(self) -> bool:
            """Whether other processes, with other compilers perhaps, find the entries."""
            ...

        def load(self, name: str) -> bytes | None:
            """Returns what was stored under `name`."""
            ...

        def store(self, name: str, payload: bytes) -> bool:
            """Keeps `payload` under `name`."""
            ...

        def remove(self, name: str) -> object:
            """Forgets `name`."""
            ...


logger = logger_of(__name__)

VARIANTS: Final = 8
"""Lists of names of one key."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that fits."""

    name: str
    image: bytes
    """As `DeviceImage.to_bytes` wrote it; its locations are relative."""
    found: Found
    """What is watched from now on, and the functions that the locations are relative to."""


@dataclass(frozen=True, slots=True)
class CachedKernel:
    """One kernel, one rank and one environment in a cache."""

    store: Store
    kernel: KernelFunction
    key: str

    def find(self) -> Hit | None:
        """Returns the entry of a compilation whose surroundings were as they are now."""
        for names in self._lists():
            found = look_up(self.kernel.function, names)
            if found is not None:
                name = self._name(names, found)
                image = self.store.load(name)
                if image is not None:
                    return Hit(name, image, found)
        return None

    def forget(self, hit: Hit) -> None:
        """Removes an entry whose image turned out to be none."""
        self.store.remove(hit.name)

    def keep(
        self, captures: Captures, encode: Callable[[Sequence[types.FunctionType]], bytes | None]
    ) -> None:
        """Stores a compilation, if another process can tell whether it may use it.

        Args:
            captures: what the compilation read.
            encode: returns the image's bytes with locations relative to the functions.
        """
        known = dependencies(self.kernel.function, captures)
        # The text that was compiled, not the one that may be on disk by now.
        text = function_text(self.kernel.function, self.kernel.source.lines)
        if known is None or text != _text_now(self.kernel):
            return
        names, found = known
        image = encode(found.functions)
        if image is None or not self.store.store(self._name(names, found), image):
            return
        lists = self._lists()
        if names not in lists:
            # Of two processes that do this at once one is lost: that kernel is compiled once more.
            lists = [names, *lists][:VARIANTS]
            self.store.store(self._index, json.dumps([to_json(each) for each in lists]).encode())

    def _lists(self) -> list[tuple[Name, ...]]:
        """Returns the lists of names that compilations of this key read."""
        payload = self.store.load(self._index)
        if payload is None:
            return []
        try:
            data = json.loads(payload)
            if not isinstance(data, list):
                raise ValueError("lists of names are a list")
            return [from_json(item) for item in cast("list[object]", data)]
        except (ValueError, RecursionError):
            logger.info("the cache entry %s does not say what names were read", self._index)
            self.store.remove(self._index)
            return []

    @property
    def _index(self) -> str:
        return f"names-{self.key}"

    def _name(self, names: Sequence[Name], found: Found) -> str:
        content = repr((to_json(names), found.meanings))
        digest = sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        return f"image-{self.key}-{digest[:40]}"


def cached_kernel(
    store: Store, kernel: KernelFunction, rank: int, env: TargetEnv, constants: str = ""
) -> CachedKernel | None:
    """Returns a kernel's place in a cache, None where its text cannot be found.

    Args:
        store: where entries are kept.
        kernel: the kernel.
        rank: dimensions of the launch range.
        env: the environment to compile for.
        constants: `Constants.key` of the values of its `lp.Const` parameters.
    """
    text = function_fingerprint(kernel.function)
    if text is None:
        return None
    content: list[object] = [
        # Warnings are given once for a Python module, so that another one must not find what it would be warned of.
        compiler_version() if store.outlives_process else kernel.function.__module__,
        kernel.name,
        text,
        [(p.name, p.type.spelling, type_text(p.type)) for p in kernel.signature.parameters],
        [(name, fingerprint(constant)) for name, constant in kernel.specialization_ids.items()],
        kernel.signature.handlers,
        list(kernel.signature.work_items.items()),
        repr(kernel.options),
        repr(options := options_of(kernel.function.__module__)),
        repr(_targets(options.fixed_targets)),
        rank,
        constants,
        _text_of(env),
    ]
    if env.debug_info:  # debug information has the file and lines in the code itself
        code = kernel.function.__code__
        content += [code.co_filename, code.co_firstlineno]
    digest = sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()
    return CachedKernel(store, kernel, digest[:40])


@lru_cache(maxsize=64)
def _text_of(env: TargetEnv) -> str:
    return repr(env)  # dozens of fields, of the same few devices and options


def _targets(names: Sequence[str]) -> list[object]:
    """Returns what the device configuration says of targets."""
    if not names:
        return []
    from ..ir.device_config import device_config

    known = device_config().targets
    return [known.get(name) for name in names]


def _text_now(kernel: KernelFunction) -> str | None:
    return function_text(kernel.function, file_lines(kernel.function))


# Locations


def relative_locations(
    kernels: Sequence[KernelInfo], functions: Sequence[types.FunctionType]
) -> tuple[KernelInfo, ...] | None:
    """Returns kernels whose locations count lines from the function they lie in, and name it by its number.

    What `math_library` uses is located at the line that calls it, which is found by its number alone.  None where a
    location lies in none of the functions.
    """
    spans = [
        (f.__code__.co_filename, f.__code__.co_firstlineno, last_line(f.__code__), f.__qualname__)
        for f in functions
    ]

    def relative(location: Location) -> Location:
        # The innermost function around the line: inlined code bears the name of the kernel.
        around = [
            (location.line > last, -first, location.function != qualname, index)
            for index, (file, first, last, qualname) in enumerate(spans)
            if location.file == file and first <= location.line
            if location.function == qualname or location.line <= last
        ]
        if not around:
            raise ValueError(f"{location} lies in no function of the kernel")
        *_, index = min(around)
        first = spans[index][1]
        return Location(f"<{index}>", location.line - first + 1, location.column, "")

    try:
        return tuple(kernel.with_locations(relative) for kernel in kernels)
    except ValueError:
        return None


def absolute_locations(
    kernels: Sequence[KernelInfo], functions: Sequence[types.FunctionType]
) -> tuple[KernelInfo, ...]:
    """Returns kernels with the locations of today; ValueError where one is not of `relative_locations`."""
    by_name = {f"<{index}>": function for index, function in enumerate(functions)}

    def absolute(location: Location) -> Location:
        function = by_name.get(location.file)
        if function is None:
            raise ValueError(f"a location in {location.file!r}")
        code = function.__code__
        line = code.co_firstlineno + location.line - 1
        return Location(code.co_filename, line, location.column, function.__qualname__)

    return tuple(kernel.with_locations(absolute) for kernel in kernels)
