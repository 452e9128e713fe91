"""``make fuzz-lpk``: bundle files from strangers, for as long as it is given, guided by the lines that they reach.

Each round takes a header from a pool, changes it, makes its checksums right again, sometimes changes code too, and
loads and inspects the file.  A header that reaches a line of the readers that none reached before joins the pool.  What
raises anything but an `lp.Error`, or takes longer than `SLOW_SECONDS`, is kept and named; drivers see what the checks
let through.

Findings so far, each with a test in `test_hostile_files.py`: an alignment that is no power of two raised CompileError
(now an error of the file like any other).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lapilli as lp
from lapilli.tools.file_contents import contents_of

from .conftest import Project
from .hostile import flipped, joined, mutated, split

SLOW_SECONDS = 10.0
FILES = (
    "lpk.py",
    "lpk_loading.py",
    "lpk_signatures.py",
    "image_codec.py",
    "image_checks.py",
    "code_checks.py",
)
MAX_POOL = 400


class Coverage:
    """Notes which lines of the readers have run."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        self.is_new = False

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        """A trace function, see `sys.settrace`."""
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and place not in self.seen:
            self.seen.add(place)
            self.is_new = True
        return self.trace


def attempt(path: Path, data: bytes, context: lp.Context) -> None:
    """Loads and shows a file; raises what is no error of ours."""
    path.write_bytes(data)
    for use in (
        lambda: lp.load_kernel_bundle(context, path, state=lp.BundleState.INPUT),
        lambda: lp.load_kernel_bundle(context, path),
        lambda: json.dumps(contents_of(path).as_json()),
    ):
        with suppress(lp.Error):
            use()


def main() -> int:
    """Runs for the time given; returns how many files were findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-lpk-"))
    Project(folder).build("-o", folder / "good.lpk", "--targets", ",".join(d.selector for d in lp.devices()))
    first, code = split((folder / "good.lpk").read_bytes())
    context, pool, coverage = lp.Context([lp.devices()[0]]), [first], Coverage()
    seed, findings, end = options.start, 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        pick = random.Random(seed)
        header = mutated(pick.choice(pool), pick)
        data = joined(json.loads(json.dumps(header)), code if pick.random() < 0.7 else flipped(code, pick))
        coverage.is_new, began = False, time.monotonic()
        sys.settrace(coverage.trace)
        try:
            attempt(folder / "file.lpk", data, context)
            problem = ""
        except Exception:
            problem = traceback.format_exc()
        finally:
            sys.settrace(None)
        if time.monotonic() - began > SLOW_SECONDS:
            problem = f"took {time.monotonic() - began:.1f} s"
        if problem:
            findings += 1
            kept = folder / f"finding-{seed}.lpk"
            kept.write_bytes(data)
            print(f"seed {seed}: {kept}\n{problem}", flush=True)
        if coverage.is_new and len(pool) < MAX_POOL:
            pool.append(header)
        seed += 1
    print(
        f"{seed - options.start} files, {len(coverage.seen)} lines, pool of {len(pool)}, {findings} findings"
    )
    return findings


if __name__ == "__main__":
    sys.exit(min(main(), 1))
