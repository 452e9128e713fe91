"""The functions that exist only inside of kernels, as host objects: ``lp.global_id``, ``lp.math.sqrt`` and so on.

Calling one on the host is a mistake with a clear message.  What each compiles to stands in the modules that
register it (`work_items`, `math_functions`, `intrinsic_functions`).  Imports nothing of the compiler: user code
loads this file.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Iterable
from typing import Final, NoReturn

from ..ir.errors import InvalidError
from ..ir.local_memory import LocalMemory


class Intrinsic:
    # A function of the kernel language.  What stands for a docstring is that of the function.

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """`name` as the user writes it after ``lp.``: ``global_id``, ``math.sqrt``."""
        self.name: Final = name

    @property
    def __doc__(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Signature and meaning, for ``help``."""
        from .intrinsic_texts import text_of_function

        return text_of_function(self.name)

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise InvalidError(
            f"lp.{self.name} works only inside a kernel, where it has a value for each work-item; "
            "it was called on the host",
            code="LP1003",
        )

    def __repr__(self) -> str:
        return f"lp.{self.name}"


class Namespace:
    # A group of intrinsics and constants: ``lp.math``.

    def __init__(self, name: str, members: dict[str, object]) -> None:
        """`name` as the user writes it after ``lp.``; `members` are what it holds."""
        self.name: Final = name
        self._members: Final = members

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What it holds, for ``help``."""
        from .intrinsic_texts import text_of_namespace

        return text_of_namespace(self.name, dir(self))

    def __getattr__(self, attribute: str) -> object:
        try:
            return self.__dict__["_members"][attribute]
        except KeyError:
            raise AttributeError(f"lp.{self.__dict__.get('name')} has no member '{attribute}'") from None

    def __dir__(self) -> list[str]:
        return sorted(self._members)

    def __repr__(self) -> str:
        return f"<lp.{self.name}>"


MATH_FUNCTIONS: Final = (
    "acos", "acosh", "add_carry", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clamp",
    "comb", "copysign", "cos", "cosh", "cross", "degrees", "dist", "dot", "erf", "erfc", "exp", "exp2", "expm1",
    "fabs", "factorial", "floor", "fma", "fmod", "fract", "frexp", "gamma", "gcd", "hypot", "isclose", "isfinite",
    "isinf", "isnan", "isqrt", "lcm", "ldexp", "length", "lgamma", "log", "log10", "log1p", "log2", "mix",
    "modf", "mul_hi", "nextafter", "normalize", "perm", "pow", "prod", "radians", "remainder", "rsqrt", "sign", "sin",
    "sinh", "smoothstep", "sqrt", "step", "tan", "tanh", "trunc", "ulp",
)  # fmt: skip
"""Names of the functions of ``lp.math``."""

MATH_CONSTANTS: Final = {
    "pi": python_math.pi,
    "e": python_math.e,
    "tau": python_math.tau,
    "inf": python_math.inf,
    "nan": python_math.nan,
}

WORK_ITEM_FUNCTIONS: Final = (
    "global_id", "local_id", "group_id", "global_range", "local_range", "group_range",
    "global_linear_id", "local_linear_id", "group_linear_id",
)  # fmt: skip
"""Names of the functions that say which work-item runs."""

math: Final = Namespace(
    "math", {**{name: Intrinsic(f"math.{name}") for name in MATH_FUNCTIONS}, **MATH_CONSTANTS}
)
"""``lp.math``."""


class LocalNamespace(Namespace):
    # ``lp.local``: also called, on the host, for the shape of an `lp.LocalArray` argument.

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of a namespace: a class without one of its own has None."""
        return super().__doc__

    def __call__(self, shape: object) -> LocalMemory:
        """Returns the argument for a parameter ``tile: lp.LocalArray[…]``.

        Args:
            shape: an integer, or 1 to 8 of them, slowest dimension first.

        Raises:
            InvalidError: a shape that cannot be.
        """
        return LocalMemory(shape)


local: Final = LocalNamespace("local", {"array": Intrinsic("local.array")})
"""``lp.local``: memory that the work-items of a group share."""
private: Final = Namespace("private", {"array": Intrinsic("private.array")})
"""``lp.private``: memory of one work-item."""

ATOMIC_FUNCTIONS: Final = (
    "add", "sub", "min", "max", "and_", "or_", "xor", "exchange", "compare_exchange", "load", "store",
)  # fmt: skip
"""Names of the functions of ``lp.atomic``."""
GROUP_FUNCTIONS: Final = ("reduce", "inclusive_scan", "exclusive_scan", "broadcast", "any", "all")
"""Names of the functions of ``lp.group``."""
SUB_GROUP_FUNCTIONS: Final = (
    *GROUP_FUNCTIONS, "size", "id", "index", "count", "shuffle", "shuffle_xor", "shuffle_up", "shuffle_down",
    "ballot", "barrier",
)  # fmt: skip
"""Names of the functions of ``lp.sub_group``."""


def _namespace(name: str, functions: Iterable[str]) -> Namespace:
    return Namespace(name, {function: Intrinsic(f"{name}.{function}") for function in functions})


atomic: Final = _namespace("atomic", ATOMIC_FUNCTIONS)
"""``lp.atomic``."""
group: Final = _namespace("group", GROUP_FUNCTIONS)
"""``lp.group``: functions of all work-items of a work-group together."""
sub_group: Final = _namespace("sub_group", SUB_GROUP_FUNCTIONS)
"""``lp.sub_group``: functions of the work-items that a device runs in lockstep."""

PUBLIC_INTRINSICS: Final[dict[str, object]] = {
    **{name: Intrinsic(name) for name in WORK_ITEM_FUNCTIONS},
    **{
        name: Intrinsic(name)
        for name in (
            "barrier",
            "group_barrier",
            "mem_fence",
            "select",
            "bitcast",
            "shuffle",
            "static_range",
            "popcount",
            "clz",
            "ctz",
            "reverse_bits",
        )
    },
    "math": math,
    "local": local,
    "private": private,
    "atomic": atomic,
    "group": group,
    "sub_group": sub_group,
}
"""What the package exports under ``lp.``, by name."""
