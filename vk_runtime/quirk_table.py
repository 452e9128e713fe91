"""Faults of drivers: what is wrong, in which versions, what we do about it, and the test that shows it.

The table is the one place where faults are described.  The rows that a launch asks for are in `quirks` and
`nvidia_quirks`; the others are here, so that no launch loads them: of work-arounds that the compiler always uses,
because they cost nothing, or for every version of a driver.
"""

from __future__ import annotations

from .constants import (
    VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
    VK_DRIVER_ID_MESA_LLVMPIPE,
    VK_DRIVER_ID_NVIDIA_PROPRIETARY,
)
from .nvidia_quirks import NVIDIA_QUIRKS
from .quirk import Quirk
from .quirks import (
    BLENDED_ONES,
    CARRIED_ADDRESSES,
    DIVIDED_ROUNDS,
    EXACT_HALVES,
    LOOP_CAP,
    LOST_READS,
    LOST_RETURNS,
    PARTIAL_SUB_GROUPS,
    ROUNDED_DOUBLES,
    ROUNDED_TWICE,
    WILD_ATOMICS,
)

IDLE_LANES = Quirk(
    name="idle-lanes",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=((22, 3), (22, 4)),
    fault="Runs loops on for lanes without a work-item, where a row of a work-group does not fill a sub-group; what "
    "work-items leave by what they have stored such lanes never leave, and use up the rounds of loop-cap.",
    remedy="Kernels that count rounds run on lanes with a work-item alone: passes/convert_to_spirv/idle_lanes.py; of "
    "foreign and linked kernels spirv/count_epilogue.py.",
    test="tests/device/test_idle_lanes.py",
)

BRANCH_DEPTH = Quirk(
    name="branch-depth",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=None,
    fault="Runs both sides of branches that are nested more than 80 deep (LP_MAX_TGSI_NESTING); 25.0 ends the process.",
    remedy="BuildError from 64 on: passes/convert_to_spirv/control_flow_handlers.py for every driver, and for modules "
    "of other compilers frontend/spirv_source.py.",
    test="tests/device/test_fuzz_findings.py",
)

WIDE_ORDERS = Quirk(
    name="wide-orders",
    drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
    versions=((22, 3), (22, 4)),
    fault="Takes the order of an i32 that is widened to 64 bits and a constant for false, whatever the i32 is.",
    remedy="Kernels in Python compare 32 bits where the constant is known, for every driver: passes/convert_to_spirv/"
    "compare_handlers.py.  TargetEnv.folds_wide_orders: other orders are those of unsigned numbers there; in "
    "modules of other compilers the constant is hidden, spirv/wide_orders.py.",
    test="tests/device/test_wide_orders.py",
)

QUIRKS: tuple[Quirk, ...] = (
    LOOP_CAP,
    IDLE_LANES,
    WILD_ATOMICS,
    BRANCH_DEPTH,
    BLENDED_ONES,
    DIVIDED_ROUNDS,
    LOST_RETURNS,
    EXACT_HALVES,
    *ROUNDED_TWICE,
    ROUNDED_DOUBLES,
    CARRIED_ADDRESSES,
    *NVIDIA_QUIRKS,
    WIDE_ORDERS,
    *LOST_READS,
    Quirk(
        name="copied-names",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="Makes no pipeline of a module whose OpCopyLogical copies between structs of different names.",
        remedy="Such structs have none, for every driver: spirv/foreign_module.py.",
        test="tests/sources/test_hlsl.py",
        shown_by="",  # no result is wrong
    ),
    Quirk(
        name="carried-vectors",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="Goes on with the vectors that phis of a loop's header hold, also inside of composites, for work-items "
        "that have left it: x ^= 2 * x + 1 on two components.  Scalars in phis are right.",
        remedy="The compiler's own loops carry scalars; in modules of other compilers the phis are divided: "
        "spirv/carry_values.py.",
        test="tests/sources/test_lost_reads.py",
        shown_by="tests/sources/test_lost_reads.py",
    ),
    Quirk(
        name="zero-operands",
        drivers=(
            VK_DRIVER_ID_MESA_LLVMPIPE,
            VK_DRIVER_ID_GOOGLE_SWIFTSHADER,
            VK_DRIVER_ID_NVIDIA_PROPRIETARY,
        ),
        versions=None,
        fault="Take 0.0 * x and 0.0 / x for 0.0 where the 0.0 is a constant, also where x is NaN or infinite "
        "(lp_build_mul, lp_build_div; spirv-opt, which SwiftShader contains); llvmpipe takes x / 0.0 for undefined and "
        "-0.0 + 0.0 for -0.0, also where it finds the zero out: specialization constants, n - n, loops that it writes "
        "out, what was just stored.",
        remedy="Literals are written in another way for every driver: passes/convert_to_spirv/zero_operands.py.  "
        "TargetEnv.folds_zeros: what llvmpipe may find out is hidden: passes/convert_to_spirv/known_zeros.py.",
        test="tests/device/test_fuzz_findings.py",
    ),
    Quirk(
        name="taken-for-numbers",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="Takes a product for a number where one factor is finite and may be zero and the other may be infinite "
        "(nir_range_analysis.c): max(2.0, 0.0 * inf) is NaN.  Takes -0.0 for positive, and leaves |x| out.",
        remedy="TargetEnv.folds_zeros: the finite factor is hidden and |x| made of bits: "
        "passes/convert_to_spirv/taken_for_numbers.py.",
        test="tests/device/test_hidden_zeros.py",
        shown_by="tests/device/test_hidden_zeros.py",
    ),
    Quirk(
        name="zeros-of-truths",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        fault="Takes 1.0 if c else -0.0 for float(c), -1.0 if c else 0.0 for -float(c) and float(c) - 1.0 for "
        "-float(not c): zeros of the other sign (nir_opt_algebraic).",
        remedy="TargetEnv.folds_zeros: the constant is hidden: passes/convert_to_spirv/signed_zeros.py.",
        test="tests/device/test_hidden_zeros.py",
        shown_by="tests/device/test_hidden_zeros.py",
    ),
    Quirk(
        name="unsigned-extrema",
        drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER,),
        versions=None,
        fault="Folds SMin, SMax, UMin, UMax, SClamp, UClamp, ConvertSToF and ConvertUToF of constants by the sign of "
        "their integer type (spirv-opt, which it contains): -1 is more than 0 where the type has none.",
        remedy="Compared and selected where both operands may be constants for the driver: "
        "passes/convert_to_spirv/integer_extrema.py; in modules of other compilers, operands are given the operation's "
        "sign for every driver: spirv/matched_signs.py.",
        test="tests/device/test_fuzz_findings.py",
    ),
    Quirk(
        name="carried-positions",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((22, 3), (22, 4)),
        mended_in=(24, 0),  # tried: 24.0.5, 25.0.7 and 26.2.6
        fault="Reads a private array at what a loop carries as that is in the next round, where the next round's "
        "value is computed before: p[k] += p[k - 1] with k - 1 as the next k.",
        remedy="The position is made another value for every driver: passes/convert_to_spirv/local_array.py; in "
        "modules of other compilers, where TargetEnv.loses_reads: spirv/own_positions.py.",
        test="tests/device/test_local_arrays.py",
    ),
    PARTIAL_SUB_GROUPS,
    Quirk(
        name="aliased-read-only",
        drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_NVIDIA_PROPRIETARY),
        versions=None,
        fault="Merges loads of a NonWritable variable whether or not it is Aliased (spirv-opt, which it contains).",
        remedy="Aliased stands alone: passes/convert_to_spirv/array_parameter.py.",
        test="tests/device/test_fuzz_findings.py",
    ),
    Quirk(
        name="short-cache-size",
        drivers=(VK_DRIVER_ID_MESA_LLVMPIPE,),
        versions=((26, 2), (26, 3)),
        fault="vkGetPipelineCacheData writes the 32 bytes of a header and says that they are 20.",
        remedy="A header is taken whole, from any driver: vk_runtime/pipeline_cache.py.",
        test="tests/cache/test_pipeline_cache.py",
        shown_by="tests/cache/test_pipeline_cache.py",
    ),
    Quirk(
        name="specialization-unchecked",
        drivers=(VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_DRIVER_ID_MESA_LLVMPIPE),
        versions=None,
        fault="Lengths of 0, entries of the wrong size and local sizes over the limit end the process or are ignored.",
        remedy="Checked before the driver sees them: vk_runtime/specialization.py, array_sizes.py, launch_plan.py.",
        test="tests/device/test_local_arrays.py",
        shown_by="",  # it would end the process
    ),
)
"""Every fault known."""
