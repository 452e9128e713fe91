"""Ways to compile and launch a random kernel that must not change what it computes.

Passes switched off, other levels, remedies and strategies of other drivers, coarsening of any launch, addresses instead
of descriptors, arguments in memory instead of push constants, ids of 64 bits, emulated specialization constants.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import lapilli as lp
from lapilli.frontend.compile_options import overridden_options
from lapilli.ir.target_env import OPTIMISATION_PASSES, BindingModel, TargetEnv
from lapilli.vk_runtime.coarsening import COARSENING, Coarsening

REMEDIES = (
    "clamps_atomics",
    "divides_rounds",
    "fails_on_carried_truths",
    "fails_on_divided_ones",
    "folds_wide_orders",
    "folds_zeros",
    "loses_last_rounds",
    "loses_negated_truths",
    "misjudges_low_bits",
    "misjudges_short_extrema",
    "misrounds_doubles",
    "narrows_conversions",
    "misjudges_absolutes",
    "rounds_conversions_twice",
    "saturates_minima",
    "skips_exact_halves",
    "skips_half_rounding",
    "widens_negations",
)
"""Fields of `TargetEnv` that may be set on any device: what is done for one driver is right on all."""
STRATEGIES = (
    "masks_indices",
    "packs_tables",
    "pairs_atomics",
    "pairs_rounds",
    "rotates_barriers",
    "runs_all_branches",
    "splits_branches",
    "tables_are_uniform",
    "unrolls_barriers",
    "unrolls_short",
)
"""Fields that may be set or not."""
KINDS = ("passes", "flags", "coarse", "addresses", "words", "emulated", "index", "level")


class Variant:
    """One such way, drawn from a seed.

    Args:
        seed: the same gives the same.
        kind: one of `KINDS`; None: any.
    """

    def __init__(self, seed: int, kind: str | None = None) -> None:
        pick = random.Random(seed)
        self.kind = kind or pick.choice(KINDS)
        self._level = pick.choice((0, 1, 2, 3))
        passes = pick.sample(OPTIMISATION_PASSES, pick.choice((1, 1, 1, 2, 5, len(OPTIMISATION_PASSES))))
        self._passes = tuple(sorted(passes))
        self._flags = {name: pick.random() < 0.5 for name in (*REMEDIES, *STRATEGIES)}
        self._cap = pick.choice((None, 65535, 1 << 20))
        self._vulkan = pick.choice(((1, 1), (1, 2), (1, 3)))
        self._splits = pick.random() < 0.5

    def __str__(self) -> str:
        detail = {
            "passes": self._passes,
            "flags": [n for n, on in self._flags.items() if on],
            "level": self._level,
        }
        return f"{self.kind} {detail.get(self.kind, '')}".rstrip()

    def text(self, source: str) -> str:
        """Returns the kernels' source with the options that stand in it."""
        if self.kind == "index":
            return source.replace("@lp.kernel(", "@lp.kernel(index=lp.i64, ")
        if self.kind == "level":
            return re.sub(r"opt_level=\d", f"opt_level={min(self._level, 2)}", source)
        return source

    @contextmanager
    def active(self, devices: Sequence[lp.Device | None]) -> Iterator[None]:
        """Has kernels compiled so that are launched on the devices inside of the block."""
        with ExitStack() as stack:
            if self.kind == "passes":
                stack.enter_context(overridden_options(disabled_passes=self._passes))
            elif self.kind == "emulated":
                stack.enter_context(overridden_options(spec_constants="emulated"))
            for device in devices:
                if device is not None:
                    self._enter(stack, device)
            yield

    def _enter(self, stack: ExitStack, device: lp.Device) -> None:
        if self.kind == "coarse":
            choice = Coarsening(
                lanes=4, least_with_loops=1, least_without_loops=1, splits_branches=self._splits
            )
            stack.enter_context(patch.dict(COARSENING, {device.physical.driver_id: choice}))
        changed = self.environment(device.target_env)
        if changed != device.target_env:
            stack.enter_context(patch.dict(vars(device), {"target_env": changed}))

    def environment(self, env: TargetEnv) -> TargetEnv:
        """Returns a device's environment, changed."""
        if self.kind == "flags":
            flags = {n: on or (n in REMEDIES and getattr(env, n)) for n, on in self._flags.items()}
            cap = self._cap if env.loop_iteration_cap is None else env.loop_iteration_cap
            version = min(self._vulkan, env.vulkan_version)
            return replace(env, **flags, loop_iteration_cap=cap, vulkan_version=version)
        if self.kind == "words":
            return replace(env, max_push_constant_bytes=0)
        if self.kind == "addresses":
            return replace(env, binding_model=BindingModel.ADDRESS)
        return env
