"""``python -m tests.aot.native_report [DEVICE…]``: native code on the drivers of this machine, printed.

Says for each device how its driver gives code away, how much it is, and how long loading a bundle file takes in a fresh
process from SPIR-V and from native code, the caches of lapilli off.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import lapilli as lp
from lapilli.spirv.lpk import LpkFile

from .conftest import Project

RUNS = 5
PROGRAM = """
import sys, time
import lapilli as lp
with lp.config.override(cache="0", native_images=sys.argv[3] == "native"):
    device = lp.device(sys.argv[1])
    device.logical
    began = time.perf_counter()
    bundle = lp.load_kernel_bundle(lp.Context([device]), sys.argv[2])
    elapsed = time.perf_counter() - began
    formats = {bundle.image_of(id_, device).format for id_ in bundle.get_kernel_ids()}
    assert formats == {sys.argv[3]}, formats
print(elapsed * 1e3)
"""


def milliseconds(device: lp.Device, file: Path, kind: str) -> float:
    """Returns the median of loading a file in fresh processes."""
    command = [sys.executable, "-c", PROGRAM, device.selector, str(file), kind]
    times = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(RUNS)
    ]
    return sorted(times)[RUNS // 2]


def main() -> None:
    """Prints a line for each device."""
    for device in [lp.device(name) for name in sys.argv[1:]] or lp.devices():
        folder = Path(tempfile.mkdtemp(prefix="native-report-"))
        file = folder / "kernels.lpk"
        Project(folder).build("-o", file, "--targets", device.selector)
        found = LpkFile.open(file)
        native = [image for image in found.header.images if image.native is not None]
        kinds = ", ".join(sorted({image.native.kind for image in native if image.native})) or "no native code"
        size = sum(len(found.blob(image.native_code)) for image in native if image.native_code is not None)
        times = ", ".join(f"{kind} {milliseconds(device, file, kind):.1f} ms" for kind in ("spirv", "native"))
        print(f"{device.selector} ({device.name}): {kinds}, {size} bytes; loading takes {times}")


if __name__ == "__main__":
    main()
