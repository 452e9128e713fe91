"""Kernel-level IR to a `spirv.module`: the entry to this folder.

input:    func.func @k(%x: memref<?xf32>) attributes {gpu.kernel} {    output:   spirv.module {
            %i = gpu.global_id x                                              spirv.GlobalVariable @k.x …
            … memref.store %v, %x[%i] …                                       spirv.func @k { … spirv.Store … }
          }                                                                   spirv.EntryPoint @k … }

Invariant: what is read of the input is its text alone; the input is not changed.  Every operation keeps its
location.  Each kernel gets exactly the arguments that it uses.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.call_graph import Function, functions, has_body
from ...ir.dialects import aspect, spirv
from ...ir.dialects.kernel import WIDE, is_kernel
from ...ir.dialects.spirv.enums import AddressingModel
from ...ir.kernel_info import KernelInfo, Requirements, SpecConstantInfo
from ...ir.split_module import SplitModule
from ...ir.target_env import BindingModel, TargetEnv
from .capabilities import vce_triple
from .handlers import HANDLERS
from .kernel_entry import DEFAULT_LOCAL_SIZE, KernelEntry, local_size
from .module_lowering import ModuleLowering


def convert_to_spirv(
    kernel_ir: ModuleOp, env: TargetEnv
) -> tuple[spirv.ModuleOp, tuple[KernelInfo, ...], tuple[SpecConstantInfo, ...]]:
    """Lowers every kernel of `kernel_ir`, and the helpers that they call, to one `spirv.module`.

    Returns:
        The module, what a launch must know of each kernel in the order of the entry points, and the
        specialization constants in SpecId order.

    Raises:
        PassError: an operation, type or call has no counterpart in Vulkan's SPIR-V.
    """
    _coarsen(kernel_ir, env)
    kernels = _kernels(kernel_ir)
    module = ModuleLowering(env, HANDLERS)
    module.has_local_size_constants = any(local_size(kernel) is None for kernel in kernels)
    module.survey(kernel_ir)
    entries = [KernelEntry(module, kernel) for kernel in kernels]
    for entry in entries:
        # An entry point is called like its function, so kernels take their names before anything else.
        module.reserve(entry.name)
    for entry in entries:
        entry.lower()
    for function in functions(kernel_ir):
        if aspect.is_external(function) and has_body(function) and not is_kernel(function):
            module.function(function)
    module.finish_spec_constants(DEFAULT_LOCAL_SIZE)
    result = _assemble(module, entries)
    result.location = kernel_ir.location
    return result, tuple(entry.info() for entry in entries), module.spec_constants.infos()


def _kernels(kernel_ir: ModuleOp) -> list[Function]:
    return [function for function in functions(kernel_ir) if is_kernel(function) and has_body(function)]


def _coarsen(kernel_ir: ModuleOp, env: TargetEnv) -> None:
    """Replaces kernels by their coarsened form where the environment asks for it and it pays."""
    lanes = 1 if "coarsen" in env.disabled_passes else env.lanes_per_invocation
    if lanes < 2 or env.optimisation_level < 1 or env.binding_model is not BindingModel.DESCRIPTOR:
        return
    from ..coarsen.coarsen import coarsened
    from ..optimise.pipeline import optimise_positions

    for kernel in _kernels(kernel_ir):
        made = coarsened(kernel, lanes, splits_branches=env.splits_branches, loop_cap=env.loop_iteration_cap)
        if made is None:
            continue
        if WIDE not in kernel.attributes:
            optimise_positions(made, disabled=env.disabled_passes)
        block = kernel.parent
        assert block is not None
        block.insert_op_before(made, kernel)  # in the module, where symbols are found
        kernel.detach()


def _assemble(module: ModuleLowering, entries: list[KernelEntry]) -> spirv.ModuleOp:
    ops: list[Operation] = [*module.spec_constants.ops, *module.globals.values(), *module.functions]
    points = [entry.entry_point() for entry in entries]
    ops += [point for point, _ in points]
    ops += [mode for _, mode in points]
    ops += [mode for entry in entries for mode in entry.float_modes()]
    is_address = module.env.binding_model is BindingModel.ADDRESS
    model = AddressingModel.PhysicalStorageBuffer64 if is_address else AddressingModel.Logical
    triple = vce_triple(module.types.converted(), module.env)
    return spirv.ModuleOp(ops, addressing_model=model, vce_triple=triple)


def lower(split_kernel_ir: ModuleOp, env: TargetEnv, requirements: Requirements) -> SplitModule:
    """Lowers one image's kernel-level IR and returns it with its metadata.

    Args:
        split_kernel_ir: One image after splitting.
        env: What the code may rely on.
        requirements: What a device must have, as computed from the image's attributes.
    """
    module, kernels, spec_constants = convert_to_spirv(split_kernel_ir, env)
    return SplitModule(
        kernel_ir=split_kernel_ir,
        spirv=module,
        kernels=kernels,
        spec_constants=spec_constants,
        requirements=requirements,
    )
