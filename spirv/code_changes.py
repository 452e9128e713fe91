"""What takes the place of the instructions of a module, and what stands around them.  Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from .binary import Instruction
from .module_editor import Body
from .module_view import DEBUG_LINES, BlockView
from .tables import Op

_AT_BEGIN = (Op.Phi, Op.Variable, *DEBUG_LINES)


class CodeChanges:
    """Changes to instructions, which are known by their ordinals; `around` applies them."""

    def __init__(self) -> None:
        self._before: defaultdict[int, Body] = defaultdict(list)
        self._after: defaultdict[int, Body] = defaultdict(list)
        self._instead: dict[int, Body] = {}

    def at_begin(self, block: BlockView) -> Body:
        """Returns what is added at the beginning of a block."""
        return self.before(next(item for item in block.body if item.opcode not in _AT_BEGIN))

    def at_end(self, block: BlockView) -> Body:
        """Returns what is added at the end of a block."""
        return self.before(block.merge or block.body[-1])

    def before(self, item: Instruction) -> Body:
        """Returns what is added in front of an instruction."""
        return self._before[item.ordinal]

    def behind(self, ordinal: int) -> Body:
        """Returns what is added behind the instruction with an ordinal."""
        return self._after[ordinal]

    def now(self, item: Instruction) -> Instruction:
        """Returns an instruction as it has become."""
        return self._instead.get(item.ordinal, [item])[-1]

    def put(self, item: Instruction, *others: Instruction) -> None:
        """Lets others take the place of an instruction."""
        self._instead[item.ordinal] = list(others)

    @property
    def is_empty(self) -> bool:
        """Whether no instruction is changed or added."""
        return not (self._instead or any(self._before.values()) or any(self._after.values()))

    def around(self, item: Instruction) -> Iterator[Instruction]:
        """Yields what takes the place of an instruction, with what stands around it."""
        yield from self._before.get(item.ordinal, ())
        yield from self._instead.get(item.ordinal, (item,))
        yield from self._after.get(item.ordinal, ())
