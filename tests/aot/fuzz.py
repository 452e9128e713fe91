"""``make fuzz-lpk``: files from strangers, for as long as it is given, guided by the lines that they reach.

Each round takes a file from a pool, changes it, makes its checksums right again, and has it read: bundle files are
loaded and inspected, file tables inspected, device configurations merged.  A file that reaches a line of the readers
that none reached before joins the pool.  What raises anything but an `lp.Error`, or takes longer than
`SLOW_SECONDS`, is kept and named; drivers see what the checks let through.

Findings so far, each with a test in `test_hostile_files.py`: an alignment that is no power of two raised CompileError
(now an error of the file like any other); rows of a table that name one large file again and again took memory for
each (found by reading, now bounded).

Last runs (13 minutes on two busy cores, lavapipe of Mesa 22.3.6 and SwiftShader 5.0): 5198 bundle files, and with
shaders, tables and configurations 2634 files from seeds 1 and 300000 on, which reached 927 lines; no finding.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import lapilli as lp
from lapilli.ir.device_config import DEFAULT_FILE, default_device_config, parse_device_config
from lapilli.spirv.file_table import HEADER
from lapilli.tools.file_contents import contents_of

from .conftest import KERNELS, Project
from .hostile import flipped, joined, mutated, split

SLOW_SECONDS = 10.0
FILES = (
    "lpk.py",
    "lpk_loading.py",
    "lpk_signatures.py",
    "image_codec.py",
    "image_checks.py",
    "code_checks.py",
    "native_pipelines.py",
    "file_table.py",
    "file_contents.py",
    "property_set.py",
    "device_config.py",
)
MAX_POOL = 400
SHADERS = Path(__file__).resolve().parents[1] / "shaders"


@dataclass(frozen=True)
class Sample:
    """A file to change: JSON, and bytes beside it."""

    kind: str
    """``lpk``, ``table`` or ``config``."""
    content: Any
    code: bytes = b""

    def changed(self, pick: random.Random) -> Sample:
        """Returns the file with some of its values changed, sometimes its bytes too."""
        code = self.code if pick.random() < 0.7 else flipped(self.code, pick)
        return Sample(self.kind, mutated(self.content, pick), code)


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


class Readers:
    """Has files read in a folder of its own.

    Args:
        folder: for the files.
        context: for the bundles.
    """

    def __init__(self, folder: Path, context: lp.Context) -> None:
        self.folder, self.context = folder, context

    def read(self, sample: Sample) -> Path:
        """Reads a file in every way; returns where it lies.  Raises what is no error of ours."""
        return {"lpk": self._bundle, "table": self._table, "config": self._config}[sample.kind](sample)

    def _bundle(self, sample: Sample) -> Path:
        path = self.folder / "file.lpk"
        path.write_bytes(joined(json.loads(json.dumps(sample.content)), sample.code))
        for state in (lp.BundleState.INPUT, lp.BundleState.EXECUTABLE):
            _try(lambda state=state: lp.load_kernel_bundle(self.context, path, state=state))
        _try(lambda: json.dumps(contents_of(path).as_json()))
        return path

    def _table(self, sample: Sample) -> Path:
        path, content = self.folder / "file.table", sample.content
        (self.folder / "f.spv").write_bytes(sample.code)
        properties = content.get("properties") if isinstance(content, dict) else content
        (self.folder / "f.json").write_text(json.dumps(properties), "utf-8")
        symbols = content.get("symbols") if isinstance(content, dict) else content
        (self.folder / "f.sym").write_text(str(symbols), "utf-8", errors="surrogatepass")
        path.write_text(f"{HEADER}\nf.spv|f.json|f.sym\n", "utf-8")
        _try(lambda: json.dumps(contents_of(path).as_json()))
        return path

    def _config(self, sample: Sample) -> Path:
        path = self.folder / "config.json"
        path.write_text(json.dumps(sample.content), "utf-8")
        _try(
            lambda: default_device_config().merged(parse_device_config(path.read_bytes(), "config"), "config")
        )
        return path


def _try(use: Callable[[], object]) -> None:
    with suppress(lp.Error):
        use()


def samples(folder: Path) -> list[Sample]:
    """Returns the files to begin with: of Python kernels, native code, hidden constants, and shaders; a table, a
    configuration."""
    drivers = ",".join(device.selector for device in lp.devices())
    Project(folder).build("-o", folder / "native.lpk", "--targets", drivers)
    start = "import lapilli as lp\n"
    emulated = KERNELS.replace(start, f"{start}lp.compile_options(spec_constants='emulated')\n", 1)
    Project(folder, emulated).build("-o", folder / "emulated.lpk", "-g")
    context = lp.devices()[0].default_context
    names = ["native", "emulated"]
    for shader in ("push_struct", "shared_reverse", "uniform_buffer"):
        source = lp.create_kernel_bundle_from_source(
            context, lp.SourceLanguage.SPIRV, (SHADERS / f"{shader}.spv").read_bytes()
        )
        lp.build(source).save(folder / f"{shader}.lpk")
        names.append(shader)
    found = [Sample("lpk", *split((folder / f"{name}.lpk").read_bytes())) for name in names]
    sizes = {"type": "BYTE_ARRAY", "data": "0200000008000000080000000100000004000000"}
    requirements = {"aspect": {"type": "BYTE_ARRAY", "data": "06000000"}, "reqd_work_group_size": sizes}
    table = {"properties": {"SYCL/device requirements": requirements}, "symbols": "main\nother"}
    found.append(Sample("table", table, (SHADERS / "saxpy.spv").read_bytes()))
    found.append(Sample("config", json.loads(DEFAULT_FILE.read_text("utf-8"))))
    return found


def main() -> int:
    """Runs for the time given; returns how many files were findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-lpk-"))
    pool, coverage = samples(folder), Coverage()
    readers = Readers(folder, lp.Context([lp.devices()[0]]))
    seed, findings, end = options.start, 0, time.monotonic() + options.seconds
    while time.monotonic() < end:
        pick = random.Random(seed)
        sample = pick.choice(pool).changed(pick)
        coverage.is_new, began, path = False, time.monotonic(), folder
        sys.settrace(coverage.trace)
        try:
            path = readers.read(sample)
            problem = ""
        except Exception:
            problem = traceback.format_exc()
        finally:
            sys.settrace(None)
        if time.monotonic() - began > SLOW_SECONDS:
            problem = f"took {time.monotonic() - began:.1f} s"
        if problem:
            findings += 1
            kept = folder / f"finding-{seed}.json"
            kept.write_text(json.dumps([sample.kind, sample.content, sample.code.hex()]))
            print(f"seed {seed}: {kept} ({path.name})\n{problem}", flush=True)
        if coverage.is_new and len(pool) < MAX_POOL:
            pool.append(sample)
        seed += 1
    print(
        f"{seed - options.start} files, {len(coverage.seen)} lines, pool of {len(pool)}, {findings} findings"
    )
    return findings


if __name__ == "__main__":
    sys.exit(min(main(), 1))
