"""What arithmetic with arrays and their elements says on the host: `lp.Array` is memory for kernels.

Beside an operand that is an array of some other library the operator is left to that one: NumPy takes a copy.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..ir.errors import InvalidError

_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}
_ELEMENTS = {
    "getitem": "indexed on the host; index a.numpy() instead",
    "setitem": "indexed on the host; use copy_from or fill instead",
    "iter": "iterated on the host; iterate over a.numpy() instead",
}
_CONVERSIONS = ("float", "int", "complex", "round")


def refuse_operators(cls: Any) -> None:
    """Gives a class operators, indices and iteration that raise InvalidError.

    Set here and not written into the class, so that type checkers know of none and say so.
    """
    for name, symbol in {**_BINARY, **_COMPARISONS}.items():
        setattr(cls, f"__{name}__", _binary(symbol))
        if name in _BINARY:
            setattr(cls, f"__r{name}__", _binary(symbol))
    for name, symbol in _UNARY.items():
        setattr(cls, f"__{name}__", _unary(symbol))
    for name in _CONVERSIONS:
        setattr(cls, f"__{name}__", _conversion(name))
    for name, text in _ELEMENTS.items():
        setattr(cls, f"__{name}__", _element(text))


def _binary(symbol: str) -> Any:
    def refuse(self: Any, other: object, *_: object) -> Any:
        if hasattr(other, "__array__") and type(other) is not type(self):
            return NotImplemented
        return _refuse(symbol)

    return refuse


def _element(text: str) -> Any:
    def refuse(_: object, *__: object) -> NoReturn:
        raise InvalidError(f"an lp.Array cannot be {text}")

    return refuse


def _unary(symbol: str) -> Any:
    def refuse(self: Any) -> Any:
        return _refuse(symbol)

    return refuse


def _conversion(name: str) -> Any:
    def refuse(self: Any, *_: object) -> NoReturn:
        raise InvalidError(
            f"{name}() takes a number, found an lp.Array of shape {self.shape}; an element is {name}(a.numpy()[0])"
        )

    return refuse


def _refuse(symbol: str) -> NoReturn:
    raise InvalidError(
        f"an lp.Array has no operator {symbol} on the host: it is memory for kernels; compute in a kernel, "
        "y[i] = x[i] + 1, or with a.numpy()"
    )
