"""Kompute: SPIR-V that the user brings, here GLSL through glslangValidator; sequences are recorded once.

With ``--given`` the SPIR-V of new kernels is there beforehand.  Tensors lie in memory that the host sees, as all memory
of a software driver is, so that copies are plain ones.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import kp
import numpy as np

from ..driver import Driver, Work
from ..glsl_shaders import SHADERS, compile_glsl, groups_of, second

Inputs = Sequence[np.ndarray]
Parameters = Mapping[str, Any]


class Kompute:
    """A manager and what a user writes around it."""

    def __init__(self) -> None:
        self.manager = kp.Manager()

    def tensor(self, host: np.ndarray) -> Any:
        flat = np.ascontiguousarray(host).ravel()
        make = self.manager.tensor if flat.dtype == np.float32 else self.manager.tensor_t
        tensor = make(flat, kp.TensorTypes.host)
        self.manager.sequence().eval(kp.OpTensorSyncDevice([tensor]))
        return tensor

    def read(self, tensor: Any, like: np.ndarray) -> np.ndarray:
        self.manager.sequence().eval(kp.OpTensorSyncLocal([tensor]))
        return np.array(tensor.data()).reshape(like.shape)

    def sequence(self, tensors: Sequence[Any], spirv: bytes, groups: Sequence[int], launches: int = 1) -> Any:
        algorithm = self.manager.algorithm(list(tensors), spirv, list(groups), [], [])
        sequence = self.manager.sequence()
        for _ in range(launches):
            sequence.record(kp.OpAlgoDispatch(algorithm))
        return sequence


def _kernel(gpu: Kompute, name: str, inputs: Inputs) -> Work:
    tensors = [gpu.tensor(host) for host in inputs]
    sequence = gpu.sequence(tensors, compile_glsl(SHADERS[name], inputs), groups_of(name, inputs))
    return Work(run=lambda _: sequence.eval(), result=lambda: gpu.read(tensors[-1], inputs[-1]))


def _launches(gpu: Kompute, inputs: Inputs, parameters: Parameters) -> Work:
    x, launches = gpu.tensor(inputs[0]), parameters["launches"]
    sequence = gpu.sequence([x], compile_glsl(SHADERS["increment"], inputs), (1, 1, 1))

    def run(_: int) -> None:
        for _ in range(launches):
            sequence.eval()

    return Work(run=run, result=lambda: gpu.read(x, inputs[0]))


def _pipelined(gpu: Kompute, inputs: Inputs, parameters: Parameters) -> Work:
    """A sequence may be in flight once, so there are as many as launches."""
    x, launches = gpu.tensor(inputs[0]), parameters["launches"]
    spirv = compile_glsl(SHADERS["increment"], inputs)
    sequences = [gpu.sequence([x], spirv, (1, 1, 1)) for _ in range(launches)]

    def run(_: int) -> None:
        for sequence in sequences:
            sequence.eval_async()
        for sequence in sequences:
            sequence.eval_await()

    return Work(run=run, result=lambda: gpu.read(x, inputs[0]))


def _graph(gpu: Kompute, inputs: Inputs, parameters: Parameters) -> Work:
    x = gpu.tensor(inputs[0])
    spirv = compile_glsl(SHADERS["increment"], inputs)
    sequence = gpu.sequence([x], spirv, (1, 1, 1), parameters["launches"])
    return Work(run=lambda _: sequence.eval(), result=lambda: gpu.read(x, inputs[0]))


def _upload(gpu: Kompute, inputs: Inputs) -> Work:
    host = inputs[0]
    x = gpu.tensor(np.zeros_like(host))
    upload = gpu.manager.sequence().record(kp.OpTensorSyncDevice([x]))

    def run(_: int) -> None:
        np.copyto(x.data(), host)
        upload.eval()

    return Work(run=run, result=lambda: gpu.read(x, host))


def _download(gpu: Kompute, inputs: Inputs) -> Work:
    x, out = gpu.tensor(inputs[0]), np.zeros_like(inputs[0])
    download = gpu.manager.sequence().record(kp.OpTensorSyncLocal([x]))

    def run(_: int) -> None:
        download.eval()
        np.copyto(out, x.data())

    return Work(run=run, result=lambda: out)


def _second(gpu: Kompute, inputs: Inputs, parameters: Parameters, *, is_compiled: bool) -> Work:
    x, y = (gpu.tensor(host) for host in inputs)
    sources = [second(c) for c in parameters["constants"]]
    given = [compile_glsl(source, inputs) for source in sources] if is_compiled else []

    def run(number: int) -> None:
        spirv = given[number] if is_compiled else compile_glsl(sources[number], inputs)
        gpu.sequence([x, y], spirv, groups_of("second", inputs)).eval()

    return Work(run=run, result=lambda: gpu.read(y, inputs[1]))


def make() -> Driver:
    """Returns the driver of Kompute."""
    gpu = Kompute()
    kernels = ("saxpy", "sum", "matmul", "mandelbrot", "n-body", "stencil")
    return Driver(
        version=metadata.version("kp"),
        device=str(gpu.manager.list_devices()[0].get("device_name", "")),
        cases={
            **{name: (lambda inputs, _, name=name: _kernel(gpu, name, inputs)) for name in kernels},
            "launch + wait": lambda inputs, parameters: _launches(gpu, inputs, parameters),
            "pipelined launch": lambda inputs, parameters: _pipelined(gpu, inputs, parameters),
            "graph node": lambda inputs, parameters: _graph(gpu, inputs, parameters),
            "upload": lambda inputs, _: _upload(gpu, inputs),
            "download": lambda inputs, _: _download(gpu, inputs),
            "second kernel": lambda inputs, parameters: _second(
                gpu, inputs, parameters, is_compiled="--given" in sys.argv
            ),
        },
    )
