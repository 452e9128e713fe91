"""The arrays that values of a function refer to: of one that other modules call, those that it makes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from .size_expressions import SizeExpressions

if TYPE_CHECKING:
    from .array_parameter import ArrayParameter
    from .local_array import LocalArray


class FunctionArrays:
    """The arrays of one function.

    Args:
        sizes: computes the lengths of the arrays that it makes.
    """

    def __init__(self, sizes: SizeExpressions) -> None:
        self.sizes = sizes
        """Lengths of the arrays that the function makes."""
        self._arrays: dict[SSAValue, ArrayParameter | LocalArray] = {}
        self._local_arrays: list[LocalArray] = []

    def known_array(self, value: SSAValue) -> ArrayParameter | LocalArray | None:
        """Returns the array that `value` refers to; None of one that is not lowered yet."""
        return self._arrays.get(value)

    def array(self, value: SSAValue) -> ArrayParameter | LocalArray:
        """Returns the array that `value` refers to; TypeError where there is none."""
        known = self._arrays.get(value)
        if known is None:
            raise TypeError("arrays are parameters of the kernel or made by memref.alloc and memref.alloca")
        return known

    def add_local_array(self, value: SSAValue, array: LocalArray) -> None:
        """Makes `value` refer to an array that the function makes."""
        self._arrays[value] = array
        self._local_arrays.append(array)

    def bind_array(self, parameter: SSAValue, argument: SSAValue) -> None:
        """Makes an inlined helper's parameter refer to the array that it is called with."""
        self._arrays[parameter] = self.array(argument)
