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
    """Returns the one value that is ever stored to a variable, as a whole and in front of each read of it; None where
    there are others, or a read may see what was stored before the value was made again."""
    stores, reads = set[Operation](), list[Operation]()
    for use in variable.uses:
        user = use.operation
        if isinstance(user, spirv.StoreOp) and use.index == 0:
            stores.add(user)
        elif isinstance(user, spirv.AccessChainOp):
            reads += [inner.operation for inner in user.results[0].uses]
        else:
            reads.append(user)
    values = {store.operands[1] for store in stores}
    are_known = all(isinstance(read, spirv.LoadOp) and _comes_behind(read, stores) for read in reads)
    return values.pop() if are_known and len(values) == 1 else None


def _comes_behind(read: Operation, stores: set[Operation]) -> bool:
    """Whether one of some stores is in front of a read, in the same block."""
    op = read.prev_op
    while op is not None and op not in stores:
        op = op.prev_op
    return op is not None


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
