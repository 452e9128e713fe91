"""The random programs of one seed, part by part, in a process of their own: a driver may end it.

python -m tests.property.parts 1744080                       all parts of a seed
python -m tests.property.parts 1744080 values --keep k.py    one, and the text of its kernel
python -m tests.property.parts 1744080 values --text k.py    the same with another text, see `reduce`

Each part's name is printed before it runs, and its failures behind it.  The exit status is 1 where something is
wrong, and 3 where the given text is no program.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import lapilli as lp

from .constant_programs import ConstantProgram
from .differential import Program
from .edge_expressions import EdgeProgram
from .group_programs import GroupGenerator, check
from .lane_programs import INTEGERS, LaneProgram
from .launch_programs import LaunchProgram
from .link_programs import LinkProgram
from .programs import COMMON, WIDE
from .report_programs import ReportProgram
from .shared_programs import SharedProgram
from .spirv_programs import SpirvProgram
from .upstream_programs import UpstreamProgram
from .value_differential import ValueProgram
from .value_programs import ValueGenerator
from .variants import Variant

KERNELS = 4
"""Kernels of one file."""
WITH_TEXT = (*(f"k{number}" for number in range(KERNELS)), "groups", "values", "reports")
"""Parts whose kernel is executed as Python, too, so that any text can be given."""
NO_PROGRAM = 3

Devices = Sequence[lp.Device | None]
"""None is the interpreter."""


def devices_of(seed: int) -> Devices:
    """Returns where the programs of a seed run; odd seeds use every scalar type."""
    return [None, *(d for d in lp.devices() if seed % 2 == 0 or d.has(lp.Aspect.FP64))]


def parts(seed: int, folder: Path, devices: Devices) -> dict[str, Callable[[], object]]:
    """Returns what runs each part of a seed, and raises AssertionError or `lp.Error` where it fails.

    Args:
        seed: whose programs.
        folder: where their files go; those that fail stay.
        devices: see `devices_of`.
    """
    is_wide = seed % 2 == 1
    types, there = COMMON + WIDE if is_wide else COMMON, [d for d in devices if d is not None]
    found: dict[str, Callable[[], object]] = {
        f"k{number}": partial(_kernel, seed, number, folder, devices) for number in range(KERNELS)
    }
    found |= {
        "groups": lambda: check(seed, there, types),
        "values": lambda: ValueProgram(seed, types).check(devices),
        "edges": lambda: EdgeProgram(seed, wide=is_wide).check(devices),
        "reports": partial(_reports, seed, folder, devices),
        "shared": lambda: SharedProgram(seed, types, debug=seed % 8 == 3).check(devices),
        "lanes": lambda: LaneProgram(seed, INTEGERS if is_wide else INTEGERS[4:6]).check(devices),
        "constants": lambda: ConstantProgram(seed, types).check(devices),
        "launches": lambda: [LaunchProgram(seed).check(device) for device in there],
        "upstream": lambda: UpstreamProgram(seed, wide=is_wide).check(devices),
        "spirv": lambda: SpirvProgram(seed, wide=is_wide).check(devices),
        "links": partial(_linked, seed, folder, devices),
    }
    variant = Variant(seed)
    if variant.kind != "index" or is_wide:
        found[f"varied: {variant}"] = partial(_varied, seed, variant, there, types)
    return found


def _kernel(seed: int, number: int, folder: Path, devices: Devices) -> None:
    program = Program(seed, folder, wide=seed % 2 == 1, kernels=KERNELS)
    for device in devices:
        program.check(device, number, with_specs=(seed + number) % 2 == 0, aliased=(seed + number) % 4 == 0)
    program.path.unlink()


def _reports(seed: int, folder: Path, devices: Devices) -> None:
    program = ReportProgram(seed, folder, wide=seed % 2 == 1, debug=seed % 4 > 1)
    for device in devices:
        program.check(device)
    program.path.unlink()


def _linked(seed: int, folder: Path, devices: Devices) -> None:
    program = LinkProgram(seed, folder, wide=seed % 2 == 1)
    for device in devices:
        for number in range(2):
            program.check(device, number, with_specs=(seed + number) % 2 == 0, aliased=seed % 4 == 0)
    program.close()


def _varied(seed: int, variant: Variant, devices: Sequence[lp.Device], types: tuple[str, ...]) -> None:
    with variant.active(devices):
        check(seed, devices, types, change=variant.text)
        ValueProgram(seed, types, change=variant.text).check(devices)


@contextmanager
def changed_texts(change: Callable[[str], str]) -> Iterator[None]:
    """Changes the texts that generators write, for Python as for the compiler."""
    load = Program.load

    def loaded(program, text, name, folder):
        load(program, change(text), name, folder)

    with ExitStack() as stack:
        stack.enter_context(patch.object(Program, "load", loaded))
        for generator in (ValueGenerator, GroupGenerator):
            stack.enter_context(patch.object(generator, "text", _changed(generator.text, change)))
        yield


def _changed(text, change):
    def changed(generator, **options):
        return change(text(generator, **options))

    return changed


def run(seed: int, folder: Path, *, only: str | None = None) -> int:
    """Runs the parts of a seed, prints failures, and returns how many there were."""
    sys.path.append(str(folder))  # where linked modules find each other
    failures, found = 0, parts(seed, folder, devices_of(seed))
    if only is not None and only not in found:
        raise SystemExit(f"seed {seed} has no part {only!r}; it has {', '.join(found)}")
    for name, part in found.items():
        if only not in (None, name):
            continue
        print(f"{seed} {name}", flush=True)
        try:
            part()
        except ZeroDivisionError:
            pass  # of literals, which Python divides
        except (AssertionError, lp.Error) as error:
            failures += 1
            print(f"{name} of seed {seed}: {type(error).__name__}: {error}", flush=True)
    return failures


def _given_text(seed: int, part: str, text: str, folder: Path) -> int:
    """Whether a text in the place of a part's own is right (0), wrong (1) or no program."""
    try:
        with changed_texts(lambda _: text):
            parts(seed, folder, devices_of(seed)[1:])[part]()
    except AssertionError as error:
        print(error)
        return 1
    except Exception as error:  # as Python runs it, anything
        print(f"{type(error).__name__}: {error}")
        return NO_PROGRAM
    return 0


def main() -> int:
    """Runs one seed."""
    parser = argparse.ArgumentParser(description="the random programs of one seed")
    parser.add_argument("seed", type=int)
    parser.add_argument("part", nargs="?")
    parser.add_argument(
        "--text", type=Path, help=f"what to compile and execute instead; for {', '.join(WITH_TEXT)}"
    )
    parser.add_argument("--keep", type=Path, help="where to write the text")
    parser.add_argument("--folder", type=Path, help="for files of programs; one of its own")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="lapilli-fuzz-"))
    if options.text is not None:
        return _given_text(options.seed, options.part, options.text.read_text(), folder)

    def kept(text: str) -> str:
        if options.keep is not None:
            options.keep.write_text(text)
        return text

    with changed_texts(kept):
        return min(run(options.seed, folder, only=options.part), 1)


if __name__ == "__main__":
    raise SystemExit(main())
