"""What stands in lapilli for names that users of NumPy, CuPy, Numba, Taichi, Triton and torch look for in it.

Data alone: asking whether ``lapilli`` has a name imports this and must load nothing else.
"""

from __future__ import annotations

SCALARS = {
    "bool": "lp.bool_",
    "bfloat16": "lp.bf16",
    "half": "lp.f16",
    "double": "lp.f64",
    **{f"float{bits}": f"lp.f{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"lp.i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"lp.u{bits}" for bits in (8, 16, 32, 64)},
}
"""Scalar types, on the host and in kernels alike."""

_ARRAYS_OF_NUMPY = "arange array eye full_like geomspace identity linspace logspace ones_like tri"

_ON_THE_HOST = {
    **SCALARS,
    "from_numpy": "lp.asarray(x)",
    "to_device": "lp.asarray(x)",
    "tensor": "lp.asarray(x)",
    "field": "lp.zeros(shape, dtype)",
    "jit": "@lp.kernel",
    "nd_range": "lp.NdRange(global_, local)",
    "queue": "lp.Queue(device)",
    "malloc_device": "lp.empty(shape, dtype)",
    "shared": "lp.local.array(shape, dtype) in the kernel",
    "syncthreads": "lp.barrier() in the kernel",
    "stream": "lp.Queue()",
    "sync": "event.wait() or queue.wait(), or read the array",
    "synchronize": "event.wait() or queue.wait(), or read the array",
}


def hint_on_the_host(name: str) -> str:
    """Returns what to write instead of ``lapilli.name``, with a semicolon before; "" where nothing is known."""
    if name in _ARRAYS_OF_NUMPY.split():
        return f"; lp.asarray(np.{name}(…)) makes one on a device"
    instead = _ON_THE_HOST.get(name)
    return f"; write {instead}" if instead else ""
