"""Types and constants of scalars and of vectors, whose components count: one piece of code then serves both.

Everything is of a valid module, and added where the module does not have it.  Standard library only.
"""

from __future__ import annotations

from .binary import Instruction
from .module_editor import Body, ModuleEditor
from .tables import Op


def component_type(editor: ModuleEditor, type_: int) -> tuple[Instruction, int]:
    """Returns the type of a value's components, and how many there are; a scalar is its only one."""
    item = editor.definition(type_)
    if item.opcode == Op.TypeVector:
        return editor.definition(item.operands[0]), item.operands[1]
    return item, 1


def of_components(editor: ModuleEditor, component: int, count: int) -> int:
    """Returns the type of vectors of components; of one, the component's."""
    return component if count == 1 else editor.declared(Op.TypeVector, component, count)


def unsigned(editor: ModuleEditor, width: int, count: int) -> int:
    """Returns the type of integers without sign, or of vectors of them."""
    return of_components(editor, editor.declared(Op.TypeInt, width, 0), count)


def splat(editor: ModuleEditor, type_: int, *words: int) -> int:
    """Returns a constant that has the words of a number in each component."""
    scalar, count = component_type(editor, type_)
    number = editor.declared(Op.Constant, *words, type_=scalar.result_id)
    if count == 1:
        return number
    return editor.declared(Op.ConstantComposite, *(number,) * count, type_=type_)


def zeros(editor: ModuleEditor, body: Body, zero: int, type_: int) -> int:
    """Appends zeros without sign, as wide and as many as the components of a type, made of a zero of 32 bits."""
    scalar, count = component_type(editor, type_)
    width = scalar.operands[0]
    if width != 32:
        zero = editor.emit(body, Op.UConvert, zero, type_=unsigned(editor, width, 1))
    if count == 1:
        return zero
    return editor.emit(body, Op.CompositeConstruct, *(zero,) * count, type_=unsigned(editor, width, count))


def is_constant(editor: ModuleEditor, value: int, number: int) -> bool:
    """Whether a value is a constant with a number in each component."""
    item = editor.view.definitions[value]
    if item.opcode == Op.ConstantNull:
        return number == 0
    if item.opcode == Op.ConstantComposite:
        return all(is_constant(editor, part, number) for part in item.operands)
    if item.opcode != Op.Constant:
        return False
    mask = (1 << editor.view.definitions[item.result_type or 0].operands[0]) - 1
    value_bits = sum(word << 32 * place for place, word in enumerate(item.operands))
    return value_bits & mask == number & mask
