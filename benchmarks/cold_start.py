"""Cold start: a fresh process to its first result, with and without caches, beside what nobody can avoid.

    python -m benchmarks.cold_start [--rounds N] [--save]

Every round starts one process of each kind, in turn, so that a busy machine slows all of them alike.  A process
prints the clock when its result is there; what counts is that minus the clock before the start, teardown excluded.
The floors are ``import numpy``, and that with the creation of a Vulkan instance and the listing of its devices.
Compare the ratios of one run, not milliseconds of two.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLOCK = "\nimport time; print(time.monotonic())\n"
"""CLOCK_MONOTONIC is one clock for all processes of a machine."""

SAXPY = """
import numpy as np, lapilli as lp

@lp.kernel
def saxpy(a: lp.f32, x: lp.Array[lp.f32], y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = a * x[i] + y[i]

x = lp.asarray(np.arange(1000, dtype=np.float32))
y = lp.zeros_like(x)
saxpy[x.size](2.0, x, y)
assert np.asarray(y)[3] == 6.0
"""

INSTANCE = """
import ctypes, numpy
vulkan = ctypes.CDLL("libvulkan.so.1")
instance, count = ctypes.c_void_p(), ctypes.c_uint32()
info = (ctypes.c_uint64 * 8)(1)  # VkInstanceCreateInfo: sType 1, no application info, layers or extensions
assert vulkan.vkCreateInstance(info, None, ctypes.byref(instance)) == 0
vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
devices = (ctypes.c_void_p * count.value)()
vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices)
"""

NO_CACHES = {
    "LAPILLI_CACHE": "0",
    "MESA_SHADER_CACHE_DISABLE": "true",  # lavapipe's own cache, by its name since Mesa 22.1
    "MESA_GLSL_CACHE_DISABLE": "true",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of process."""

    name: str
    program: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


CASES = (
    Case("python", "pass"),
    Case("import numpy", "import numpy"),
    Case("import numpy, lapilli", "import numpy, lapilli"),
    Case("numpy + lp.kernel, lp.Array", "import numpy, lapilli as lp; lp.kernel, lp.Array, lp.f32"),
    Case("numpy + raw instance", INSTANCE),
    Case("first saxpy, warm caches", SAXPY),
    Case("first saxpy, no cache", SAXPY, NO_CACHES),
)
FLOOR = "numpy + raw instance"


def milliseconds(case: Case, environment: Mapping[str, str], folder: Path) -> float:
    """Runs one process; returns the time from before its start to its result."""
    program = folder / f"{CASES.index(case)}.py"
    program.write_text(case.program + CLOCK)
    began = time.monotonic()
    done = subprocess.run(
        (sys.executable, str(program)),
        env={**environment, **case.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return (float(done.stdout.split()[-1]) - began) * 1e3


def measure(rounds: int) -> dict[str, list[float]]:
    """Returns the milliseconds of every case, after one round that fills the caches."""
    found: dict[str, list[float]] = {case.name: [] for case in CASES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"LAPILLI_CACHE": "1", "LAPILLI_CACHE_DIR": str(folder / "cache")}
        for number in range(rounds + 1):
            for case in CASES:
                elapsed = milliseconds(case, environment, folder)
                if number:
                    found[case.name].append(elapsed)
    return found


def table(found: Mapping[str, Sequence[float]]) -> str:
    """Returns the times as a Markdown table: smallest, median, and the median's ratio to both floors."""
    numpy, floor = (statistics.median(found[name]) for name in ("import numpy", FLOOR))
    lines = [
        "| process | min ms | median ms | ÷ import numpy | ÷ numpy + raw instance |",
        "|---|---|---|---|---|",
    ]
    for name, times in found.items():
        median = statistics.median(times)
        lines.append(
            f"| {name} | {min(times):.1f} | {median:.1f} | {median / numpy:.2f} | {median / floor:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description="Cold start against its floors.")
    parser.add_argument("--rounds", type=int, default=9, help="processes of each kind (default: 9)")
    parser.add_argument("--save", action="store_true", help="write the times into benchmarks/results")
    options = parser.parse_args()
    found = measure(options.rounds)
    print(table(found))
    if options.save:
        from .saved_times import save_times

        print(save_times("cold-start", "python -m benchmarks.cold_start", "ms", found))


if __name__ == "__main__":
    main()
