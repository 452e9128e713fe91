"""SPIRV-Tools' C library through ctypes.

ctypes and not cffi: inline cffi declarations cost 29 ms at import, a generated module would have to be
kept, and the conversions of ctypes (microseconds) are lost in a call of 100 µs.  ctypes releases the
interpreter lock around each call; contexts and options are never written after they are made, so that any
number of threads may use them.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path
from threading import RLock
from typing import Any, Final

from ..ir.errors import InvalidError
from .errors import SpirvError, SpirvTextError, SpirvToolsMissingError
from .tools import DEFAULT_TARGET_ENV, SpirvTools, ValidationFinding, encoded

# libspirv.h, spv_binary_to_text_options_t.  PRINT (0x2) must stay off: it prints and leaves the text NULL.
_INDENT: Final = 0x8
_FRIENDLY_NAMES: Final = 0x40
# libspirv.h, spv_text_to_binary_options_t
_PRESERVE_NUMERIC_IDS: Final = 0x2


class _Position(ctypes.Structure):
    _fields_ = (("line", c_size_t), ("column", c_size_t), ("index", c_size_t))


class _Diagnostic(ctypes.Structure):
    _fields_ = (("position", _Position), ("error", c_char_p), ("is_text_source", c_bool))


class _ConstBinary(ctypes.Structure):
    _fields_ = (("code", c_void_p), ("word_count", c_size_t))


class _Binary(ctypes.Structure):
    _fields_ = (("code", c_void_p), ("word_count", c_size_t))


class _Text(ctypes.Structure):
    _fields_ = (("str", c_void_p), ("length", c_size_t))


_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "spvSoftwareVersionString": (c_char_p, ()),
    "spvParseTargetEnv": (c_bool, (c_char_p, POINTER(c_int))),
    "spvContextCreate": (c_void_p, (c_int,)),
    "spvValidatorOptionsCreate": (c_void_p, ()),
    "spvValidatorOptionsSetAllowLocalSizeId": (None, (c_void_p, c_bool)),
    "spvValidatorOptionsSetScalarBlockLayout": (None, (c_void_p, c_bool)),
    "spvValidatorOptionsSetFriendlyNames": (None, (c_void_p, c_bool)),
    "spvValidateWithOptions": (
        c_int,
        (c_void_p, c_void_p, POINTER(_ConstBinary), POINTER(POINTER(_Diagnostic))),
    ),
    "spvTextToBinaryWithOptions": (
        c_int,
        (c_void_p, c_char_p, c_size_t, c_uint32, POINTER(POINTER(_Binary)), POINTER(POINTER(_Diagnostic))),
    ),
    "spvBinaryToText": (
        c_int,
        (c_void_p, c_char_p, c_size_t, c_uint32, POINTER(POINTER(_Text)), POINTER(POINTER(_Diagnostic))),
    ),
    "spvDiagnosticDestroy": (None, (POINTER(_Diagnostic),)),
    "spvBinaryDestroy": (None, (POINTER(_Binary),)),
    "spvTextDestroy": (None, (POINTER(_Text),)),
}


class LibrarySpirvTools(SpirvTools):
    """SPIRV-Tools in process."""

    kind = "library"

    def __init__(self, path: Path, library: Any) -> None:
        """Wraps a loaded library; use `load`."""
        self.path = path
        self._library: Any = library
        self._lock = RLock()
        self._contexts: dict[str, int] = {}
        # Contexts and options live as long as the process: a handful of small objects.
        self._options = {
            (scalar, named): self._make_options(scalar, named)
            for scalar in (False, True)
            for named in (False, True)
        }

    @classmethod
    def load(cls, path: Path) -> LibrarySpirvTools:
        """Loads a library; raises SpirvToolsMissingError where it cannot be, or is another one."""
        try:
            library = ctypes.CDLL(str(path))
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise SpirvToolsMissingError(f"{path} is no usable SPIRV-Tools library: {error}") from error
        return cls(path, library)

    @property
    def version(self) -> str:
        return bytes(self._library.spvSoftwareVersionString()).decode()

    def validate(
        self, binary: bytes, target_env: str = DEFAULT_TARGET_ENV, *, scalar_block_layout: bool = False
    ) -> ValidationFinding | None:
        if len(binary) % 4:
            return ValidationFinding(f"a module has whole words; found {len(binary)} bytes", None)
        # Making up a name for every id first is a fifth of the time, and for messages only.
        if self._finding(binary, target_env, self._options[scalar_block_layout, False]) is None:
            return None
        return self._finding(binary, target_env, self._options[scalar_block_layout, True])

    def _finding(self, binary: bytes, target_env: str, options: int) -> ValidationFinding | None:
        module = _ConstBinary(ctypes.cast(c_char_p(binary), c_void_p), len(binary) // 4)
        diagnostic = POINTER(_Diagnostic)()
        status: int = self._library.spvValidateWithOptions(
            self._context(target_env), options, byref(module), byref(diagnostic)
        )
        message, position = self._take(diagnostic)
        if status == 0:
            return None
        # SPIRV-Tools counts instructions from 1, and says 0 where the fault belongs to none.
        return ValidationFinding(message.strip(), position[2] - 1 if position[2] else None)

    def assemble(self, text: str, target_env: str = DEFAULT_TARGET_ENV) -> bytes:
        source = encoded(text)
        binary, diagnostic = POINTER(_Binary)(), POINTER(_Diagnostic)()
        status: int = self._library.spvTextToBinaryWithOptions(
            self._context(target_env),
            source,
            len(source),
            _PRESERVE_NUMERIC_IDS,
            byref(binary),
            byref(diagnostic),
        )
        message, (line, column, _) = self._take(diagnostic)
        if status:
            raise SpirvTextError(f"{line + 1}:{column + 1}: {message}", line=line + 1, column=column + 1)
        try:
            return ctypes.string_at(binary.contents.code, binary.contents.word_count * 4)
        finally:
            self._library.spvBinaryDestroy(binary)

    def disassemble(self, binary: bytes, *, friendly_names: bool = True, indent: bool = True) -> str:
        if len(binary) % 4:
            raise SpirvError(f"a module has whole words; found {len(binary)} bytes")
        options = _FRIENDLY_NAMES * friendly_names | _INDENT * indent
        text, diagnostic = POINTER(_Text)(), POINTER(_Diagnostic)()
        status: int = self._library.spvBinaryToText(
            self._context("spv1.6"), binary, len(binary) // 4, options, byref(text), byref(diagnostic)
        )
        message, _ = self._take(diagnostic)
        if status:
            raise SpirvError(f"the module cannot be disassembled: {message}")
        try:
            return ctypes.string_at(text.contents.str, text.contents.length).decode("utf-8", "replace")
        finally:
            self._library.spvTextDestroy(text)

    def _context(self, target_env: str) -> int:
        with self._lock:
            context = self._contexts.get(target_env)
            if context is None:
                number = c_int()
                if not self._library.spvParseTargetEnv(target_env.encode("utf-8"), byref(number)):
                    message = f"SPIRV-Tools {self.version} knows no target environment {target_env!r}"
                    raise InvalidError(message)
                context = self._contexts[target_env] = int(self._library.spvContextCreate(number))
            return context

    def _make_options(self, scalar_block_layout: bool, friendly_names: bool) -> int:
        options: int = self._library.spvValidatorOptionsCreate()
        self._library.spvValidatorOptionsSetAllowLocalSizeId(options, True)
        self._library.spvValidatorOptionsSetScalarBlockLayout(options, scalar_block_layout)
        self._library.spvValidatorOptionsSetFriendlyNames(options, friendly_names)
        return options

    def _take(self, diagnostic: Any) -> tuple[str, tuple[int, int, int]]:
        """Copies a diagnostic (line, column, index) and frees it; empty where there is none."""
        if not diagnostic:
            return "", (0, 0, 0)
        found = diagnostic.contents
        message = bytes(found.error).decode("utf-8", "replace") if found.error else "no message"
        position = (found.position.line, found.position.column, found.position.index)
        self._library.spvDiagnosticDestroy(diagnostic)
        return message, position
