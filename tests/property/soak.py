"""``make fuzz``: random kernels on every device and in the interpreter; mismatching programs are kept.

python -m tests.property.soak --seconds 300 --start 0 --jobs 1

Each seed runs in a process of its own (`parts`), so that a driver which ends it costs no more than the seed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMAND = (sys.executable, "-m", "tests.property.parts")
SEED_SECONDS = 600.0
"""A seed that takes longer hangs."""


def main() -> int:
    """Runs until the time is up; returns 1 where something failed."""
    parser = argparse.ArgumentParser(description="random kernels on every device against Python")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--start", type=int, default=0, help="first seed; odd ones use every scalar type")
    parser.add_argument("--jobs", type=int, default=1, help="seeds that run at once")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="lapilli-fuzz-"))
    end, seed, failures = time.monotonic() + options.seconds, options.start, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        while time.monotonic() < end:
            seeds = range(seed, seed + options.jobs)
            failures += sum(pool.map(lambda each: failed(each, folder), seeds))
            seed = seeds.stop
    print(f"seeds {options.start} to {seed - 1}: {failures} failures, files in {folder}")
    return 1 if failures else 0


def failed(seed: int, folder: Path, seconds: float = SEED_SECONDS) -> int:
    """Runs a seed in a process of its own, prints what failed, and returns whether anything did."""
    command = [*COMMAND, str(seed), "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
            print(f"{last_part(said, seed)}: still running after {seconds:.0f} s", flush=True)
            return 1
    if process.returncode == 0:
        return 0
    for line in said.splitlines():
        if not _is_progress(line, seed):
            print(line, flush=True)
    if process.returncode != 1:
        print(f"{last_part(said, seed)}: the process ended with {process.returncode}", flush=True)
    return 1


def last_part(said: str, seed: int) -> str:
    """Returns the part that began last, in what the process of a seed has printed."""
    begun = [line for line in said.splitlines() if _is_progress(line, seed)]
    return begun[-1] if begun else f"{seed}, at its start"


def _is_progress(line: str, seed: int) -> bool:
    return line.startswith(f"{seed} ")


if __name__ == "__main__":
    raise SystemExit(main())
