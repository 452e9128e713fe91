"""Vectors, fixed arrays and structs as elements of arrays: lapilli's spelling and NumPy's dtype of them.

A vector is ``Vec[f32, 4]``, with dtype ``('<f4', (4,))``; so is a fixed array of as many numbers, and others are
``FixedArray[f32, 3, 3]``; those of vectors are such of numbers with a dimension more.  A struct is spelt by its layout,
``{x: f32 @0, v: f32[3] @4; 16}``: members with type and offset, then the size, all in bytes.  Two structs of one
layout and the same names are the same to arrays, whatever class or dtype they come from.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.errors import InvalidError

MAX_NESTING = 32
"""Structs in structs, at most."""


VECTOR_SIZES = (1, 2, 3, 4, 8, 16)
"""Components that vectors may have."""


@lru_cache(maxsize=256)
def composite_dtype(spelling: str) -> np.dtype[Any]:
    """Returns the NumPy dtype of a vector or struct.

    Raises:
        InvalidError: it is not spelt like one.
    """
    return _Reader(spelling).read()


def composite_spelling(dtype: np.dtype[Any]) -> str:
    """Returns how lapilli spells a subarray dtype or a structured one.

    Raises:
        InvalidError: a member that kernels do not have.
    """
    if dtype.subdtype is None:
        return _member(dtype, 0)
    return _fixed_spelling(_member(dtype.base, 0), dtype.shape)


def fixed_spelling(spelling: str) -> str:
    """Returns how arrays spell ``FixedArray[f32, 3, 3]``: as a vector where NumPy has no other dtype for it.

    Raises:
        InvalidError: it is not spelt like one.
    """
    found = composite_dtype(spelling)
    return _fixed_spelling(_member(found.base, 0), found.shape)


def _fixed_spelling(element: str, shape: tuple[int, ...]) -> str:
    if len(shape) == 1 and shape[0] in VECTOR_SIZES and not element.startswith("{"):
        return f"Vec[{element}, {shape[0]}]"
    return f"FixedArray[{element}, {', '.join(map(str, shape))}]"


def _member(dtype: np.dtype[Any], depth: int) -> str:
    from .dtypes import spelling_of

    if depth > MAX_NESTING:
        raise InvalidError(f"structs are nested at most {MAX_NESTING} deep")
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_member(base, depth + 1)}[{', '.join(map(str, shape))}]"
    if dtype.names is None:
        return spelling_of(dtype)
    parts: list[str] = []
    fields: Any = dtype.fields
    for name in dtype.names:
        kind, offset = fields[name][:2]
        if not name.isidentifier():
            raise InvalidError(f"member {name!r} of dtype {dtype} is no name that kernels can have")
        parts.append(f"{name}: {_member(kind, depth + 1)} @{offset}")
    return f"{{{', '.join(parts)}; {dtype.itemsize}}}"


class _Reader:
    """Reads one spelling; it may come from a file, so nothing about it is taken for granted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read(self) -> np.dtype[Any]:
        try:
            if self._peek("Vec["):
                found = self._vector()
            else:
                found = self._fixed() if self._peek("FixedArray[") else self._type(0)
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise self._error() from error
        if self.position != len(self.text):
            raise self._error()
        return found

    def _error(self) -> InvalidError:
        return InvalidError(f"{self.text[:80]!r} is no element type of an array")

    def _vector(self) -> np.dtype[Any]:
        self._expect("Vec[")
        element = self._scalar()
        self._expect(", ")
        size = self._number()
        self._expect("]")
        if size not in VECTOR_SIZES:
            raise self._error()
        return np.dtype((element, (size,)))

    def _fixed(self) -> np.dtype[Any]:
        self._expect("FixedArray[")
        element, shape = self._struct(0) if self._peek("{") else self._scalar(), list[int]()
        while self._peek(", "):
            self._expect(", ")
            shape.append(self._number())
        self._expect("]")
        if not shape or min(shape) < 1 or len(shape) > MAX_NESTING:
            raise self._error()
        return np.dtype((element, tuple(shape)))

    def _type(self, depth: int) -> np.dtype[Any]:
        if depth > MAX_NESTING:
            raise self._error()
        element = self._struct(depth) if self._peek("{") else self._scalar()
        if not self._peek("["):
            return element
        self._expect("[")
        shape = [self._number()]
        while self._peek(", "):
            self._expect(", ")
            shape.append(self._number())
        self._expect("]")
        return np.dtype((element, tuple(shape)))

    def _struct(self, depth: int) -> np.dtype[Any]:
        self._expect("{")
        names: list[str] = []
        formats: list[np.dtype[Any]] = []
        offsets: list[int] = []
        while True:
            names.append(self._word())
            self._expect(": ")
            formats.append(self._type(depth + 1))
            self._expect(" @")
            offsets.append(self._number())
            if not self._peek(", "):
                break
            self._expect(", ")
        self._expect("; ")
        size = self._number()
        self._expect("}")
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})

    def _scalar(self) -> np.dtype[Any]:
        from .dtypes import SIZE_BYTES, numpy_dtype

        word = self._word()
        if word not in SIZE_BYTES:
            raise self._error()
        return numpy_dtype(word)

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.position)

    def _expect(self, text: str) -> None:
        if not self._peek(text):
            raise self._error()
        self.position += len(text)

    def _word(self) -> str:
        start = self.position
        while self.position < len(self.text) and (
            self.text[self.position].isalnum() or self.text[self.position] == "_"
        ):
            self.position += 1
        if start == self.position:
            raise self._error()
        return self.text[start : self.position]

    def _number(self) -> int:
        word = self._word()
        if not word.isdecimal() or len(word) > 10:
            raise self._error()
        return int(word)
