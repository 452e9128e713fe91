"""``make fuzz``: random kernels on every device and in the interpreter; mismatching programs are kept.

python -m tests.property.soak --seconds 300 --start 0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import lapilli as lp

from .constant_programs import ConstantProgram
from .differential import Mismatch, Program
from .edge_expressions import EdgeProgram
from .group_programs import check
from .lane_programs import INTEGERS, LaneProgram
from .launch_programs import LaunchProgram
from .link_programs import LinkProgram
from .report_programs import ReportProgram
from .shared_programs import SharedProgram
from .value_differential import ValueProgram
from .variants import Variant

KERNELS = 4
"""Kernels of one file."""


def main() -> int:
    """Runs until the time is up; returns 1 where something failed."""
    parser = argparse.ArgumentParser(description="random kernels on every device against Python")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--start", type=int, default=0, help="first seed; odd ones use every scalar type")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lapilli-fuzz-"))
    sys.path.append(str(folder))  # where linked modules find each other
    end, seed, runs, failures = time.monotonic() + options.seconds, options.start, 0, 0
    while time.monotonic() < end:
        ran, failed = _one(seed, folder)
        runs, failures, seed = runs + ran, failures + failed, seed + 1
    print(
        f"seeds {options.start} to {seed - 1}: {runs} runs of kernels, {failures} failures, files in {folder}"
    )
    return 1 if failures else 0


def _one(seed: int, folder: Path) -> tuple[int, int]:
    is_wide = seed % 2 == 1
    program = Program(seed, folder, wide=is_wide, kernels=KERNELS)
    devices = [None, *(d for d in lp.devices() if not is_wide or d.has(lp.Aspect.FP64))]
    """None is the interpreter."""
    failures = 0
    for device in devices:
        for number in range(KERNELS):
            try:
                program.check(
                    device, number, with_specs=(seed + number) % 2 == 0, aliased=(seed + number) % 4 == 0
                )
            except (Mismatch, lp.Error) as error:
                failures += 1
                print(f"seed {seed}: {type(error).__name__}: {error}")
    if not failures:
        program.path.unlink()
    variant = Variant(seed)
    is_able = variant.kind != "index" or is_wide
    for what, run in (
        ("work-groups", lambda: check(seed, devices[1:], program.types)),
        ("values", lambda: ValueProgram(seed, program.types).check(devices)),
        ("edges", lambda: EdgeProgram(seed, wide=is_wide).check(devices)),
        ("reports", lambda: _reports(seed, folder, devices, is_wide=is_wide)),
        ("shared memory", lambda: SharedProgram(seed, program.types, debug=seed % 8 == 3).check(devices)),
        ("sub-groups", lambda: LaneProgram(seed, INTEGERS if is_wide else INTEGERS[4:6]).check(devices)),
        ("constants", lambda: ConstantProgram(seed, program.types).check(devices)),
        ("launches", lambda: [LaunchProgram(seed).check(device) for device in devices[1:]]),
        ("linked functions", lambda: _linked(seed, folder, devices, is_wide=is_wide)),
        (f"work-groups, {variant}", lambda: is_able and _varied(seed, variant, devices[1:], program.types)),
    ):
        try:
            run()
        except ZeroDivisionError:
            pass  # of literals, which Python divides
        except (AssertionError, lp.Error) as error:
            failures += 1
            print(f"{what} of seed {seed}: {type(error).__name__}: {error}")
    return len(devices) * (KERNELS + 10), failures


def _reports(seed: int, folder: Path, devices: Sequence[lp.Device | None], *, is_wide: bool) -> None:
    program = ReportProgram(seed, folder, wide=is_wide, debug=seed % 4 > 1)
    for device in devices:
        program.check(device)
    program.path.unlink()


def _linked(seed: int, folder: Path, devices: Sequence[lp.Device | None], *, is_wide: bool) -> None:
    program = LinkProgram(seed, folder, wide=is_wide)
    for device in devices:
        for number in range(2):
            program.check(device, number, with_specs=(seed + number) % 2 == 0, aliased=seed % 4 == 0)
    program.close()


def _varied(seed: int, variant: Variant, devices: Sequence[lp.Device], types: tuple[str, ...]) -> None:
    with variant.active(devices):
        check(seed, devices, types, change=variant.text)
        ValueProgram(seed, types, change=variant.text).check(devices)


if __name__ == "__main__":
    raise SystemExit(main())
