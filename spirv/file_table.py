"""File tables: device images as a text file with files beside it, as DPC++'s tools hand them on.

    [Code|Properties|Symbols]
    kernels_0.spv|kernels_0.json|kernels_0.sym

Code is SPIR-V, properties are JSON ``{set: {name: {"type": "BYTE_ARRAY", "data": hexadecimal}}}``, symbols are names,
one a line.  A table for a target has the same rows in the same order; where the target cannot run an image, the code is
an empty module and the rest stays as it is.  Standard library only; tables that are read are untrusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from ..ir.errors import InvalidError
from ..ir.property_set import MAX_PROPERTY_BYTES, PROPERTY_TYPE
from .empty_module import EMPTY_MODULE

HEADER: Final = "[Code|Properties|Symbols]"
MAX_FILE_BYTES: Final = 64 << 20
MAX_TEXT_BYTES: Final = 4 << 20
"""Of a table, a file of properties and one of symbols."""
MAX_TABLE_BYTES: Final = 1 << 30
"""Of the files of all rows together: rows may name one file again and again."""
MAX_ROWS: Final = 4096
MAX_PROPERTIES: Final = 4096

_FILE_NAME = re.compile(r"[A-Za-z0-9_+~-][A-Za-z0-9_.+~-]{0,254}")
"""No separators and no leading dot: a table names files beside it and nothing else."""

Properties = Mapping[str, Mapping[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One device image of a table."""

    code: bytes
    """SPIR-V; `EMPTY_MODULE` where the target cannot run the image."""
    properties: Properties
    symbols: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it has no code for its target."""
        return self.code == EMPTY_MODULE


def write_table(path: Path, rows: Sequence[TableRow], stem: str) -> None:
    """Writes a table and the files that it names.

    Args:
        path: of the table; the files lie beside it.
        rows: in order.
        stem: the files are called ``STEM_0.spv`` and so on, an empty module ``STEM_empty.spv``.

    Raises:
        InvalidError: a file cannot be written, or `stem` is no part of a file name.
    """
    if not _FILE_NAME.fullmatch(f"{stem}_empty.spv"):
        raise InvalidError(f"file tables name files of letters, digits and _.+~-; found {stem!r}")
    lines = [HEADER]
    try:
        for number, row in enumerate(rows):
            base = f"{stem}_{number}"
            code = f"{stem}_empty.spv" if row.is_empty else f"{base}.spv"
            path.with_name(code).write_bytes(row.code)
            path.with_name(f"{base}.json").write_text(properties_to_json(row.properties), "utf-8")
            path.with_name(f"{base}.sym").write_text("".join(f"{s}\n" for s in row.symbols), "utf-8")
            lines.append(f"{code}|{base}.json|{base}.sym")
        path.write_text("\n".join(lines) + "\n", "utf-8")
    except OSError as error:
        raise InvalidError(f"cannot write {error.filename or path}: {error.strerror or error}") from error


def read_table(path: Path) -> tuple[TableRow, ...]:
    """Reads a table and the files that it names.

    Raises:
        InvalidError: no table, a file that is not beside it or cannot be read, or content of another form.
    """
    lines = _text(path).splitlines()
    if not lines or lines[0] != HEADER:
        raise InvalidError(f"{path} is no file table: expected the first line {HEADER}")
    if len(lines) - 1 > MAX_ROWS:
        raise InvalidError(f"{path}: expected at most {MAX_ROWS} rows, found {len(lines) - 1}")
    rows: list[TableRow] = []
    total = 0
    for number, line in enumerate(lines[1:], start=2):
        row = _row(path, number, line)
        total += len(row.code)
        if total > MAX_TABLE_BYTES:
            raise InvalidError(
                f"{path}:{number}: expected at most {MAX_TABLE_BYTES} bytes of code in all rows"
            )
        rows.append(row)
    return tuple(rows)


def _row(path: Path, number: int, line: str) -> TableRow:
    names = line.split("|")
    if len(names) != 3 or not all(map(_FILE_NAME.fullmatch, names)):
        raise InvalidError(
            f"{path}:{number}: expected the names of three files beside the table, found {line!r:.200}"
        )
    code, properties, symbols = (path.with_name(name) for name in names)
    return TableRow(
        code=_bytes(code),
        properties=properties_from_json(_text(properties), str(properties)),
        symbols=tuple(_text(symbols).splitlines()),
    )


def properties_to_json(properties: Properties) -> str:
    """Returns property sets as the text of a properties file."""
    return json.dumps(
        {
            name: {key: {"type": PROPERTY_TYPE, "data": data.hex()} for key, data in found.items()}
            for name, found in properties.items()
        },
        indent=1,
    )


def properties_from_json(text: str, where: str) -> dict[str, dict[str, bytes]]:
    """Reads a properties file.

    Raises:
        InvalidError: it has another form; names `where`.
    """
    try:
        data = json.loads(text)
    # RecursionError: brackets nested without end.
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"{where} is no JSON: {error}") from error
    sets: dict[str, dict[str, bytes]] = {}
    for name, found in _members(data, where).items():
        sets[name] = {
            key: _property(value, f"{where}: {key!r:.80}") for key, value in _members(found, where).items()
        }
    return sets


def _members(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict) or len(cast("dict[str, Any]", data)) > MAX_PROPERTIES:
        raise InvalidError(f"{where}: expected an object of at most {MAX_PROPERTIES} members")
    return cast("dict[str, Any]", data)


def _property(value: Any, where: str) -> bytes:
    members = _members(value, where)
    data = members.get("data")
    if set(members) != {"type", "data"} or members["type"] != PROPERTY_TYPE or not isinstance(data, str):
        raise InvalidError(f'{where}: expected {{"type": "{PROPERTY_TYPE}", "data": hexadecimal digits}}')
    try:
        found = bytes.fromhex(data)
    except ValueError:
        raise InvalidError(f"{where}: expected hexadecimal digits, found {data!r:.80}") from None
    if len(found) > MAX_PROPERTY_BYTES:
        raise InvalidError(f"{where}: expected at most {MAX_PROPERTY_BYTES} bytes, found {len(found)}")
    return found


def _text(path: Path) -> str:
    try:
        return _bytes(path, MAX_TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path} is no UTF-8 text: {error}") from error


def _bytes(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise InvalidError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most:
        raise InvalidError(f"{path}: expected at most {most} bytes, found more")
    return data
