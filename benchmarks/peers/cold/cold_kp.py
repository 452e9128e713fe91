"""A user's whole program: saxpy, its result, the clock.

Without an argument glslangValidator compiles the shader; with one, a path, its SPIR-V is kept there.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kp
import numpy as np

SOURCE = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[i] = 2.0 * x[i] + y[i]; }
"""


def compiled() -> bytes:
    """Returns the shader's SPIR-V."""
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder, "saxpy.comp"), Path(folder, "saxpy.spv")
        text.write_text(SOURCE)
        subprocess.run(["glslangValidator", "-V", text, "-o", binary], check=True, stdout=subprocess.DEVNULL)
        return binary.read_bytes()


if len(sys.argv) == 1:
    spirv = compiled()
else:
    kept = Path(sys.argv[1])
    if not kept.exists():
        kept.write_bytes(compiled())
    spirv = kept.read_bytes()

manager = kp.Manager()
x = manager.tensor(np.arange(1024, dtype=np.float32))
y = manager.tensor(np.ones(1024, np.float32))
algorithm = manager.algorithm([x, y], spirv, [16, 1, 1], [], [])
(
    manager.sequence()
    .record(kp.OpTensorSyncDevice([x, y]))
    .record(kp.OpAlgoDispatch(algorithm))
    .record(kp.OpTensorSyncLocal([y]))
    .eval()
)
assert np.array_equal(y.data(), 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
