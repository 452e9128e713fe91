"""Faults of drivers that a launch asks for, and what the compiler may know of a device.

These are rows of `quirk_table`, where all faults are.  They reach the compiler through a field of `TargetEnv`, which is
part of every cache key, and never by the driver's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..ir.target_env import OPTIONAL_ASPECTS, TargetEnv
from .constants import (
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_DRIVER_ID_NVIDIA_PROPRIETARY,
)
from .nvidia_quirks import NVIDIA_QUIRKS
from .quirk import Quirk, Version

if TYPE_CHECKING:
    from ..ir.aspects import Aspect
    from .physical_device import PhysicalDevice

PARTIAL_SUB_GROUPS = Quirk(
    name="partial-sub-groups",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=((22, 3), (22, 4)),
    mended_in=(24, 0),  # tried: 24.0.5, 25.0.7 and 26.2.6
    fault="Leaves a partial sub-group out of NumSubgroups, and starts a sub-group at every row of a work-group.",
    remedy="Counted from the sizes: frontend/sub_groups.py; group functions go by sub-groups in one dimension "
    "only: frontend/group_functions.py.  TargetEnv.miscounts_sub_groups: in modules of other compilers "
    "spirv/counted_sub_groups.py.",
    test="tests/device/test_groups.py",
)

LOOP_CAP = Quirk(
    name="loop-cap",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=((22, 3), (24, 1)),  # tried: 22.3.6 and 24.0.5
    mended_in=(25, 0),  # tried: 25.0.7 and 26.2.6
    fault="Ends every loop of a sub-group once its loops have run 65,535 rounds in total "
    "(LP_MAX_TGSI_LOOP_ITERATIONS), nested and consecutive ones added up, and goes on behind it as if nothing were.",
    remedy="TargetEnv.loop_iteration_cap: passes/limit_loops.py unrolls, counts rounds, and traps; of foreign "
    "and linked kernels spirv/count_rounds.py.  Other versions of the driver are tried with `loop_probe`.",
    test="tests/device/test_long_loops.py",
    shown_by="tests/vk_runtime/test_quirks.py",
)

WILD_ATOMICS = Quirk(
    name="wild-atomics",
    drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
    versions=None,
    fault="robustBufferAccess does not hold for atomic operations that change memory: an index out of range changes "
    "what lies around the buffer, or ends the process.",
    remedy="TargetEnv.clamps_atomics: passes/convert_to_spirv/array_parameter.py; in modules of other compilers "
    "spirv/clamp_atomics.py.",
    test="tests/device/test_atomics.py",
    shown_by="",  # it would end the process
)

BLENDED_ONES = Quirk(
    name="blended-ones",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=None,  # tried: LLVM 15 of Mesa 22.3.6, with AVX2 and without AVX-512, where alone it has the fault
    fault="LLVM ends the process (Cannot select: X86ISD::BLENDV) at `c > 255 // x` of 8 bits where a condition of 64 "
    "bits chooses c from two constants.",
    field="fails_on_divided_ones",
    remedy="TargetEnv.fails_on_divided_ones: passes/convert_to_spirv/narrow_quotients.py; in modules of other "
    "compilers spirv/narrow_integers.py.",
    test="tests/device/test_low_bits.py",
    shown_by="",  # it would end the process
)

DIVIDED_ROUNDS = Quirk(
    name="divided-rounds",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=None,  # tried: Mesa 22.3.6
    fault="Divides the distance of a loop's start and end by its step, where it knows all three, which ends the "
    "process for -2**31 and -1: `while k > -2**31: k -= 1` from 0 on.  A loop that tests behind its round, and whose "
    "counter would not pass the test before, has one round: `uint k = 0; do k--; while (k > 0);`, of floats too.",
    field="divides_rounds",
    remedy="TargetEnv.divides_rounds: passes/convert_to_spirv/loop_ends.py; in modules of other compilers "
    "spirv/divided_rounds.py.",
    test="tests/device/test_divided_rounds.py",
)

LOST_RETURNS = Quirk(
    name="lost-returns",
    drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
    versions=None,
    fault="Makes one return of all returns of a function (merge-return of spirv-opt, which it contains), and branches "
    "into the loop where the merge block of what is returned from is the header of the next: work-items that have "
    "returned go on.",
    field="loses_returns",
    remedy="TargetEnv.loses_returns: modules of other compilers get headers of their own for such loops, "
    "spirv/own_headers.py; ours have them.",
    test="tests/sources/test_own_headers.py",
    shown_by="",  # it would not end
)

EXACT_HALVES = Quirk(
    name="exact-halves",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE, VK_DRIVER_ID_NVIDIA_PROPRIETARY),
    versions=None,  # tried: Mesa 22.3.6 with LLVM 15, and NVIDIA 580.159
    fault="Takes an integer of which at most 11 bits may be set, and which becomes f16 and f32, for what it was: "
    "f32(f16(x << 60)) of 64 bits is 2**60 for 1, and not infinite, and so is (x & 255) << 12 of 32 bits; on NVIDIA's "
    "driver in large kernels alone.  LLVM's isKnownExactCastIntToFP forgets how large an f16 may be.",
    field="skips_exact_halves",
    remedy="TargetEnv.skips_exact_halves: passes/convert_to_spirv/exact_conversions.py; in modules of other compilers "
    "spirv/exact_halves.py.",
    test="tests/device/test_conversions.py",
)

_ROUNDED_ONCE = "TargetEnv.rounds_conversions_twice: passes/convert_to_spirv/exact_conversions.py."
ROUNDED_TWICE = (
    Quirk(
        name="unsigned-to-float",
        drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
        versions=None,
        fault="Converts u32 from 2**31 on to f32 by way of a rounded number: one in ten is the other neighbour.",
        remedy=_ROUNDED_ONCE,
        test="tests/device/test_conversions.py",
    ),
    Quirk(
        name="double-to-half",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="Converts f64 to f16 by way of f32: 1024.5000000000002 becomes 1024, not 1025.",
        remedy=_ROUNDED_ONCE,
        test="tests/device/test_conversions.py",
    ),
)
"""Conversions that are not rounded correctly."""

ROUNDED_DOUBLES = Quirk(
    name="rounded-doubles",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=((22, 3), (22, 4)),  # LLVM 15 on processors without AVX-512, whose own instruction is right
    fault="Truncates f64 from 2**24 on to themselves, and takes RoundEven of an f64 for nothing at all.",
    remedy="TargetEnv.misrounds_doubles: passes/convert_to_spirv/double_rounding.py, by way of floor and ceil; in "
    "modules of other compilers spirv/whole_doubles.py.",
    test="tests/device/test_whole_doubles.py",
)

CARRIED_ADDRESSES = Quirk(
    name="carried-addresses",
    drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
    versions=None,
    fault="Ends the process at an OpPhi of pointers into physical storage in a loop's header, also at one that it has "
    "made of a variable, and where structs or arrays that hold such pointers are loaded, stored or copied as a whole; "
    "loads other pointers from memory of work-items and work-groups with a computed index than were stored.",
    remedy="TargetEnv.fails_on_carried_addresses: such addresses are kept as words in modules of other compilers, "
    "spirv/carried_phis.py and spirv/address_words.py, and such values moved in parts, spirv/split_composites.py; "
    "kernels in Python carry none.",
    test="tests/sources/test_carried_addresses.py",
    shown_by="",  # it would end the process
)

_LOST_READS = (
    "What a loop reads, by atomic operations too, is 0 behind it for work-items that leave it before others of their "
    "sub-group do, unless the loop carries it from round to round."
)
_CARRIED = (
    "What tests read is carried, for every driver: passes/carry_results.py; compare-exchange loops give what they "
    "carry: passes/convert_to_spirv/atomic_place.py.  Our loops are left by their headers alone, before anything is of "
    "the next round.  TargetEnv.loses_reads: modules of other compilers keep what their loops compute in memory of its "
    "own, spirv/carry_values.py."
)

LOST_READS = (
    Quirk(
        name="lost-reads",
        drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
        versions=None,
        fault=_LOST_READS,
        remedy=_CARRIED,
        test="tests/device/test_loop_exits.py",
    ),
    Quirk(
        name="lost-reads-of-llvmpipe",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault=_LOST_READS,
        remedy=_CARRIED,
        test="tests/device/test_loop_exits.py",
    ),
    Quirk(
        name="recomputed-values",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="What a loop computes and does not carry is computed again for work-items that have left it, of what the "
        "loop carries: of values of the next round already, where those were computed before the loop was left.",
        remedy=_CARRIED,
        test="tests/sources/test_lost_reads.py",
    ),
)
"""What loops read or compute, and work-items that have left them lose."""


def driver_version(text: str) -> Version:
    """Returns the version in a driver's own words: (22, 3, 6) of ``Mesa 22.3.6 (LLVM 15.0.6)``; () without one."""
    found = re.search(r"\d+(\.\d+)+", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def has_quirk(quirk: Quirk, driver_id: int, version: Version) -> bool | None:
    """Returns whether a driver has a fault; None where its version is known neither to have it nor not to."""
    if driver_id not in quirk.drivers:
        return False
    if quirk.versions is None:
        return True
    first, unknown = quirk.versions
    if first <= version < unknown:
        return True
    return False if quirk.mended_in is not None and version >= quirk.mended_in else None


def loses_reads(physical: PhysicalDevice) -> bool:
    """Whether a driver loses what loops have read or computed, or is a version of its that nobody has tried."""
    version = driver_version(physical.driver_info)
    return any(has_quirk(fault, physical.driver_id, version) is not False for fault in LOST_READS)


def miscounts_sub_groups(physical: PhysicalDevice) -> bool:
    """Whether a driver counts partial sub-groups wrongly, or is a version of its that nobody has tried."""
    version = driver_version(physical.driver_info)
    return has_quirk(PARTIAL_SUB_GROUPS, physical.driver_id, version) is not False


def loop_iteration_cap(physical: PhysicalDevice, probe: Callable[[], int | None]) -> int | None:
    """Returns after how many rounds a device ends loops, None where it does not.

    Args:
        physical: the device.
        probe: finds it out by running a kernel, for versions that nobody has tried.
    """
    known = has_quirk(LOOP_CAP, physical.driver_id, driver_version(physical.driver_info))
    if known is None:
        return probe()
    return 65_535 if known else None


def compiler_environment(
    physical: PhysicalDevice, aspects: frozenset[Aspect], loop_cap: int | None
) -> TargetEnv:
    """Returns what the compiler may know of a device: its limits, and which faults and habits its driver has.

    Args:
        physical: what the driver said.
        aspects: what the device has, masked ones left out.
        loop_cap: what `loop_iteration_cap` returns.
    """
    is_swiftshader = physical.driver_id == VK_DRIVER_ID_GOOGLE_SWIFTSHADER
    is_lavapipe = physical.driver_id == VK_DRIVER_ID_MESA_LLVMPIPE
    remedies = dict[str, Any]()
    for quirk in (*NVIDIA_QUIRKS, BLENDED_ONES, DIVIDED_ROUNDS, LOST_RETURNS, EXACT_HALVES):
        remedies[quirk.field] = remedies.get(quirk.field) or physical.driver_id in quirk.drivers
    return TargetEnv(
        vulkan_version=physical.api_version,
        max_push_constant_bytes=min(physical.limits.max_push_constant_bytes, 256),
        signed_zero_inf_nan_preserve_bits=physical.signed_zero_inf_nan_preserve_bits,
        optional_aspects=tuple(sorted(int(a) for a in OPTIONAL_ASPECTS & aspects)),
        loop_iteration_cap=loop_cap,
        loses_reads=loses_reads(physical),
        miscounts_sub_groups=miscounts_sub_groups(physical),
        clamps_atomics=physical.driver_id in WILD_ATOMICS.drivers,
        rounds_conversions_twice=any(physical.driver_id in q.drivers for q in ROUNDED_TWICE),
        misrounds_doubles=physical.driver_id in ROUNDED_DOUBLES.drivers,
        folds_zeros=is_lavapipe,
        **remedies,
        folds_wide_orders=is_lavapipe,  # versions that nobody has tried lose nothing by it
        fails_on_carried_addresses=physical.driver_id in CARRIED_ADDRESSES.drivers,
        pairs_rounds=is_swiftshader or is_lavapipe,
        pairs_atomics=is_swiftshader,
        masks_indices=is_swiftshader,
        selects_extrema=is_swiftshader,
        rotates_barriers=is_swiftshader,
        unrolls_short=is_swiftshader,
        unrolls_barriers=is_lavapipe,
        runs_all_branches=is_swiftshader or is_lavapipe,
        packs_tables=is_swiftshader or is_lavapipe,
        tables_are_uniform=is_lavapipe,
    )
