"""Text streams that kernels write to, ``lp.Stream`` (SYCL 2020 §4.16): the object of the host, and the manipulators.

The device never formats anything: a statement is a site as of `kernel_info.Site`, and its values lie in the report
buffer of the launch until somebody waits.  Standard library only.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NoReturn, cast

from .errors import InvalidError
from .process_object import ProcessObject
from .public_names import PublicNames

if TYPE_CHECKING:
    from typing import Protocol

    class TextSink(Protocol):
        """Where the text of a stream goes: an open text file, `io.StringIO`."""

        def write(self, text: str, /) -> object:
            """Takes some text."""
            ...


DEFAULT_SIZE_BYTES = 1 << 16
DEFAULT_STATEMENT_SIZE = 1 << 10
MAXIMUM_SIZE_BYTES = 1 << 30
"""More is not taken for the statements of a stream."""

VALUED_MANIPULATORS = ("setw", "setprecision")
"""Those that are called with a literal number."""


@dataclass(frozen=True, slots=True)
class Manipulator:
    """What ``<<`` takes beside values: ``lp.Stream.hex``, ``lp.Stream.setw(8)``; holds until the statement ends."""

    name: str
    value: int | None = None

    def __call__(self, value: int) -> Manipulator:
        """Returns the manipulator with its number.

        Raises:
            InvalidError: this one takes none, or no number from 0 to 99.
        """
        if self.name not in VALUED_MANIPULATORS or self.value is not None:
            raise InvalidError(f"lp.Stream.{self.name} takes no number; write it as it is")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 99:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidError(
                f"lp.Stream.{self.name}(n): expected a number from 0 to 99, found {value!r:.40}"
            )
        return Manipulator(self.name, value)

    def __repr__(self) -> str:
        return f"lp.Stream.{self.name}" + ("" if self.value is None else f"({self.value})")


class Stream(
    ProcessObject,
    metaclass=PublicNames,
    internal="cut take",
):
    """A stream that kernels write text to: parameter ``out: lp.Stream``, in the kernel ``out << i << lp.Stream.endl``.

    Each chain of ``<<`` is one statement, which comes out whole, when somebody next waits or reads.  The statements of
    one work-item keep their order.

    Args:
        size: bytes that all statements of a launch may take on the device until they are read: 4 for a statement,
            and 4 or 8 for each of its numbers.  What finds no room is left out and counted.
        work_item_buffer_size: characters of one statement; what is beyond is cut off.
        file: has ``write(text)``; None: ``sys.stdout``.

    Raises:
        InvalidError: a size that is no positive integer, above 1 GiB, or a file without ``write``.
    """

    __lapilli_annotation__ = "stream"

    endl: ClassVar[Manipulator] = Manipulator("endl")
    flush: ClassVar[Manipulator] = Manipulator("flush")
    dec: ClassVar[Manipulator] = Manipulator("dec")
    hex: ClassVar[Manipulator] = Manipulator("hex")
    oct: ClassVar[Manipulator] = Manipulator("oct")
    fixed: ClassVar[Manipulator] = Manipulator("fixed")
    scientific: ClassVar[Manipulator] = Manipulator("scientific")
    defaultfloat: ClassVar[Manipulator] = Manipulator("defaultfloat")
    showbase: ClassVar[Manipulator] = Manipulator("showbase")
    noshowbase: ClassVar[Manipulator] = Manipulator("noshowbase")
    showpos: ClassVar[Manipulator] = Manipulator("showpos")
    noshowpos: ClassVar[Manipulator] = Manipulator("noshowpos")
    setw: ClassVar[Manipulator] = Manipulator("setw")
    setprecision: ClassVar[Manipulator] = Manipulator("setprecision")

    def __init__(
        self,
        size: int = DEFAULT_SIZE_BYTES,
        work_item_buffer_size: int = DEFAULT_STATEMENT_SIZE,
        *,
        file: TextSink | None = None,
    ) -> None:
        self._size = _checked("size", size)
        self._statement_size = _checked("work_item_buffer_size", work_item_buffer_size)
        if file is not None and not callable(getattr(file, "write", None)):
            raise InvalidError(f"lp.Stream(file=…): expected an object with write(text), found {file!r:.60}")
        self.file = file
        """Where its text goes; None: ``sys.stdout``."""
        self.losses: dict[object, int] = {}
        """Statements that found no room, by what printed the others."""

    @property
    def size(self) -> int:
        """Bytes that the statements of a launch may take on the device."""
        return self._size

    @property
    def work_item_buffer_size(self) -> int:
        """Characters of one statement."""
        return self._statement_size

    def get_size(self) -> int:
        """Returns `size`."""
        return self._size

    def get_work_item_buffer_size(self) -> int:
        """Returns `work_item_buffer_size`."""
        return self._statement_size

    @property
    def max_statement_size(self) -> int:
        """`work_item_buffer_size`, under SYCL's deprecated name."""
        return self._statement_size

    def get_max_statement_size(self) -> int:
        """Returns `work_item_buffer_size`; SYCL's older name of it."""
        return self._statement_size

    @property
    def lost(self) -> int:
        """Statements that found no room so far."""
        return sum(tuple(self.losses.values()))

    def cut(self, statement: str) -> str:
        """Returns a statement without what is beyond `work_item_buffer_size`."""
        return statement[: self._statement_size]

    def __lshift__(self, value: object) -> NoReturn:
        raise InvalidError(
            "lp.Stream is written to in kernels: give it to a launch as the argument of an lp.Stream"
        )

    def __repr__(self) -> str:
        return f"lp.Stream({self._size}, {self._statement_size})"


def _checked(name: str, value: object) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(cast(int, value))
    except TypeError:
        number = -1
    if not 1 <= number <= MAXIMUM_SIZE_BYTES:
        raise InvalidError(
            f"lp.Stream({name}=…): expected an integer from 1 to {MAXIMUM_SIZE_BYTES}, found {value!r:.40}"
        )
    return number
