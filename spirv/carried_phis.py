"""Lets loops carry what drivers can: truth values and addresses as words.

    %b = OpPhi %bool %first %before %next %body        →       %w = OpPhi %uint %v %before %x %body
                                                               %b = OpINotEqual %bool %w %zero

%v and %x select 1 or 0 at the ends of the blocks they come from.  Of pointers into physical storage the words are the
halves of the address, see `address_words`.  Drivers (`vk_runtime.quirks`, equal-truths and carried-addresses) end the
process at the others.  What `passes.convert_to_spirv.carried_truths` does for kernels in Python.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .address_words import AddressWords
from .binary import Instruction, Module
from .component_types import component_type, splat, unsigned
from .module_editor import Body, ModuleEditor
from .module_view import BlockView
from .rewrite import Rewrite
from .tables import Op


@dataclass(frozen=True, slots=True)
class Carried:
    """What a loop carries instead of something else."""

    type: int
    into: Callable[[Body, int], int]
    """Appends the making of it."""
    back: Callable[[int], Sequence[Instruction]]
    """Returns what gives the phi's value again."""


Form = Callable[[ModuleEditor, Instruction], Carried | None]
"""Says what is carried instead of a phi's value, if it is another."""


def truths_as_words(module: Module) -> Module:
    """Returns a valid module so changed; itself where its loops carry no truth values."""
    return _carried(module, _truth)


def addresses_as_words(module: Module) -> Module:
    """Returns a valid module so changed; itself where its loops carry no pointers into physical storage."""
    return _carried(module, _address)


def _carried(module: Module, form: Form) -> Module:
    rewrite = Rewrite(module)
    for function in rewrite.view.functions:
        blocks = {block.label: block for block in function.blocks}
        for block in function.blocks:
            if block.merge is not None and block.merge.opcode == Op.LoopMerge:
                _header(rewrite, block, blocks, form)
    return rewrite.finished()


def _header(rewrite: Rewrite, header: BlockView, blocks: dict[int, BlockView], form: Form) -> None:
    """Changes what a loop carries."""
    editor, code = rewrite.editor, rewrite.code
    phis = (item for item in header.body if item.opcode == Op.Phi)
    found = [(item, carried) for item in phis if (carried := form(editor, item))]
    words = [editor.new_id() for _ in found]
    for (_, carried), word in zip(found, words, strict=True):
        code.at_begin(header).extend(carried.back(word))
    # Behind all of these: a loop of one block comes from its own end, and may carry what they give.
    for (phi, carried), word in zip(found, words, strict=True):
        operands = list(phi.operands)
        for place in range(0, len(operands), 2):
            operands[place] = carried.into(code.at_end(blocks[operands[place + 1]]), operands[place])
        code.put(phi, Instruction(Op.Phi, carried.type, word, tuple(operands)))


def _truth(editor: ModuleEditor, phi: Instruction) -> Carried | None:
    type_, count = component_type(editor, phi.result_type or 0)
    if type_.opcode != Op.TypeBool:
        return None
    word = unsigned(editor, 32, count)
    one, zero = (splat(editor, word, number) for number in (1, 0))
    return Carried(
        word,
        lambda body, value: editor.emit(body, Op.Select, value, one, zero, type_=word),
        lambda carried: [Instruction(Op.INotEqual, phi.result_type, phi.result_id, (carried, zero))],
    )


def _address(editor: ModuleEditor, phi: Instruction) -> Carried | None:
    words, type_ = AddressWords(editor), phi.result_type or 0
    if words.type(type_) == type_:
        return None
    return Carried(
        words.type(type_),
        lambda body, value: words.converted(body, value, type_, into_words=True),
        lambda carried: words.restored(carried, phi),
    )
