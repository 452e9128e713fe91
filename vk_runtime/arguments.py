"""Checking kernel arguments and bringing them into the form that a launch passes on.

The common case of every parameter is decided by one comparison; everything else goes through `scalar_value`
or ends in a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from ..ir.errors import InvalidError, KernelArgumentError
from ..ir.kernel_info import (
    BufferParameter,
    ImageParameter,
    LocalParameter,
    Parameter,
    StreamParameter,
    ValueParameter,
)
from ..ir.local_memory import LocalMemory
from ..ir.stream import Stream
from .argument_hints import NUMBERS, array_hint, number_hint, shape_hint, written
from .array import Array
from .dtypes import array_signature
from .scalars import INTEGER_LIMITS, LARGEST_FLOAT, Scalar, describe, scalar_value

if TYPE_CHECKING:
    from .device import Device
    from .tracked import Tracked

Uses = list[tuple["Tracked", bool]]
"""The memory of each array and image, behind an image its sampler, in parameter order; and whether the kernel writes
it."""

CheckedArguments = tuple[Uses, list[Scalar]]
"""Arguments that fit: the arrays' memory, and the scalars.  One is made for every launch, so it is no class."""


class ArgumentChecker:
    """Checks the arguments of one kernel.

    Args:
        kernel: its name, for messages.
        parameters: in signature order.
    """

    def __init__(self, kernel: str, parameters: Sequence[Parameter]) -> None:
        self._kernel = kernel
        self._parameters = tuple(parameters)
        self._expected = tuple(_expected(parameter) for parameter in parameters)
        self._places = _places(parameters)
        is_streaming = any(isinstance(p, StreamParameter) for p in parameters)
        self.stream_names: tuple[str, ...] = tuple(p.name for p in parameters) if is_streaming else ()
        """The names of all parameters, where there are streams among them."""
        # lp.Array may be the same memory as another lp.Array, and lp.In as another lp.In; nothing else may.
        self._conflicts: tuple[tuple[int, int], ...] = tuple(
            (first, second)
            for second, b in self._places.items()
            for first, a in self._places.items()
            if first < second and not (_may_alias(a) and _may_alias(b)) and not a.access == b.access == "read"
        )

    def check(self, args: Sequence[object], device: Device) -> CheckedArguments:
        """Returns the arguments taken apart, in parameter order.

        Raises:
            KernelArgumentError: a number of arguments, kind, dtype, rank, value or device that does not fit.
        """
        checked = self.quick_check(args, device)
        if checked is not None:
            return checked
        if len(args) != len(self._expected):
            self._wrong_count(args)
        for index, (kind, _, _, _) in enumerate(self._expected):
            if kind is LocalMemory:
                self._require_local(index, args[index])
            elif kind is Stream:
                self._require_stream(index, args[index])
            elif kind is Array:
                self._require_array(index, args[index], device)
            elif kind is ImageParameter:
                self._require_image(index, args[index], device)
        raise AssertionError("what the quick check refuses is named above")

    def quick_check(self, args: Sequence[object], device: Device) -> CheckedArguments | None:
        """Does what `check` does, but returns None where the number of arguments or an array does not suit.

        Raises:
            KernelArgumentError: a scalar of the wrong kind or out of range, or arrays that overlap.
        """
        # Written for speed: every launch goes through here.
        expected = self._expected
        if len(args) != len(expected):
            return None
        uses: Uses = []
        scalars: list[Scalar] = []
        arg: Any
        for index, (kind, least, most, wanted) in enumerate(expected):
            arg = args[index]
            if kind is Array:
                # Signatures are interned.
                if arg.__class__ is not Array or arg._device is not device:
                    return None
                if arg._signature is not wanted and not self._is_foreign_fit(index, arg):
                    return None
                buffer = arg._buffer
                if buffer is None:
                    return None
                uses.append((buffer, most))
            elif kind is LocalMemory:
                if arg.__class__ is not kind or len(arg.shape) != least:
                    return None
            elif kind is ImageParameter:
                used = least(wanted, arg, device)
                if used is None:
                    return None
                uses += used
            elif kind is Stream:
                if not isinstance(arg, Stream):
                    return None
            elif arg.__class__ is kind and least <= arg <= most:
                scalars.append(arg)
            else:
                scalars.append(self._scalar(index, arg, wanted))
        if self._conflicts:
            for first, second in self._conflicts:
                if uses[first][0] is uses[second][0]:
                    self._overlap(first, second)
        return uses, scalars

    def _is_foreign_fit(self, index: int, array: Array) -> bool:
        """Whether the parameter is a buffer of a foreign kernel that takes the array."""
        parameter = self._parameters[index]
        return (
            isinstance(parameter, BufferParameter)
            and not parameter.ndim
            and _misfit(array, parameter) is None
        )

    def _label(self, index: int) -> str:
        # Vectors and structs are parameters for each of their scalars: p.x, v[0].
        owners = list(dict.fromkeys(_owner(p.name) for p in self._parameters))
        name = self._parameters[index].name
        return (
            f"kernel '{self._kernel}', argument '{name}' ({owners.index(_owner(name)) + 1} of {len(owners)})"
        )

    def _wrong_count(self, args: Sequence[object]) -> NoReturn:
        names = ", ".join(parameter.name for parameter in self._parameters)
        count = len(self._parameters)
        missing = ", ".join(f"'{parameter.name}'" for parameter in self._parameters[len(args) :])
        detail = f"missing: {missing}" if missing else f"{len(args) - count} too many"
        raise KernelArgumentError(
            f"kernel '{self._kernel}' takes {count} argument{'s' * (count != 1)} ({names}); "
            f"found {len(args)}, {detail}"
        )

    def _require_array(self, index: int, arg: object, device: Device) -> None:
        wanted = self._expected[index][3]
        if not isinstance(arg, Array):
            self._no_array(index, arg)
        parameter = self._parameters[index]
        if isinstance(parameter, BufferParameter) and not parameter.ndim:
            found = _misfit(arg, parameter)
            if found is not None:
                raise KernelArgumentError(f"{self._label(index)}: {found}")
        elif arg.signature != wanted:
            self._wrong_array(index, arg, wanted)
        if arg.is_released:
            raise KernelArgumentError(f"{self._label(index)}: the array was released; make a new one")
        if arg.device is not device and arg.buffer.is_borrowed:
            from .bundle_errors import OutOfContextError

            raise OutOfContextError(
                f"{self._label(index)}: the array is of a native buffer of device '{arg.device.selector}' and can be "
                f"used in its context only, not on '{device.selector}'; copy it with lp.asarray(a.numpy(), device=…)"
            )
        if arg.device is not device:
            raise KernelArgumentError(
                f"{self._label(index)}: expected an array on device '{device.selector}', found one on "
                f"'{arg.device.selector}'; copy it with lp.asarray(a, device=…) or launch on its device's queue"
            )

    def _require_image(self, index: int, arg: object, device: Device) -> None:
        parameter = self._parameters[index]
        assert isinstance(parameter, ImageParameter)
        from .image_arguments import image_uses, refuse_image

        if image_uses(parameter, arg, device) is None:
            refuse_image(self._label(index), parameter, arg, device)

    def _require_local(self, index: int, arg: object) -> None:
        _, ndim, _, wanted = self._expected[index]
        expected = f"expected lp.local(shape) for lp.{wanted}"
        if not isinstance(arg, LocalMemory):
            raise KernelArgumentError(f"{self._label(index)}: {expected}, found {describe(arg)}")
        if len(arg.shape) != ndim:
            raise KernelArgumentError(
                f"{self._label(index)}: {expected} with {ndim} dimension{'s' * (ndim != 1)}, found {arg!r}"
            )

    def _require_stream(self, index: int, arg: object) -> None:
        if not isinstance(arg, Stream):
            raise KernelArgumentError(
                f"{self._label(index)}: expected an lp.Stream, found {describe(arg)}; make one with lp.Stream()"
            )

    def _no_array(self, index: int, arg: object) -> NoReturn:
        expected = f"expected lp.{self._expected[index][3]}"
        if isinstance(arg, np.ndarray):
            found = cast("np.ndarray[Any, Any]", arg)
            element = self._parameters[index].dtype
            convert = f", lp.{written(element)}" if element in NUMBERS and not _holds(found, element) else ""
            raise KernelArgumentError(
                f"{self._label(index)}: {expected}, found a NumPy array of dtype {found.dtype} and "
                f"{found.ndim} dimensions; copy it to the device first with lp.asarray(…{convert})"
            )
        raise KernelArgumentError(
            f"{self._label(index)}: {expected}, found {describe(arg)}"
            f"{array_hint(arg, self._parameters[index].dtype)}"
        )

    def _wrong_array(self, index: int, array: Array, wanted: str) -> NoReturn:
        message = f"{self._label(index)}: expected lp.{wanted}, found lp.{array.signature}"
        parameter = self._parameters[index]
        are_numbers = {parameter.dtype, array.spelling} <= NUMBERS
        if are_numbers and isinstance(parameter, BufferParameter) and array.ndim == parameter.ndim:
            message += f"; convert what it is made of: lp.asarray(x, lp.{written(parameter.dtype)})"
        elif isinstance(parameter, BufferParameter) and array.spelling == parameter.dtype:
            message += shape_hint(array.ndim)
        elif parameter.dtype == f"Vec[{array.spelling}, {array.shape[-1]}]":
            vector = f"{array.spelling}x{array.shape[-1]}"
            message += f"; lp.asarray(x, lp.{vector}) makes vectors of the last dimension"
        elif (
            parameter.dtype.startswith("{")
            and array.spelling.partition(":")[0] == parameter.dtype.partition(":")[0]
        ):
            message += (
                "; a kernel keeps the struct it was defined with: define it anew where the class has changed"
            )
        elif parameter.dtype.startswith(f"FixedArray[{array.spelling}, "):
            lengths = parameter.dtype.removeprefix(f"FixedArray[{array.spelling}, ").removesuffix("]")
            if array.shape[-1 - lengths.count(", ") :] == tuple(map(int, lengths.split(", "))):
                element = "S" if array.spelling.startswith("{") else f"lp.{array.spelling}"
                fixed = f"lp.FixedArray[{element}, {lengths}]"
                message += f"; lp.asarray(x, {fixed}) makes such elements of the last dimensions"
        raise KernelArgumentError(message)

    def _scalar(self, index: int, arg: object, dtype: str) -> Scalar:
        parameter = self._parameters[index]
        if isinstance(parameter, ValueParameter):
            from .foreign_arguments import packed_value

            try:
                return packed_value(arg, parameter)
            except ValueError as error:
                raise KernelArgumentError(f"{self._label(index)}: expected {error}") from None
        try:
            return scalar_value(arg, dtype)
        except ValueError as error:
            raise KernelArgumentError(
                f"{self._label(index)}: expected lp.{written(dtype)}, found {error}{number_hint(arg, dtype)}"
            ) from None

    def _overlap(self, first: int, second: int) -> NoReturn:
        a, b = self._places[first], self._places[second]
        if isinstance(a, ImageParameter):
            what, remedy = "image", "a kernel that writes an image has it once: pass a copy"
        else:
            what = "array"
            remedy = "lp.In and lp.Out must not overlap: pass a copy, or declare both as lp.Array"
        raise KernelArgumentError(
            f"kernel '{self._kernel}': arguments '{a.name}' ({a.access}) and '{b.name}' ({b.access}) are the "
            f"same {what}; {remedy}"
        )


def _places(parameters: Sequence[Parameter]) -> dict[int, BufferParameter | ImageParameter]:
    """Returns the parameter of each position in `Uses`, samplers left out."""
    found: dict[int, BufferParameter | ImageParameter] = {}
    position = 0
    for parameter in parameters:
        if isinstance(parameter, BufferParameter):
            found[position] = parameter
            position += 1
        elif isinstance(parameter, ImageParameter):
            if parameter.descriptor != "sampler":
                found[position] = parameter
            position += 2 if parameter.descriptor == "sampled" else 1
    return found


def _may_alias(memory: BufferParameter | ImageParameter) -> bool:
    return isinstance(memory, BufferParameter) and (memory.may_alias or memory.access == "read_write")


_Expected = tuple[type, Any, Any, Any]
"""What the quick check compares: for a scalar its usual Python type, least and greatest value, and lapilli's
name of the type; for an array `Array`, nothing, whether it is written, and its signature; for an image
`ImageParameter`, what takes it apart, nothing, and the parameter."""


def _expected(parameter: Parameter) -> _Expected:
    dtype = parameter.dtype
    if isinstance(parameter, LocalParameter):
        rank = "" if parameter.ndim == 1 else f", {parameter.ndim}"
        return LocalMemory, parameter.ndim, None, f"LocalArray[{dtype}{rank}]"
    if isinstance(parameter, ImageParameter):
        from .image_arguments import image_uses

        return ImageParameter, image_uses, None, parameter
    if isinstance(parameter, StreamParameter):
        return Stream, None, None, dtype
    if isinstance(parameter, BufferParameter):
        wanted = array_signature(dtype, parameter.ndim) if parameter.ndim else f"Array of {dtype}"
        return Array, None, parameter.access != "read", wanted
    if isinstance(parameter, ValueParameter):
        return type(None), 0, 0, dtype
    if dtype in INTEGER_LIMITS:
        return int, *INTEGER_LIMITS[dtype], dtype
    if dtype in ("f32", "f64"):
        return float, -LARGEST_FLOAT[dtype], LARGEST_FLOAT[dtype], dtype
    if dtype == "bool":
        return bool, False, True, dtype
    return type(None), 0, 0, dtype  # f16 and bf16 always take the slow way


def _misfit(array: Array, parameter: BufferParameter) -> str | None:
    from .foreign_arguments import misfit  # of kernels from elsewhere only

    return misfit(array, parameter)


def _holds(array: np.ndarray[Any, Any], element: str) -> bool:
    from .dtypes import spelling_of

    try:
        return spelling_of(array.dtype) == element
    except InvalidError:  # no array can hold what it holds
        return False


def _owner(name: str) -> str:
    """Returns the parameter that a scalar is part of: p of ``p.x`` and ``p[0]``."""
    return name.partition(".")[0].partition("[")[0]
