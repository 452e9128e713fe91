"""Random programs of several modules, linked by us and by SPIRV-Tools' spirv-link."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lapilli.ir.errors import LinkError
from lapilli.spirv.binary import parse
from lapilli.spirv.linker import link
from lapilli.spirv.module_view import ModuleView
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Op
from lapilli.spirv.tools import spirv_tools

from .link_modules import Function, Source, assemble

SPIRV_LINK = shutil.which("spirv-link")
SYMBOLS = ("a", "b", "c", "d")

pytestmark = pytest.mark.skipif(SPIRV_LINK is None, reason="spirv-link is not installed")


@st.composite
def programs(draw: st.DrawFn) -> list[Source]:
    """Modules whose functions call functions with a later name only, so that there is no recursion."""
    constant = 0
    modules: list[Source] = []
    for number in range(draw(st.integers(1, 3))):
        functions: list[Function] = []
        for symbol in reversed(SYMBOLS):
            role = draw(st.sampled_from(["none", "import", "export", "private"]))
            if role == "none":
                continue
            constant += 1
            known = [f.name for f in functions]
            calls = draw(st.lists(st.sampled_from(known), max_size=2)) if known and role != "import" else []
            functions.append(
                Function(
                    symbol,
                    type=draw(st.sampled_from(["float", "float", "float", "int"])),
                    imported=role == "import",
                    exported=role == "export",
                    constant=constant,
                    calls=calls,
                )
            )
        names = [f.name for f in functions]
        entry = draw(st.lists(st.sampled_from(names), max_size=3)) if names else []
        has_entry = number == 0 or draw(st.booleans())
        modules.append(Source(functions, entry=entry if has_entry else None, main=f"main{number}"))
    return modules


def upstream(binaries: list[bytes], *options: str) -> bytes | str:
    """Returns what spirv-link makes, or what it says is wrong."""
    assert SPIRV_LINK is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{n}.spv") for n in range(len(binaries))]
        for file, binary in zip(files, binaries, strict=True):
            file.write_bytes(binary)
        out = Path(folder, "out.spv")
        done = subprocess.run(
            [SPIRV_LINK, *options, "-o", out, *files], capture_output=True, text=True, check=False, timeout=60
        )
        return out.read_bytes() if done.returncode == 0 else done.stderr


def meaning(binary: bytes) -> dict[str, object]:
    """Returns, for each entry point, the tree of calls: every function is known by the constant that it returns."""
    view = ModuleView(parse(binary))
    functions = {function.result_id: function for function in view.functions}
    imports = {symbol.target_id: symbol.name for symbol in reflect(binary).imports}

    def tree(number: int) -> object:
        if number in imports:
            return imports[number]
        body = list(functions[number].instructions())
        calls = [tree(item.operands[0]) for item in body if item.opcode == Op.FunctionCall]
        constants = {
            tuple(view.definitions[operand].operands)
            for item in body
            if item.opcode in (Op.ReturnValue, Op.FAdd, Op.IAdd)
            for operand in item.operands
            if view.definitions[operand].opcode == Op.Constant
        }
        return sorted(constants), calls

    return {entry.name: tree(entry.function_id) for entry in reflect(binary).entry_points}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(programs(), st.booleans(), st.booleans())
def test_we_link_what_spirv_link_links(modules: list[Source], partial: bool, library: bool) -> None:
    binaries = [assemble(module) for module in modules]
    options = ["--allow-partial-linkage"] * partial + ["--create-library"] * library
    theirs = upstream(binaries, *options)
    exports = [f.name for module in modules for f in module.functions if f.exported]
    try:
        ours = link(binaries, allow_unresolved=partial, keep_exports=library)
    except LinkError as error:
        # spirv-link lets two exports of one name pass that nobody imports.
        assert isinstance(theirs, str) or (
            "exported twice" in str(error) and len(set(exports)) < len(exports)
        )
        assert any(f"'{symbol}'" in str(error) for symbol in SYMBOLS)
        return
    assert isinstance(theirs, bytes), theirs
    assert spirv_tools().validate(ours, "spv1.5") is None
    assert meaning(ours) == meaning(theirs)
    assert {s.name for s in reflect(ours).imports} == {s.name for s in reflect(theirs).imports}
    assert {s.name for s in reflect(ours).exports} == {s.name for s in reflect(theirs).exports}
    # Linkage stays where spirv-link was only told that it may; ours is exact.
    assert set(reflect(ours).capabilities) <= set(reflect(theirs).capabilities)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_hostile_words_are_linked_or_refused(data: st.DataObject) -> None:
    user = assemble(Source([Function("a", imported=True)], entry=["a"]))
    good = assemble(
        Source([Function("a", exported=True, constant=1), Function("b", constant=2)], entry=["b"], main="k")
    )
    words = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(5, len(words) // 4 - 1)) * 4
        word = data.draw(st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1)))
        words[place : place + 4] = word.to_bytes(4, "little")
    try:
        binary = link([user, bytes(words)])
    except LinkError:
        return
    parse(binary)
