"""Faults of NVIDIA's driver: rows of the table in `quirks`, tried on an H200."""

from __future__ import annotations

from .constants import VK_DRIVER_ID_NVIDIA_PROPRIETARY
from .quirk import Quirk

UNROUNDED_HALVES = Quirk(
    name="unrounded-halves",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Takes an f32 that becomes f16 and f32 again for what it was: 2049 stays 2049 and 65535 is not infinite. "
    "Bit casts, signs, selections, packing and volatile memory between do not change that, nor do rounding modes.",
    field="skips_half_rounding",
    remedy="TargetEnv.skips_half_rounding: passes/convert_to_spirv/exact_conversions.py; in modules of other compilers "
    "spirv/rounded_halves.py.",
    test="tests/device/test_conversions.py",
)

EQUAL_TRUTHS = Quirk(
    name="equal-truths",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Ends the process (in libnvidia-glvkspirv) at an OpPhi of truth values in a loop's header where it finds out "
    "that they are one, from specialization constants for example.  Phis of numbers, and those behind branches, are "
    "fine.",
    field="fails_on_carried_truths",
    remedy="TargetEnv.fails_on_carried_truths: passes/convert_to_spirv/carried_truths.py; in modules of other "
    "compilers spirv/carried_phis.py.",
    test="tests/device/test_fuzz_findings.py",
    shown_by="",  # it would end the process
)

WIDENED_NEGATIONS = Quirk(
    name="widened-negations",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Negates behind the widening where a negation of 8 or 16 bits is widened, compared, divided or converted to "
    "a float: -(-128) is 128 then.  So is 0 - x, x * -1, ~x + 1 and what is negated and then narrowed, also where the "
    "driver has to find out the 0, the -1 or the 1.",
    field="widens_negations",
    remedy="TargetEnv.widens_negations: passes/convert_to_spirv/narrow_negations.py; in modules of other compilers "
    "spirv/narrow_negations.py.",
    test="tests/device/test_narrow_integers.py",
)

SHORT_EXTREMA = Quirk(
    name="short-extrema",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="max(x, c) == c and min(x, c) == c with a constant c are the opposite for integers of 16 bits.",
    field="misjudges_short_extrema",
    remedy="TargetEnv.misjudges_short_extrema: passes/convert_to_spirv/extrema_handlers.py; in modules of other "
    "compilers spirv/narrow_integers.py.",
    test="tests/device/test_narrow_integers.py",
)

LOW_BITS = Quirk(
    name="low-bits",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Where a kernel also divides numbers of 64 bits, integers or floats, or takes roots, truths about the low "
    "bits of 64-bit integers may be wrong: (x % 3 & 1) == 1, (x % 3) ** 2 % 4 == 1, x % 2 * 3 - 1 > 0, (x << 57) > 0, "
    "x * 2**57 > 0, x + x > 7, and (x << 50) >> 50 is too.  33 and 40 are among the amounts, 32, 48 and 56 are not.",
    field="misjudges_low_bits",
    remedy="TargetEnv.misjudges_low_bits: passes/convert_to_spirv/low_bits.py; in modules of other compilers "
    "spirv/low_bits.py.",
    test="tests/device/test_low_bits.py",
)

NEGATED_TRUTHS = Quirk(
    name="negated-truths",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Takes -float(x == y) for 0.0, not -0.0, where they differ, also where the float was chosen, kept or carried "
    "before.  Takes a choice of -0.0 and 1.0 inside another choice for one of 0.0 and 1.0.",
    field="loses_negated_truths",
    remedy="TargetEnv.loses_negated_truths: passes/convert_to_spirv/negated_truths.py and signed_zeros.py; in modules "
    "of other compilers spirv/negated_truths.py.",
    test="tests/device/test_low_bits.py",
    shown_by="",  # by `make fuzz` alone, among random expressions
)

ABSOLUTE_VALUES = Quirk(
    name="absolute-values",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Takes |x| of f32 for a number where it is compared with a constant: |NaN| >= -1.0 is true, and so is "
    "-|NaN| < 1.0.  Takes -0.0 for a number that is not negative: |0.5 if c else -0.0| is -0.0.",
    field="misjudges_absolutes",
    remedy="TargetEnv.misjudges_absolutes: passes/convert_to_spirv/absolute_values.py.  Modules of other compilers "
    "stay as they are: GLSL promises nothing about NaN.",
    test="tests/device/test_absolute_values.py",
)

LAST_ROUNDS = Quirk(
    name="last-rounds",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Leaves out the last round of `while k < 1` (or k <= 0) where k begins with -2 or less, in some kernels that "
    "also have loops behind loops in there and 64-bit integers made of floats.  It knows both numbers then.",
    field="loses_last_rounds",
    remedy="TargetEnv.loses_last_rounds: passes/convert_to_spirv/loop_ends.py; in modules of other compilers "
    "spirv/loop_ends.py.",
    test="tests/device/test_last_rounds.py",
)

SATURATED_MINIMA = Quirk(
    name="saturated-minima",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Makes a saturation of max(0, min(1, x)), also where comparisons and selections say so, which gives 0.0 for "
    "NaN; the minimum is 1.0.",
    field="saturates_minima",
    remedy="TargetEnv.saturates_minima: passes/convert_to_spirv/saturations.py.  Modules of other compilers stay as "
    "they are: GLSL promises nothing about NaN.",
    test="tests/device/test_saturated_minima.py",
)

NARROWED_CONVERSIONS = Quirk(
    name="narrowed-conversions",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Converts f32 to u32 where the low half of a u64 is all that is used: that of 2**32 is all ones, not 0.",
    field="narrows_conversions",
    remedy="TargetEnv.narrows_conversions: passes/convert_to_spirv/exact_conversions.py; in modules of other compilers "
    "spirv/wide_conversions.py.",
    test="tests/device/test_low_bits.py",
)

DIVIDED_ONES = Quirk(
    name="divided-ones",
    drivers=(VK_DRIVER_ID_NVIDIA_PROPRIETARY,),
    versions=None,  # tried: 580.159
    fault="Makes no pipeline (VK_ERROR_UNKNOWN) of `c > 255 // x`, and of 65535 // x of 16 bits, where c is one of two "
    "constants that a 64-bit quotient or a root chooses from.",
    field="fails_on_divided_ones",
    remedy="TargetEnv.fails_on_divided_ones: passes/convert_to_spirv/narrow_quotients.py; in modules of other "
    "compilers spirv/narrow_integers.py.",
    test="tests/device/test_low_bits.py",
)

NVIDIA_QUIRKS = (
    UNROUNDED_HALVES,
    EQUAL_TRUTHS,
    WIDENED_NEGATIONS,
    SHORT_EXTREMA,
    LOW_BITS,
    NEGATED_TRUTHS,
    ABSOLUTE_VALUES,
    LAST_ROUNDS,
    SATURATED_MINIMA,
    NARROWED_CONVERSIONS,
    DIVIDED_ONES,
)
