"""``python -m benchmarks.peers.serve MODULE``: the end of the protocol in a package's own process.

Standard library and NumPy alone: nothing else need be installed beside the package.

One JSON object a line, a request on standard input, its answer on standard output.  What packages print themselves
goes to standard error.  Requests, by ``"do"``:

``prepare``  {"case", "inputs": paths of .npy files, "parameters"}: makes what the case needs
``measure``  {"untimed": n, "timed": n}: runs the prepared case; answers {"seconds", "cpu_seconds": one a timed run}
``result``   {"path"}: writes the case's result there as .npy; answers {"runs": how often the case has run}
``release``  forgets the case

An answer {"unsupported": text} says that the package has no such thing, {"error": text} that it failed.  The process
ends with its standard input.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from .driver import Driver, Unsupported, Work


def serve(name: str) -> None:
    """Answers requests until there are no more.

    Args:
        name: a module with ``make() -> Driver``, imported when standard output is out of its reach.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        driver: Driver = importlib.import_module(name).make()
    except Exception:
        _answer(answers, {"error": traceback.format_exc(limit=-2)})
        return
    _answer(answers, {"version": driver.version, "device": driver.device})
    process = _Process(driver)
    for line in sys.stdin:
        try:
            reply = process.handle(json.loads(line))
        except Unsupported as error:
            reply = {"unsupported": str(error)}
        except Exception:
            reply = {"error": traceback.format_exc(limit=-2)}
        _answer(answers, reply)
    os._exit(0)  # what packages do at exit is not measured, and some of them hang there


def _answer(answers: IO[str], reply: Mapping[str, Any]) -> None:
    answers.write(json.dumps(reply) + "\n")
    answers.flush()


class _Process:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._work: Work | None = None
        self._runs = 0

    def handle(self, request: Mapping[str, Any]) -> dict[str, Any]:
        kind = request["do"]
        if kind == "prepare":
            return self._prepare(request)
        if kind == "release":
            self._work = None
            gc.collect()
            return {}
        if self._work is None:
            raise RuntimeError(f"'{kind}' without a prepared case")
        if kind == "measure":
            return self._measure(self._work, request["untimed"], request["timed"])
        if kind == "result":
            np.save(request["path"], self._work.result())
            return {"runs": self._runs}
        raise RuntimeError(f"no request '{kind}'")

    def _prepare(self, request: Mapping[str, Any]) -> dict[str, Any]:
        make = self._driver.cases.get(request["case"])
        if make is None:
            raise Unsupported(f"no case '{request['case']}'")
        inputs = [np.load(path) for path in request["inputs"]]
        self._work, self._runs = make(inputs, request["parameters"]), 0
        return {}

    def _measure(self, work: Work, untimed: int, timed: int) -> dict[str, Any]:
        seconds: list[float] = []
        cpu: list[float] = []
        for number in range(untimed + timed):
            cpu_start, start = time.process_time(), time.perf_counter()
            work.run(self._runs)
            elapsed, cpu_elapsed = time.perf_counter() - start, time.process_time() - cpu_start
            self._runs += 1
            if number >= untimed:
                seconds.append(elapsed)
                cpu.append(cpu_elapsed)
        return {"seconds": seconds, "cpu_seconds": cpu}


if __name__ == "__main__":
    serve(sys.argv[1])
