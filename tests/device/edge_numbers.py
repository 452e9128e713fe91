"""Lines of kernels run over NaN, infinities and zeros of both signs, on a device and in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.interpretation import interpret

VALUES = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -0.25)
ASPECTS = {"f32": None, "f64": lp.Aspect.FP64, "f16": lp.Aspect.FP16}
_SPECS = "".join(
    f"{name} = lp.SpecializationId(lp.{{0}}, {value})\n"
    for name, value in {"LESS": -1.5, "ZERO": 0.0, "ONE": 1.0}.items()
)


def ran(
    device: lp.Device, type_: str, columns: int, result: str, lines: str, level: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Returns what such lines, with `x`, `y`, `p` and `o[i, …]`, gives on a device and in the interpreter."""
    if ASPECTS[type_] is not None and not device.has(ASPECTS[type_]):
        pytest.skip(f"the device lacks {type_}")
    given = f"xs: lp.In[lp.{type_}], ys: lp.In[lp.{type_}], ps: lp.In[lp.i32], o: lp.Array[lp.{result}, 2]"
    kernel = lp.kernel_from_source(
        f"{_SPECS.format(type_)}@lp.kernel(contract=False, opt_level={level})\ndef k({given}):\n"
        f"    i = lp.global_id(0)\n    x, y, p = xs[i], ys[i], ps[i]\n{lines}"
    )
    numbers = np.array(VALUES, np.dtype(f"float{type_[1:]}"))
    n = len(VALUES) ** 2
    arrays = {"xs": np.repeat(numbers, len(VALUES)), "ys": np.tile(numbers, len(VALUES))}
    arrays["ps"] = np.arange(n, dtype=np.int32) % 3
    expected = np.zeros((n, columns), np.int32 if result == "i32" else numbers.dtype)
    interpret(kernel, n, kwargs={**arrays, "o": expected})
    found = lp.zeros(expected.shape, getattr(lp, result), device=device)
    kernel[n](**{name: lp.asarray(array, device=device) for name, array in arrays.items()}, o=found)
    return found.numpy(), expected
