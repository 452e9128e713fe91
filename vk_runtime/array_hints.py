"""What to write for attributes that arrays of NumPy, CuPy, Numba, Taichi or torch have and `lp.Array` has not."""

from __future__ import annotations

_ON_THE_HOST = "get to_numpy cpu copy_to_host asnumpy tolist item tobytes"
_COPIES = "copy clone"
_OF_NUMPY = """T all any argmax argmin argsort astype clip conj cumprod cumsum diagonal dot flat flatten imag itemsize
    max mean min nonzero prod ravel real repeat reshape round sort squeeze std strides sum swapaxes take trace
    transpose var view"""

HINTS = {
    "to": "lp.asarray(a, device=…) copies it to another device",
    **dict.fromkeys(_ON_THE_HOST.split(), "a.numpy() copies the elements to host memory"),
    **dict.fromkeys(_COPIES.split(), "copy.copy(a) makes another array on the same device"),
    **dict.fromkeys(_OF_NUMPY.split(), "an lp.Array is memory for kernels; a.numpy() gives a NumPy array"),
}


def missing_attribute(name: str, instance: object) -> AttributeError:
    """Returns the error for an attribute that an array has not, with what to write instead where that is known."""
    hint = HINTS.get(name)
    message = f"'Array' object has no attribute {name!r}"
    return AttributeError(message if hint is None else f"{message}; {hint}", name=name, obj=instance)
