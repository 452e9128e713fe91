"""Instructions as the grammar has them.

* The opcode and every enumerant are known.
* Operands are neither missing nor left over; strings end and are UTF-8.
* The version of the header exists.
* Opcodes and enumerants exist in that version, or an extension that brings them is declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..binary import decode_string
from ..errors import SpirvError
from ..tables import GRAMMAR_VERSION, Enumerant, InstructionInfo, Op, instruction
from .context import Context
from .finding import Finding

RULE = "grammar"


def check(ctx: Context) -> Iterator[Finding]:
    """Yields the findings of this family."""
    version = ctx.module.version
    if version > GRAMMAR_VERSION:
        yield Finding(f"SPIR-V {version[0]}.{version[1]} is not known", None, RULE)
    for ordinal, message in ctx.malformed:
        yield Finding(message, ordinal, RULE)
    extensions = _extensions(ctx)
    for item in ctx.uses_of_opcodes(lambda info: bool(_problem(version, extensions, info))):
        info = instruction(item.opcode)
        if info is not None:
            yield Finding(f"{info.name} {_problem(version, extensions, info)}", item.ordinal, RULE)
    for item, row in ctx.enumerants:
        problem = _problem(version, extensions, row)
        if problem:
            yield Finding(f"{row.kind} {row.name} {problem}", item.ordinal, RULE)


def _problem(version: tuple[int, int], extensions: set[str], row: InstructionInfo | Enumerant) -> str:
    """What the module must have for it and has not; empty where it may be used."""
    minimum = row.min_version
    if minimum is not None and version >= minimum:
        return ""
    core = "" if minimum is None else f"SPIR-V {minimum[0]}.{minimum[1]}"
    if row.extensions:
        if not extensions.isdisjoint(row.extensions):
            return ""
        return f"needs {core + ' or ' if core else ''}one of the extensions {', '.join(row.extensions)}"
    # Rows without version and extension are reserved for vendors; their capability asks for the extension.
    return f"needs {core}" if core else ""


def _extensions(ctx: Context) -> set[str]:
    found: set[str] = set()
    for item in ctx.view.of_opcode(Op.Extension):
        try:
            found.add(decode_string(item.operands)[0])
        except SpirvError:
            continue  # already found as malformed
    return found
