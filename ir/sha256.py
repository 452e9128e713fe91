"""SHA-256 of little data without loading OpenSSL, which ``import hashlib`` does: 2 of the 100 ms that a start takes."""

from __future__ import annotations

import importlib
from typing import Any, Final

LARGE_BYTES: Final = 1 << 20
"""From so much data on OpenSSL, which is several times faster, is worth loading."""


def _of_openssl() -> Any:
    import hashlib

    return hashlib.sha256


def _of_python() -> Any:
    """Returns CPython's own function, which its module `random` takes too; hashlib's where there is none."""
    for module in ("_sha2", "_sha256"):  # since 3.12, and before
        try:
            return importlib.import_module(module).sha256
        except (ImportError, AttributeError):
            continue
    return _of_openssl()


_sha256_of_python: Final = _of_python()


def sha256(data: bytes = b"") -> Any:
    """Returns what ``hashlib.sha256(data)`` does, an object with `update`, `digest` and `hexdigest`."""
    return (_sha256_of_python if len(data) < LARGE_BYTES else _of_openssl())(data)
