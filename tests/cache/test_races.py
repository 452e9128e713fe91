"""Eight processes write, read, prune and clear one cache, and some of them are killed meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from lapilli.vk_runtime.disk_cache import SCAN_AFTER_BYTES, DiskCache

WRITER = """
import random, sys, time
from pathlib import Path
from lapilli.vk_runtime.disk_cache import DiskCache
cache, seed = DiskCache(Path(sys.argv[1]), 200_000), int(sys.argv[2])
chooser, end = random.Random(seed), time.monotonic() + float(sys.argv[3])
print("ready", flush=True)
while time.monotonic() < end:
    name = str(chooser.randrange(20))
    found = cache.load(name)
    if found is not None and (len(found) < 4 or found != found[:4] * (len(found) // 4)):
        sys.exit(f"a torn entry {name}")
    cache.store(name, chooser.randbytes(4) * chooser.randrange(1, 5000))
    if chooser.random() < 0.05:
        cache.prune()
    if chooser.random() < 0.01:
        cache.clear()
"""


def start(folder: Path, seed: int, seconds: float) -> subprocess.Popen[str]:
    command = (sys.executable, "-P", "-c", WRITER, str(folder), str(seed), str(seconds))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_eight_processes_race_and_are_killed(cache: DiskCache) -> None:
    running = [start(cache.folder, seed, 1.0) for seed in range(8)]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in running[:4]:
        time.sleep(0.1)
        process.kill()
    errors = [process.communicate(timeout=60)[1] for process in running]
    assert [(process.returncode, error) for process, error in zip(running, errors, strict=True)][4:] == [
        (0, "")
    ] * 4
    for entry in cache.entries():
        payload = cache.load(entry.name)
        assert payload is not None and payload == payload[:4] * (len(payload) // 4)
    used = sum(entry.size_bytes for entry in cache.entries())
    assert used <= 200_000 + len(running) * SCAN_AFTER_BYTES  # what each may write before it looks again
    DiskCache(cache.folder, 200_000).prune()
    assert sum(entry.size_bytes for entry in cache.entries()) <= 200_000
