"""What the compiler may know about the device it compiles for.  Standard library only.

A `TargetEnv` is part of every cache key, so it holds only what changes the code: two devices with equal
environments share images.  What merely decides whether an image may run (aspects, limits) is not here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .aspects import Aspect


class BindingModel(enum.Enum):
    """How a kernel reaches its arrays."""

    DESCRIPTOR = "descriptor"
    """Storage buffers in descriptor set 0, in argument order; robustBufferAccess keeps any index harmless."""
    ADDRESS = "address"
    """Buffer device addresses in push constants: no descriptor sets and no range limit."""


SPIRV_VERSION_OF_VULKAN: dict[tuple[int, int], tuple[int, int]] = {
    (1, 1): (1, 3),
    (1, 2): (1, 5),
    (1, 3): (1, 6),
    (1, 4): (1, 6),
}
"""Highest SPIR-V version that each Vulkan version must accept (Vulkan 1.3, appendix A)."""


OPTIONAL_ASPECTS = frozenset(
    (
        Aspect.VK_FLOAT_ATOMIC_ADD,
        Aspect.VK_FLOAT_ATOMIC_MIN_MAX,
        Aspect.VK_INT64,
        Aspect.VK_SUBGROUP_ARITHMETIC,
    )
)
"""The aspects that `TargetEnv.optional_aspects` may hold: those that change the code of some kernel."""


OPTIMISATION_PASSES = (
    "canonicalize",
    "coarsen",
    "cse",
    "dce",
    "hoist-invariants",
    "inline",
    "join-loads",
    "lift-breaks",
    "linearise-indices",
    "narrow-barriers",
    "pair-rounds",
    "promote-arrays",
    "reduce-strength",
    "rotate-barriers",
    "speculate-rounds",
    "unroll-barriers",
    "unroll-short",
)
"""The passes that only make code faster or smaller; each can be switched off, see `TargetEnv.disabled_passes`."""

SPIRV_TARGET = "spirv"
"""Target of images of SPIR-V, which are for no device in particular."""

MOST_COUNTED_LANES = 16
"""Lanes of a sub-group, a power of two, on every driver that ends loops: see `TargetEnv.loop_iteration_cap`."""

CHECKS = ("none", "asserts", "debug")
"""What a kernel checks as it runs: nothing, its ``assert`` statements, in debug mode also indices, divisors and NaN."""


REMEDIES = (
    "miscounts_sub_groups",
    "loses_reads",
    "clamps_atomics",
    "skips_half_rounding",
    "skips_exact_halves",
    "fails_on_carried_truths",
    "fails_on_carried_addresses",
    "widens_negations",
    "misjudges_short_extrema",
    "misjudges_low_bits",
    "loses_negated_truths",
    "loses_last_rounds",
    "divides_rounds",
    "loses_returns",
    "narrows_conversions",
    "fails_on_divided_ones",
    "folds_wide_orders",
    "misrounds_doubles",
)
"""Fields of `TargetEnv` for faults of drivers that modules of other compilers are rewritten for."""

NEEDED_BY_ANY = (
    *REMEDIES,
    "rounds_conversions_twice",
    "folds_zeros",
    "misjudges_absolutes",
    "saturates_minima",
    "pairs_rounds",
    "packs_tables",
    "tables_are_uniform",
)
"""Fields that are set for several environments together if one of them sets it: the code is then right in all."""

WANTED_BY_ALL = (
    "pairs_atomics",
    "masks_indices",
    "selects_extrema",
    "rotates_barriers",
    "unrolls_barriers",
    "unrolls_short",
    "runs_all_branches",
)
"""Fields that are set for several environments together if all of them set it: they cost time on other devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEnv:
    """Environment that an image is compiled for."""

    vulkan_version: tuple[int, int] = (1, 3)
    """Vulkan version of the device, (1, 1) to (1, 4)."""
    binding_model: BindingModel = BindingModel.DESCRIPTOR
    """How arrays are bound."""
    max_push_constant_bytes: int = 128
    """VkPhysicalDeviceLimits::maxPushConstantsSize; arguments above it spill to a buffer."""
    signed_zero_inf_nan_preserve_bits: tuple[int, ...] = ()
    """Float widths whose NaN, infinities and -0.0 the device keeps when a module asks for it."""
    optimisation_level: int = 1
    """0 folds nothing, 1 is the default, 2 spends more time."""
    disabled_passes: tuple[str, ...] = ()
    """Those of `OPTIMISATION_PASSES` that do not run, ascending."""
    optional_aspects: tuple[int, ...] = ()
    """Aspects, ascending, whose instructions the code may use where there is another way without: atomics of
    floats.  An image that uses one requires it, except that an image that takes addresses computes them in 64 bits
    where it can."""
    splits_branches: bool = True
    """Whether an invocation of several work-items may have branches that they disagree about."""
    lanes_per_invocation: int = 1
    """Neighbouring work-items that an invocation may do where it saves memory accesses: 4, or 1 for never."""
    debug_info: bool = False
    """Whether OpSource and OpLine are written."""
    loop_iteration_cap: int | None = None
    """After how many rounds of all loops together the driver ends the loops of a sub-group, without an error; None:
    never.  See `vk_runtime.quirks`."""
    loses_reads: bool = False
    """Whether the driver loses what a loop computes for work-items that leave it before others; this matters to modules
    of other compilers only.  See `vk_runtime.quirks`."""
    miscounts_sub_groups: bool = False
    """Whether the driver counts partial sub-groups wrongly; this, too, matters to modules of other compilers only.  See
    `vk_runtime.quirks`."""
    clamps_atomics: bool = False
    """Whether positions of atomic operations in arrays are kept in range, since the driver does not look at them.  See
    `vk_runtime.quirks`."""
    rounds_conversions_twice: bool = False
    """Whether the driver converts u32 to f32, or f64 to f16, by way of a rounded number.  See `vk_runtime.quirks`."""
    misrounds_doubles: bool = False
    """Whether the driver truncates f64 to numbers that are not whole, and does not round them.  See
    `vk_runtime.quirks`."""
    folds_zeros: bool = False
    """Whether the driver computes with zeros that it knows otherwise than IEEE 754 says, so that they are kept from it:
    see `passes.convert_to_spirv.known_zeros`.  Floats that a loop tests are hidden from it, too: see
    `passes.convert_to_spirv.loop_starts`."""
    skips_half_rounding: bool = False
    """Whether the driver takes an f32 that becomes f16 and f32 again for what it was.  See `vk_runtime.quirks`."""
    fails_on_carried_addresses: bool = False
    """Whether the driver mixes up addresses in private memory, or fails where a loop carries them.  See
    `vk_runtime.quirks`."""
    fails_on_carried_truths: bool = False
    """Whether the driver may end the process over truth values that loops carry.  See `vk_runtime.quirks`."""
    widens_negations: bool = False
    """Whether the driver may negate numbers of 8 and 16 bits behind their widening.  See `vk_runtime.quirks`."""
    folds_wide_orders: bool = False
    """Whether the driver takes orders of widened integers and constants for false.  See `vk_runtime.quirks`."""
    misjudges_short_extrema: bool = False
    """Whether the driver compares minima and maxima of 16 bits wrongly.  See `vk_runtime.quirks`."""
    misjudges_low_bits: bool = False
    """Whether the driver may misjudge truths about low bits of 64-bit integers.  See `vk_runtime.quirks`."""
    loses_negated_truths: bool = False
    """Whether the driver takes -float(false) for 0.0.  See `vk_runtime.quirks`."""
    misjudges_absolutes: bool = False
    """Whether the driver takes |NaN| for a number, and -0.0 for one that is not negative.  See `vk_runtime.quirks`."""
    saturates_minima: bool = False
    """Whether the driver gives 0.0 for max(0.0, min(1.0, NaN)).  See `vk_runtime.quirks`."""
    loses_last_rounds: bool = False
    """Whether the driver may leave out the last round of a loop that counts from below zero to it.  See
    `vk_runtime.quirks`."""
    divides_rounds: bool = False
    """Whether the driver may compute wrongly how many rounds a loop has whose start and end it knows, or end the
    process over it.  See `vk_runtime.quirks`."""
    loses_returns: bool = False
    """Whether work-items may go on behind a loop in which they returned.  See `vk_runtime.quirks`."""
    skips_exact_halves: bool = False
    """Whether the driver takes an integer of few bits that becomes f16 and f32 for what it was, however large.  See
    `vk_runtime.quirks`."""
    narrows_conversions: bool = False
    """Whether the driver may convert f32 to fewer bits than those of a u64.  See `vk_runtime.quirks`."""
    fails_on_divided_ones: bool = False
    """Whether the driver may fail where the greatest number of 8 or 16 bits is divided.  See `vk_runtime.quirks`."""
    pairs_rounds: bool = False
    """Whether short loops do two rounds in one, see `passes.pair_rounds` and `passes.speculate_rounds`."""
    pairs_atomics: bool = False
    """Whether those with atomic operations do, too."""
    masks_indices: bool = False
    """Whether an index into memory that no robustness covers is kept in range by its low bits where the extent is a
    power of two, not by a minimum: Subzero makes ten instructions of that.  On lavapipe a minimum is faster."""
    selects_extrema: bool = False
    """Whether minima and maxima of floats are a comparison and a selection: SwiftShader takes NMin and NMax apart."""
    rotates_barriers: bool = False
    """Whether barriers at the end of a loop's rounds move to their begin where that saves one, see
    `passes.rotate_barriers`."""
    unrolls_barriers: bool = False
    """Whether short loops with barriers are written out, see `passes.unroll_barriers`."""
    unrolls_short: bool = False
    """Whether loops of a few known rounds are written out, see `passes.unroll_short`."""
    runs_all_branches: bool = False
    """Whether the device goes through the code of a branch that none of its work-items takes, so that a quick way
    beside a general one costs both: functions of `lp.math` have the general one alone then."""
    packs_tables: bool = False
    """Whether constant tables become words in the argument block, see `passes.convert_to_spirv.packed_tables`."""
    tables_are_uniform: bool = False
    """Whether a block with such words is a uniform buffer where it is short enough for every device: llvmpipe gathers
    from one, and goes through a storage buffer lane by lane."""
    checks: str = "asserts"
    """What a kernel checks as it runs, one of `CHECKS`."""
    emulates_spec_constants: bool = False
    """Whether values of specialization constants travel with the arguments.  Those that array lengths depend on are
    constants of the module even so: SPIR-V has no other way."""
    freezes_spec_constants: bool = False
    """Whether every specialization constant is its default, a plain constant of the code."""

    @property
    def spirv_version(self) -> tuple[int, int]:
        """SPIR-V version to emit: 1.3 to 1.6."""
        return SPIRV_VERSION_OF_VULKAN[min(max(self.vulkan_version, (1, 1)), (1, 4))]

    @property
    def spirv_tools_name(self) -> str:
        """The environment's name for SPIRV-Tools (``--target-env``)."""
        major, minor = min(max(self.vulkan_version, (1, 1)), (1, 4))
        return f"vulkan{major}.{minor}"

    @property
    def universal_name(self) -> str:
        """SPIRV-Tools' name for plain SPIR-V of this version, which unlike Vulkan's SPIR-V may have linkage."""
        major, minor = self.spirv_version
        return f"spv{major}.{minor}"

    @staticmethod
    def meet(envs: Iterable[TargetEnv]) -> TargetEnv:
        """Returns the environment whose code runs in every one of `envs`: the lowest version and limits,
        the optional instructions that all of them have, and every check that one of them asks
        for.  One environment gives itself.

        Raises:
            ValueError: `envs` is empty.
        """
        first, *others = envs
        for other in others:
            kept = set(first.signed_zero_inf_nan_preserve_bits) & set(other.signed_zero_inf_nan_preserve_bits)
            first = replace(
                first,
                vulkan_version=min(first.vulkan_version, other.vulkan_version),
                max_push_constant_bytes=min(first.max_push_constant_bytes, other.max_push_constant_bytes),
                signed_zero_inf_nan_preserve_bits=tuple(sorted(kept)),
                optional_aspects=tuple(sorted(set(first.optional_aspects) & set(other.optional_aspects))),
                debug_info=first.debug_info or other.debug_info,
                disabled_passes=tuple(sorted({*first.disabled_passes, *other.disabled_passes})),
                loop_iteration_cap=smallest_cap((first, other)),
                checks=most_checks((first, other)),
                **_met_flags(first, other),
            )
        return first


def _met_flags(first: TargetEnv, other: TargetEnv) -> dict[str, Any]:
    flags: dict[str, Any] = {n: getattr(first, n) or getattr(other, n) for n in NEEDED_BY_ANY}
    return flags | {n: getattr(first, n) and getattr(other, n) for n in WANTED_BY_ALL}


def smallest_cap(envs: Iterable[TargetEnv]) -> int | None:
    """Returns the fewest rounds after which a driver of `envs` ends loops; None where none does."""
    return min((env.loop_iteration_cap for env in envs if env.loop_iteration_cap is not None), default=None)


def most_checks(envs: Iterable[TargetEnv]) -> str:
    """Returns the one of `CHECKS` that includes what each of `envs` checks."""
    return max((env.checks for env in envs), key=CHECKS.index)
