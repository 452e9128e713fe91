"""How large the types of a module grow when each is written out, before SPIRV-Tools walks through them.

Thirty structs, each of which has the one before it twice, are 400 bytes, and 2^30 members to a validator that looks at
each anew: it would take hours.  Nothing here follows a type, so cycles and unknown ids do no harm.
Standard library only.
"""

from __future__ import annotations

from typing import Final

from .binary import HEADER_WORDS, read_words
from .errors import SpirvError
from .tables import Op

MOST_PARTS: Final = 1 << 16
"""Members of a type and of the types in it; SPIR-V allows 16,383 members of a struct."""
_STRUCT: Final = int(Op.TypeStruct)
_ONE: Final = frozenset((int(Op.TypeArray), int(Op.TypeRuntimeArray), int(Op.TypeMatrix), int(Op.TypeVector)))


def oversized_type(data: bytes | bytearray | memoryview) -> str | None:
    """Returns what is wrong with the first type of more than `MOST_PARTS` parts; None where there is none.

    Of bytes that are no module it says nothing.
    """
    try:
        words = read_words(data)
    except SpirvError:
        return None
    parts: dict[int, int] = {}
    position, end = HEADER_WORDS, len(words)
    while position < end:
        first = words[position]
        code, count = first & 0xFFFF, max(first >> 16, 1)
        if code == _STRUCT and count > 1:
            total = 1 + sum(parts.get(member, 1) for member in words[position + 2 : position + count])
            if total > MOST_PARTS:
                return (
                    f"the struct %{words[position + 1]} has more than {MOST_PARTS:,} members, with those of the "
                    "structs in it; expected fewer"
                )
            parts[words[position + 1]] = total
        elif code in _ONE and count > 2 and position + 2 < end:
            parts[words[position + 1]] = 1 + parts.get(words[position + 2], 1)
        position += count
    return None
