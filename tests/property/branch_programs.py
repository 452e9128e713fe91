"""Random kernels of blocks that branch to each other in any way, and what they compute.

Each work-item goes from block to block; a block mixes its number and values of blocks that dominate it into `x[i]`, so
that the result says which blocks ran, in which order, and with which values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

MASK = 0xFFFFFFFF


@dataclass(slots=True)
class BranchBlock:
    """A block: it takes numbers, mixes one of them into the state, and goes on."""

    arguments: int
    """How many it takes."""
    read: tuple[int, int] | None
    """A value that it mixes in, of a block that dominates it: which block, and which of its values (-1 is its sum)."""
    targets: list[int]
    """Where it goes to; by the state modulo their number, -1 is the end."""
    passed: list[list[tuple[int, int]]] = field(default_factory=list[list[tuple[int, int]]])
    """For each target what it gives, as in `read`."""


@dataclass(slots=True)
class BranchProgram:
    """A kernel of blocks."""

    blocks: list[BranchBlock]

    @classmethod
    def random(cls, seed: int, most: int = 9) -> BranchProgram:
        """Returns a program, the same for the same seed."""
        random = Random(seed)
        count = random.randint(2, most)
        blocks: list[BranchBlock] = []
        for number in range(count):
            ways = random.choice((1, 2, 2, 2, 3))
            targets = [
                random.choice([*range(1, count), *([-1] if random.random() < 0.5 else [])])
                for _ in range(ways)
            ]
            blocks.append(BranchBlock(random.randint(0, 2) if number else 0, None, targets))
        program = cls(blocks)
        above = program._dominators()
        for number, block in enumerate(blocks):
            known = [(at, value) for at in sorted(above[number]) for value in range(-1, blocks[at].arguments)]
            before = [item for item in known if item != (number, -1)]
            block.read = random.choice(before) if before and random.random() < 0.7 else None
            block.passed = [
                [random.choice(known) for _ in range(0 if target < 0 else blocks[target].arguments)]
                for target in block.targets
            ]
        return program

    def _dominators(self) -> list[set[int]]:
        everything = set(range(len(self.blocks)))
        above = [{0}, *(set(everything) for _ in self.blocks[1:])]
        changed = True
        while changed:
            changed = False
            for number in range(1, len(self.blocks)):
                before = [above[at] for at, block in enumerate(self.blocks) if number in block.targets]
                new = {number} | (set.intersection(*before) if before else set(everything))
                changed = changed or new != above[number]
                above[number] = new
        return above

    def run(self, state: int, most_steps: int) -> int | None:
        """Returns the state at the end, None where it is not reached soon."""
        values: dict[tuple[int, int], int] = {}
        number, given = 0, []
        for _ in range(most_steps):
            block = self.blocks[number]
            for index, value in enumerate(given):
                values[number, index] = value
            state = (state * 5 + number + 1) & MASK
            if block.read is not None:
                state = (state + values[block.read]) & MASK
            values[number, -1] = state
            way = (state >> 3) % len(block.targets)
            given = [values[item] for item in block.passed[way]]
            number = block.targets[way]
            if number < 0:
                return state
        return None

    def text(self, name: str) -> str:
        """Returns the kernel, which takes `x` of u32."""
        lines = [
            f"gpu.func @{name}(%x: memref<?xi32>) kernel {{",
            "  %i = gpu.global_id x",
            "  %five = arith.constant 5 : i32",
            "  %three = arith.constant 3 : i32",
        ]
        for number, block in enumerate(self.blocks):
            names = ", ".join(f"%a{number}_{index}: i32" for index in range(block.arguments))
            lines += [f"^b{number}({names}):" if names else f"^b{number}:"] if number else []
            lines += self._body(number, block)
        return "\n".join([*lines, "^end:", "  gpu.return", "}"])

    def _body(self, number: int, block: BranchBlock) -> list[str]:
        n = number
        lines = [
            f"  %n{n} = arith.constant {n + 1} : i32",
            f"  %l{n} = memref.load %x[%i] : memref<?xi32>",
            f"  %m{n} = arith.muli %l{n}, %five : i32",
            f"  %p{n} = arith.addi %m{n}, %n{n} : i32",
            f"  %s{n} = arith.addi %p{n}, {_value(block.read)} : i32"
            if block.read
            else f"  %s{n} = arith.addi %m{n}, %n{n} : i32",
            f"  memref.store %s{n}, %x[%i] : memref<?xi32>",
            f"  %h{n} = arith.shrui %s{n}, %three : i32",
            f"  %w{n} = arith.constant {len(block.targets)} : i32",
            f"  %k{n} = arith.remui %h{n}, %w{n} : i32",
        ]
        ways = [_way(target, passed) for target, passed in zip(block.targets, block.passed, strict=True)]
        if len(ways) == 1:
            return [*lines, f"  cf.br {ways[0]}"]
        if len(ways) == 2:
            test = f"  %c{n} = arith.trunci %k{n} : i32 to i1"
            return [*lines, test, f"  cf.cond_br %c{n}, {ways[1]}, {ways[0]}"]
        cases = ", ".join(f"{index}: {way}" for index, way in enumerate(ways[1:], 1))
        return [*lines, f"  cf.switch %k{n} : i32, [default: {ways[0]}, {cases}]"]


def _value(item: tuple[int, int]) -> str:
    block, index = item
    return f"%s{block}" if index < 0 else f"%a{block}_{index}"


def _way(target: int, passed: list[tuple[int, int]]) -> str:
    if target < 0:
        return "^end"
    values = ", ".join(map(_value, passed))
    return f"^b{target}({values} : {', '.join(['i32'] * len(passed))})" if passed else f"^b{target}"
