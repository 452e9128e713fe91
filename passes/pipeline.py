"""The compiler's pipeline: one kernel-level module in, one `spirv.module` per device image out.

    verify → expand-remainders
           → propagate-aspects (warns; saves no f64 or narrow integers)
           → trap-cooperation (debug mode), inline → unroll-short (some drivers), optimise
           → speculate-rounds, pair-rounds, rotate-barriers, unroll-barriers (some drivers)
           → carry-results, limit-loops (some drivers)
           → propagate-aspects (saves all) → split-modules → compute-requirements   `analyse`
           → convert-to-spirv                                                       `lower_all`

The first propagation must come before anything that can erase a use of an aspect.  `analyse` ends where the
requirements are known, so that the runtime can refuse a device before any lowering is spent on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp

from ..ir.call_graph import entry_points, function_name, functions
from ..ir.config import config as options
from ..ir.dialects.kernel import is_kernel
from ..ir.dialects.kernel_atomic import ATOMIC_NAMES
from ..ir.errors import Diagnostic
from ..ir.kernel_info import AspectUse, KernelInfo, Requirements
from ..ir.split_module import SplitModule
from ..ir.target_env import BindingModel, TargetEnv
from ..ir.walk import operations
from .aspect_usage import AspectUsage
from .compute_requirements import compute_requirements, read_requirements
from .propagate_aspects import PRE_OPTIMISATION_EXCLUDES, propagate
from .select_instructions import select_instructions
from .split_modules import split

AfterPass = Callable[[str, ModuleOp], None]
"""Called after each pass with its name and what it left; once per image from compute-requirements on."""


def _ignore(_name: str, _module: ModuleOp) -> None:
    """Stands for no hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedImage:
    """One device image before lowering."""

    module: ModuleOp
    """Its kernel-level IR."""
    requirements: Requirements
    aspect_uses: dict[str, tuple[AspectUse, ...]]
    """For each kernel by name the aspects that it needs, ascending, and where it first uses them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What is known of a module without lowering it."""

    images: tuple[AnalysedImage, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Warnings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """What compiling a module gives."""

    splits: tuple[SplitModule, ...]
    """One per device image."""
    diagnostics: tuple[Diagnostic, ...]
    """Warnings."""


def analyse(
    module: ModuleOp,
    env: TargetEnv,
    *,
    mode: str = "auto",
    fixed_targets: Iterable[str] = (),
    separates_callees: bool = False,
    is_ours: bool = False,
    of_passes: bool = False,
    inlines: bool = False,
    after_pass: AfterPass | None = None,
) -> Analysis:
    """Optimises and splits a module and finds out what each image needs.

    Args:
        module: kernel-level IR; changed in place, and the result may contain it.
        env: `optimisation_level` and `disabled_passes` are used, and `debug_info`: warnings say where then.
        mode: device code split, see `split_modules.SplitMode`.
        fixed_targets: targets of kernels that do not name their own.
        separates_callees: see `split_modules.split`.
        is_ours: whether our front end has just made the module: it is then verified only under ``config.verify``,
            as in our tests; what becomes of it passes SPIRV-Tools' validator anyway.
        of_passes: whether passes have run on it already, which write attributes that no input has.
        inlines: whether calls become the bodies of their functions, as for launches; of bundles that is so at level 2
            alone, where images share functions, and nothing is coarsened.
        after_pass: called after each pass.

    Raises:
        IRError: the module does not verify.
        InvalidError: unknown mode, or a fixed target that the configuration does not have.
        PassError: a pass found something that it cannot transform.
    """
    done = after_pass or _ignore
    if options.verify or not is_ours:
        _verify(module, of_passes=of_passes)
    if any(op.name == "arith.remf" for op in operations(module)):
        from .expand_remainders import expand_remainders  # seldom needed

        expand_remainders(module)
        done("expand-remainders", module)
    select_instructions(module, env)
    usage = AspectUsage.of(module)
    before = _uses_of_kernels(usage)
    warnings = propagate(
        module,
        exclude=PRE_OPTIMISATION_EXCLUDES,
        fixed_targets=fixed_targets,
        warn=True,
        usage=usage,
        with_locations=env.debug_info,
    )
    done("propagate-aspects", module)
    if after_pass is not None:  # it may have replaced what is in the module
        usage = AspectUsage.of(module)
    _change_functions(module, env, usage if inlines or env.optimisation_level > 1 else None, done)
    if not usage.is_empty or env.checks == "debug":
        usage = AspectUsage.of(module)
        propagate(module, usage=usage)
    elif any(usage.graph.calls.values()):
        # Only the traps bring in aspects: what used none needs no second look, but functions may be inlined.
        usage = AspectUsage.none(module)
    done("propagate-aspects", module)
    uses = {name: _explained(found, before[name]) for name, found in _uses_of_kernels(usage).items()}
    images = split(module, mode, separates_callees=separates_callees, graph=usage.graph)
    done("split-modules", ModuleOp([image.clone() for image in images]) if after_pass else module)
    for image in images:
        warnings += compute_requirements(image, with_locations=env.debug_info)
        done("compute-requirements", image)
    return Analysis(images=tuple(_analysed(image, uses) for image in images), diagnostics=warnings)


def _analysed(image: ModuleOp, uses: Mapping[str, tuple[AspectUse, ...]]) -> AnalysedImage:
    """Describes an image whose requirements are computed, by what each kernel of the module needs."""
    kernels = [function_name(f) for f in functions(image) if is_kernel(f)]
    return AnalysedImage(
        module=image,
        requirements=read_requirements(image),
        aspect_uses={name: uses[name] for name in kernels},
    )


def _verify(module: ModuleOp, *, of_passes: bool) -> None:
    """Checks a module as xDSL and our dialects do, and that entry points have names of their own, also where they stand
    in different modules inside `module`: SPIR-V and the runtime know them by name alone."""
    from ..ir.verify import IRError, verify_module  # seldom needed
    from ..ir.verify_attributes import verify_attributes

    verify_module(module)
    verify_attributes(module, of_passes=of_passes)
    seen: set[str] = set()
    for entry in entry_points(module):
        name = function_name(entry)
        if name in seen:
            raise IRError(
                f"'{name}' is defined twice; kernels and exported functions need names of their own, also in different "
                "modules inside of one: rename one",
                operation=entry,
            )
        seen.add(name)


def _change_functions(module: ModuleOp, env: TargetEnv, usage: AspectUsage | None, done: AfterPass) -> None:
    """Runs the passes that change the bodies of functions; calls are inlined by the analysis of the module, if any."""
    from .optimise.pipeline import optimise

    if env.checks == "debug":
        from .traps.cooperation import trap_cooperation

        trap_cooperation(module)
        done("trap-cooperation", module)
    elif usage is not None and "inline" not in env.disabled_passes and any(usage.graph.calls.values()):
        from .optimise.inline import inline

        inline(module, usage, level=env.optimisation_level, excluded=PRE_OPTIMISATION_EXCLUDES)
        done("inline", module)
    if _unrolls_short(env):
        from .unroll_short import unroll_short

        unroll_short(module, disabled=env.disabled_passes)
        done("unroll-short", module)
    optimise(
        module,
        env.optimisation_level,
        disabled=env.disabled_passes,
        keeps_dimensions=env.lanes_per_invocation > 1,
        joins_loads=env.binding_model is BindingModel.DESCRIPTOR,
    )
    done("optimise", module)
    names = {op.name for op in operations(module)}
    if not _LOOPS.isdisjoint(names):
        _change_loops(module, env, done)
    # Some atomics are loops on the device.
    if env.loop_iteration_cap is not None and not (_LOOPS | ATOMIC_NAMES).isdisjoint(names):
        from .limit_loops import limit_loops

        limit_loops(module, env.loop_iteration_cap, env.optimisation_level)
        done("limit-loops", module)


_LOOPS = frozenset(("scf.for", "scf.while"))


def _change_loops(module: ModuleOp, env: TargetEnv, done: AfterPass) -> None:
    """Runs the passes that change loops alone; each is imported then."""
    if _speculates_rounds(env):
        from .speculate_rounds import speculate_rounds

        speculate_rounds(module, disabled=env.disabled_passes)
        done("speculate-rounds", module)
    if _pairs_rounds(env):
        from .pair_rounds import pair_rounds

        pair_rounds(module, with_atomics=env.pairs_atomics)
        done("pair-rounds", module)
    if _rotates_barriers(env):
        from .rotate_barriers import rotate_barriers

        rotate_barriers(module)
        done("rotate-barriers", module)
    if _unrolls_barriers(env):
        from .unroll_barriers import unroll_barriers

        unroll_barriers(module, disabled=env.disabled_passes)
        done("unroll-barriers", module)
    from .carry_results import carry_results

    carry_results(module)
    done("carry-results", module)


def _unrolls_short(env: TargetEnv) -> bool:
    """Whether short loops are written out: not where neighbours share them."""
    is_on = env.unrolls_short and env.optimisation_level and "unroll-short" not in env.disabled_passes
    return bool(is_on) and env.lanes_per_invocation == 1


def _pairs_rounds(env: TargetEnv) -> bool:
    """Whether loops are paired: not where neighbours share them."""
    return _doubles_rounds(env) and "pair-rounds" not in env.disabled_passes and env.lanes_per_invocation == 1


def _speculates_rounds(env: TargetEnv) -> bool:
    return _doubles_rounds(env) and "speculate-rounds" not in env.disabled_passes


def _doubles_rounds(env: TargetEnv) -> bool:
    """Whether loops do two rounds in one: not where more rounds are unrolled."""
    unrolls = env.optimisation_level > 1 and env.loop_iteration_cap is not None
    return env.pairs_rounds and env.optimisation_level > 0 and not unrolls


def _rotates_barriers(env: TargetEnv) -> bool:
    is_on = env.rotates_barriers and env.optimisation_level and "rotate-barriers" not in env.disabled_passes
    return bool(is_on)


def _unrolls_barriers(env: TargetEnv) -> bool:
    is_on = env.unrolls_barriers and env.optimisation_level and "unroll-barriers" not in env.disabled_passes
    return bool(is_on)


def _uses_of_kernels(usage: AspectUsage) -> dict[str, tuple[AspectUse, ...]]:
    return {function_name(f): usage.kernel_aspects(f) for f in usage.graph.functions if is_kernel(f)}


def _explained(uses: tuple[AspectUse, ...], before: tuple[AspectUse, ...]) -> tuple[AspectUse, ...]:
    """Returns uses with the places of code that the optimiser has removed since: the attribute that remains of it
    does not say them."""
    places = {use.aspect: use for use in before}
    return tuple(
        replace(places[use.aspect], is_declared=True) if use.is_declared and use.aspect in places else use
        for use in uses
    )


def lower_all(
    analysis: Analysis, env: TargetEnv, *, after_pass: AfterPass | None = None
) -> tuple[SplitModule, ...]:
    """Lowers every image of an analysis to the spirv dialect; raises `PassError`."""
    return tuple(lower_image(image, env, after_pass=after_pass) for image in analysis.images)


def lower_image(image: AnalysedImage, env: TargetEnv, *, after_pass: AfterPass | None = None) -> SplitModule:
    """Lowers one image to the spirv dialect; raises `PassError`."""
    from .convert_to_spirv.convert import lower

    lowered = lower(image.module, env, image.requirements)
    if after_pass is not None:
        after_pass("convert-to-spirv", ModuleOp([lowered.spirv.clone()]))
    return replace(lowered, kernels=tuple(_with_uses(k, image.aspect_uses[k.name]) for k in lowered.kernels))


def _with_uses(kernel: KernelInfo, uses: tuple[AspectUse, ...]) -> KernelInfo:
    return replace(kernel, aspects=tuple(use.aspect for use in uses), aspect_uses=uses)


def compile_module(
    module: ModuleOp,
    env: TargetEnv,
    *,
    mode: str = "auto",
    of_passes: bool = False,
    after_pass: AfterPass | None = None,
) -> PipelineResult:
    """Runs the whole pipeline: `analyse`, then `lower_all`; arguments and errors are theirs."""
    analysis = analyse(module, env, mode=mode, of_passes=of_passes, after_pass=after_pass)
    splits = lower_all(analysis, env, after_pass=after_pass)
    return PipelineResult(splits=splits, diagnostics=analysis.diagnostics)
