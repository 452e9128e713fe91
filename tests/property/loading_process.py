"""A process that knows bundle files alone: it loads them, launches one of their kernels and writes what it computed.

Run as a file it is that process, which reads a request a line and imports nothing that the bundles were made of.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lapilli as lp

DONE = "done"


class LoadingProcess:
    """The process as others see it; it starts at once."""

    def __init__(self) -> None:
        command = [sys.executable, __file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def launch(
        self,
        paths: Sequence[Path],
        state: lp.BundleState,
        device: lp.Device,
        kernel: str,
        shape: Sequence[int],
        arrays: Mapping[str, np.ndarray[Any, Any]],
        same: Mapping[str, str],
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Returns the arrays after a launch.

        Args:
            paths: of bundle files; those in state OBJECT are linked.
            state: of the files.
            device: has the arrays.
            kernel: its name.
            shape: of the launch.
            arrays: by parameter; all of them are given.
            same: parameters that get the array of another one.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        data = paths[0].with_suffix(".npz")
        np.savez(data, **arrays)
        request = [[*map(str, paths)], state.name, device.selector, kernel, [*shape], str(data), dict(same)]
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        assert answer == DONE, (
            f"the process that loads {paths[0]} ended with {self._process.wait()}, see its errors"
        )
        with np.load(data) as results:
            found = dict(results)
        data.unlink()
        return found

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _serve(
    paths: list[str], state: str, selector: str, name: str, shape: list[int], data: str, same: dict[str, str]
) -> None:
    device = lp.device(selector)
    parts = [
        lp.load_kernel_bundle(device.default_context, path, state=lp.BundleState[state]) for path in paths
    ]
    bundle = parts[0] if state == "EXECUTABLE" else lp.link(parts)
    with np.load(data) as given:
        arrays = {parameter: lp.asarray(array, device=device) for parameter, array in given.items()}
    for parameter, other in same.items():
        arrays[parameter] = arrays[other]
    bundle.get_kernel(name)[tuple(shape)](**arrays)
    np.savez(data, **{parameter: array.numpy() for parameter, array in arrays.items()})


if __name__ == "__main__":
    for line in sys.stdin:
        _serve(*json.loads(line))
        print(DONE, flush=True)
