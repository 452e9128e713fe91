"""A module as text that does not depend on ids, on the order of sections and blocks, nor on debug information."""

from __future__ import annotations

from lapilli.spirv.binary import Instruction, parse
from lapilli.spirv.module_view import DEBUG_LINES, FunctionView, ModuleView
from lapilli.spirv.operands import ID_KINDS, decode_operands
from lapilli.spirv.tables import Decoration, Op

_ALIASING = (Decoration.AliasedPointer, Decoration.RestrictPointer, Decoration.Aliased, Decoration.Restrict)


class _Canonical:
    def __init__(self, data: bytes) -> None:
        self.view = ModuleView(parse(data))
        self.known: dict[int, str] = {}
        self.open: list[int] = []
        self.functions: list[int] = []
        self.local: dict[int, str] = {}

    def global_(self, number: int) -> str:
        """Writes a type, constant, variable or import as what it is made of."""
        if number in self.open:  # a struct that contains a pointer to itself
            return f"up {len(self.open) - self.open.index(number)}"
        if number not in self.known:
            item = self.view.definitions[number]
            self.open.append(number)
            if item.opcode == Op.Function:
                if number not in self.functions:
                    self.functions.append(number)
                self.open.pop()
                return f"f{self.functions.index(number)}"
            members = [
                (index, sorted(use[:2] for use in self.view.member_decorations.get((number, index), ())))
                for index in range(len(item.operands))
                if item.opcode == Op.TypeStruct
            ]
            kind = "" if item.result_type is None else self.global_(item.result_type)
            name, operands = item.name, self.operands(item)
            if item.opcode == Op.TypeArray and self.view.definitions[item.operands[1]].opcode == Op.Constant:
                operands[1] = str(self.view.definitions[item.operands[1]].operands)  # of either sign
            if (
                item.opcode == Op.ConstantNull and not kind.startswith(("(OpTypeStruct", "(OpTypeArray"))
            ) or (item.opcode in (Op.Constant, Op.ConstantComposite) and _is_zero(operands)):
                name, operands = "zero", []
            elif item.opcode == Op.ConstantFalse:
                name = "zero"
            self.open.pop()
            uses = () if item.opcode == Op.ConstantComposite else self.view.decorations.get(number, ())
            own = sorted(use[:2] for use in uses)  # a constant's BuiltIn WorkgroupSize is in LocalSize
            self.known[number] = (
                f"({name} {kind} {operands} {own} {members if any(m for _, m in members) else ''})"
            )
        return self.known[number]

    def operands(self, item: Instruction) -> list[str]:
        words = self.view.switch_literal_words(item.operands[0]) if item.opcode == Op.Switch else 1
        return [
            self.name(operand.value) if operand.kind in ID_KINDS else str(operand.words)
            for operand in decode_operands(item, switch_literal_words=words)
        ]

    def name(self, number: int) -> str:
        return self.local.get(number) or self.global_(number)

    def function(self, view: FunctionView) -> list[str]:
        blocks = {block.label: block for block in view.blocks}
        order: list[int] = []
        seen: set[int] = set()

        def visit(label: int) -> None:
            seen.add(label)
            merge = blocks[label].merge
            targets = list(blocks[label].successors()) + list(
                merge.operands[: 2 if merge.opcode == Op.LoopMerge else 1] if merge else ()
            )
            for target in reversed(targets):
                if target not in seen:
                    visit(target)
            order.append(label)

        visit(view.blocks[0].label)
        order.reverse()
        self.local = {item.result_id or 0: f"p{index}" for index, item in enumerate(view.parameters)}
        for index, label in enumerate(order):
            self.local[label] = f"b{index}"
            for place, item in enumerate(
                i for i in blocks[label].body if i.opcode not in (*DEBUG_LINES, Op.Undef)
            ):
                if item.result_id is not None:
                    self.local[item.result_id] = f"v{index}.{place}"
        lines = [f"function {self.global_(view.definition.operands[1])}"]
        for parameter in view.parameters:
            uses = {use.decoration for use in self.view.decorations.get(parameter.result_id or 0, ())}
            lines.append(f"parameter {[each for each in _ALIASING if each in uses][:1]}")
        for label in order:
            lines.append(self.local[label])
            for item in blocks[label].body:
                if item.opcode in DEBUG_LINES or item.opcode == Op.Undef:
                    continue
                operands = self.operands(item)
                if item.opcode == Op.Phi:
                    pairs = zip(operands[::2], operands[1::2], strict=True)
                    operands = [
                        f"{value} from {block}"
                        for value, block in sorted(pairs)
                        if block in self.local.values()
                    ]
                kind = "" if item.result_type is None else self.global_(item.result_type)
                own = sorted(use[:2] for use in self.view.decorations.get(item.result_id or 0, ()))
                lines.append(f"{item.name} {kind} {operands} {own}")
        return lines

    def text(self) -> str:
        lines: list[str] = []
        for item in self.view.of_opcode(Op.EntryPoint):
            lines.append(f"entry {self.global_(item.operands[1])}")
        modes = self.view.of_opcode(Op.ExecutionMode, Op.ExecutionModeId)
        lines += sorted(f"{item.name} {self.operands(item)}" for item in modes)
        by_id = {view.result_id: view for view in self.view.functions}
        done = 0
        while done < len(self.functions):
            lines += self.function(by_id[self.functions[done]])
            done += 1
        return "\n".join(lines)


def _is_zero(operands: list[str]) -> bool:
    return all(o in ("(0,)", "(0, 0)") or o.startswith("(zero") for o in operands)


def canonical(data: bytes) -> str:
    """Returns the text of a module."""
    return _Canonical(data).text()
