"""Bundle files that were tampered with: changes to the header with the checksum made right again, and to bytes."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

PREFIX = struct.Struct("<8sII32s")


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Returns header and code."""
    _, _, size, _ = PREFIX.unpack_from(data)
    return json.loads(data[PREFIX.size : PREFIX.size + size]), data[PREFIX.size + size :]


def joined(header: Any, code: bytes, *, version: int = 1, magic: bytes = b"\x89LPK\r\n\x1a\n") -> bytes:
    """Returns a file whose checksums are right."""
    if isinstance(header, dict) and isinstance(header.get("blobs"), list):
        for blob in header["blobs"]:
            with suppress(KeyError, TypeError, AttributeError, IndexError):  # a record that is none any more
                part = code[blob["offset_bytes"] : blob["offset_bytes"] + blob["size_bytes"]]
                blob["sha256"] = hashlib.sha256(part).hexdigest()
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return PREFIX.pack(magic, version, len(text), hashlib.sha256(text).digest()) + text + code


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of every scalar in JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))
    if path:
        yield path


VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2**31, 2**32, 2**63 - 1, 2**200, 1.5),
    *("", "f64", "f32", "\0", "__class__", "x" * 70000, "00", "ff" * 64, "a.b", "spirv", "struct"),
    *([], {}, [[]], ["f32"]),
)


def change(parent: Any, key: Any, pick: random.Random) -> None:
    """Replaces, removes or doubles one value."""
    action = pick.randrange(4)
    if action < 2:
        parent[key] = pick.choice(VALUES)
    elif action == 2:
        parent.pop(key)
    elif isinstance(parent, list):
        parent.append(parent[0])
    else:
        parent["extra"] = 1


def mutated(header: dict[str, Any], pick: random.Random) -> dict[str, Any]:
    """Returns a header with some of its values replaced, removed or doubled."""
    made = json.loads(json.dumps(header))
    for _ in range(pick.choice((1, 1, 1, 2, 4))):
        paths = list(places(made))
        if not paths:  # all of it was removed
            break
        path = pick.choice(paths)
        parent = made
        for key in path[:-1]:
            parent = parent[key]
        change(parent, path[-1], pick)
    return made


def flipped(code: bytes, pick: random.Random) -> bytes:
    """Returns code with some words changed."""
    words = bytearray(code)
    for _ in range(pick.choice((1, 1, 2, 8))):
        position = pick.randrange(max(len(words), 1))
        words[position : position + 1] = bytes([pick.randrange(256)])
    return bytes(words[: len(code)])
