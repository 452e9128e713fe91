"""Makes structured control flow of branches between blocks.

      cf.br ^test(%zero : i32)                        %n = scf.while (%i = %zero) : (i32) -> i32 {
    ^test(%i : i32):                                    %more = arith.cmpi slt, %i, %end : i32
      %more = arith.cmpi slt, %i, %end : i32            scf.condition(%more) %i : i32
      cf.cond_br %more, ^body, ^done                  } do {
    ^body:                                            ^body(%j : i32):
      %next = arith.addi %i, %one : i32                 %next = arith.addi %j, %one : i32
      cf.br ^test(%next : i32)                          scf.yield %next : i32
    ^done:                                            }
      memref.store %i, %x[%k] : memref<?xi32>         memref.store %n, %x[%k] : memref<?xi32>

Cycles become `scf.while` (`lift_cf.loops`), what is left `scf.if` and `scf.index_switch` (`lift_cf.branches`), after
Bahmann, Reissmann, Jahre and Meyer, "Perfect Reconstructability of Control Flow from Demand Dependence Graphs" (2015),
as in MLIR's pass of that name.  Any control flow of `cf.br`, `cf.cond_br` and `cf.switch` can be lifted, also where
cycles are entered in several blocks.  No operation is there twice, and each runs as often as before.

Invariant: a region that had several blocks has one.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func, gpu, scf
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from .errors import PassError
from .lift_cf.jumps import (
    Constants,
    Edge,
    edges_to,
    end_with_jump,
    jump_of,
    read_jump,
    remove,
    reverse_post_order,
)
from .lift_cf.loops import cycles, fold_blocks, ways_out

_AROUND = frozenset(("func.func", "gpu.all_reduce", "gpu.func", "memref.alloca_scope", "scf.execute_region"))
"""Operations whose regions may have several blocks, of those that kernels have before they are lowered."""
_ENDS: dict[str, type[Operation]] = {"func.func": func.ReturnOp, "gpu.func": gpu.ReturnOp}
"""What a region ends with that never ends; `scf.yield` in others."""


def lift_cf_to_scf(module: ModuleOp) -> None:
    """Makes one block of each region with several.

    Raises:
        PassError: a block ends with what is not of `cf`, or the operations would be nested too deeply.
    """
    for op in list(module.walk(region_first=True)):
        if op.name in _AROUND:
            for region in op.regions:
                if len(region.blocks) > 1:
                    _lift(op, region)


def _lift(op: Operation, region: Region) -> None:
    blocks = list(region.blocks)
    for block in blocks:
        read_jump(block)
    entry = blocks[0]
    for jump, _ in edges_to(entry):
        raise PassError(f"a jump leads to the first block of '{op.name}'; put one in front of it", jump)
    order = reverse_post_order(entry)
    for block in blocks:
        region.detach_block(block)
    _erase_all(set(blocks).difference(order))
    constants = Constants(entry)
    _leave_cycles(entry, _only_exit(op, order), constants)
    fold_blocks(entry, constants)
    region.add_block(entry)


def _erase_all(blocks: set[Block]) -> None:
    """Erases blocks that nothing leads to but each other."""
    for block in blocks:
        block.drop_all_references()
    for block in blocks:
        block.erase(safe_erase=False)


def _only_exit(op: Operation, order: list[Block]) -> Block:
    """Returns the block in which a region ends, made where there is not one."""
    exits = [last for block in order if jump_of(block) is None and (last := block.last_op) is not None]
    if len(exits) == 1:
        (block,) = (last.parent for last in exits)
        assert block is not None, "it ends a block"
        return block
    types = op.function_type.outputs.data if isinstance(op, func.FuncOp | gpu.FuncOp) else op.result_types
    made = Block(arg_types=types)
    for last in exits:
        block = last.parent
        assert block is not None, "it ends a block"
        edge, location = Edge(made, tuple(last.operands)), last.location
        remove(last)
        end_with_jump(block, [edge], location=location)
    kind = type(exits[0]) if exits else _ENDS.get(op.name, scf.YieldOp)
    made.add_op(kind.create(operands=made.args, location=op.location))
    return made


def _leave_cycles(entry: Block, end: Block, constants: Constants) -> None:
    """Gives each cycle without a way out one that is never taken."""
    for blocks in cycles(entry):
        if not ways_out(blocks):
            jump, index = next((j, i) for j, i in edges_to(blocks[0]) if j.parent in blocks)
            edge = jump.edges[index]
            between = Block()
            nothing = tuple(constants.nothing(argument.type) for argument in end.args)
            end_with_jump(
                between, [edge, Edge(end, nothing)], constants.number(-1, i1), location=jump.location
            )
            jump.turn(index, Edge(between))


class LiftCfToScf(ModulePass):
    """Makes structured control flow of branches between blocks (see the head of this file)."""

    name = "lift-cf-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lift_cf_to_scf(op)
