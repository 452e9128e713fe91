"""The variables that results of branches and loops leave them by, where these are whole arrays.

input:    %a = scf.if %c -> (array) { … }                output:   one variable, which both arms store and the access
          "spirv.Store"(%v, %a)                                    chain reads, in the place of a variable of the
          %p = "spirv.AccessChain"(%v, %i)                         result that is copied into %v

So does an array that a branch gives to the branch around it: it lies in the variable of that one from the beginning.
Copies of whole arrays between variables are instructions for each element in every driver, and NVIDIA's was seen to end
the process over them.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue, Use

from ...ir.dialects import spirv
from .function_lowering import FunctionLowering


def add_variable(fn: FunctionLowering, result: SSAValue) -> SSAValue:
    """Returns the variable that a result of a branch or loop leaves it by: a new one, but for arrays that have one."""
    type_ = fn.type(result.type)
    if not isinstance(type_, spirv.ArrayType):
        return fn.variable(type_)
    found = fn.result_variables.get(result) or _of_outer_branch(fn, result) or fn.variable(type_)
    fn.result_variables[result] = found
    return found


def _of_outer_branch(fn: FunctionLowering, result: SSAValue) -> SSAValue | None:
    """Returns the variable of the branch around, where all that becomes of a result is that it is given to that."""
    use, branch = _only_use(result), None
    if use is not None and isinstance(use.operation, scf.YieldOp):
        branch = use.operation.parent_op()
    if use is None or not isinstance(branch, scf.IfOp):
        return None
    return fn.result_variables.get(branch.results[use.index])


def _only_use(value: SSAValue) -> Use | None:
    uses = list(value.uses)
    return uses[0] if len(uses) == 1 else None


def note_copy(fn: FunctionLowering, op: Operation, pointer: SSAValue) -> None:
    """Notes that a variable of kernel-level IR, lowered to `pointer`, only holds a result that is made later."""
    value = _held(op.results[0])
    if value is not None and isinstance(value.owner, scf.IfOp | scf.ForOp | scf.WhileOp):
        fn.result_variables[value] = pointer


def _held(variable: SSAValue) -> SSAValue | None:
    """Returns the one value that is ever stored to a variable, as a whole; None where there are others."""
    values = set[SSAValue]()
    for use in variable.uses:
        user = use.operation
        if isinstance(user, spirv.StoreOp) and use.index == 0:
            values.add(user.operands[1])
        elif not isinstance(user, spirv.LoadOp) and not _is_only_read_at(user):
            return None
    return values.pop() if len(values) == 1 else None


def _is_only_read_at(op: Operation) -> bool:
    return isinstance(op, spirv.AccessChainOp) and all(
        isinstance(use.operation, spirv.LoadOp) for use in op.results[0].uses
    )


def is_held(fn: FunctionLowering, store: Operation) -> bool:
    """Whether a store of kernel-level IR stores a result into the variable that it lies in anyway."""
    pointer, value = store.operands
    found = fn.result_variables.get(value)
    return found is not None and fn.values.get(pointer) is found


def is_loaded(fn: FunctionLowering, result: SSAValue) -> bool:
    """Whether anybody reads a result but by the variable that it lies in."""
    return not all(
        isinstance(use.operation, spirv.StoreOp) and use.index == 1 and is_held(fn, use.operation)
        for use in result.uses
    )
