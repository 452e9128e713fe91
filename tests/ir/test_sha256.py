"""Our SHA-256 is hashlib's, whichever library computes it."""

from __future__ import annotations

import hashlib

import pytest

from lapilli.ir.sha256 import LARGE_BYTES, sha256


@pytest.mark.parametrize("size", [0, 1, 1000, LARGE_BYTES - 1, LARGE_BYTES])
def test_the_digest_is_that_of_hashlib(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    mine, theirs = sha256(data[:size]), hashlib.sha256(data[:size])
    assert mine.digest() == theirs.digest()
    mine.update(b"more")
    theirs.update(b"more")
    assert mine.hexdigest() == theirs.hexdigest()
