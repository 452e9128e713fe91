"""Which specialization constants the images of a kernel bundle have, and which one a key stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..ir.errors import InvalidError, KernelArgumentError
from .native_constants import NativeConstant, constant_of_key, constants_of_key
from .spec_values import SpecConstant, SpecValues, checked_constant

if TYPE_CHECKING:
    from .bundle_image import DeviceImage


def read_constants(images: Iterable[DeviceImage]) -> list[SpecConstant]:
    """Returns the constants in the code of the kernels, then those in their work-group sizes alone."""
    images = list(images)
    read = [constant for image in images for constant in image.spec_symbols.values()]
    sizes = [id_.local_size for image in images for id_ in image.kernel_ids]
    read += [constant for size in sizes if size is not None for constant in size.spec_constants]
    return [constant.current for constant in read]


def native_constants(images: Iterable[DeviceImage]) -> list[NativeConstant]:
    """Returns the constants of native modules that are not compiled yet, each once."""
    found = (constant for image in images for constant in image.spec_symbols.values())
    return list(dict.fromkeys(constant for constant in found if isinstance(constant, NativeConstant)))


def has_constant(what: str, images: Iterable[DeviceImage], key: object) -> bool:
    """Returns whether the kernels read the constant that a user names."""
    images = list(images)
    native = native_constants(images)
    if native and isinstance(key, int | str) and not isinstance(key, bool):
        return bool(constants_of_key(key, native))
    return checked_constant(what, key) in read_constants(images)


def named_constant(what: str, images: Iterable[DeviceImage], key: object) -> SpecConstant:
    """Returns the constant that a user names: an id, or SpecId or name of one of a native module in state INPUT.

    Raises:
        KernelArgumentError: it stands for none, or for several.
    """
    native = native_constants(images)
    if native and isinstance(key, int | str) and not isinstance(key, bool):
        return constant_of_key(what, key, native)
    return checked_constant(what, key)


def require_no_twin(what: str, images: Iterable[DeviceImage], constant: SpecConstant) -> None:
    """Raises where the kernels read another constant of the symbol, which would get the bytes of this one."""
    twin = next((c for c in read_constants(images) if c.symbol == constant.symbol and c != constant), None)
    if twin is not None:
        raise InvalidError(
            f"{what}: expected {twin!r}, which the kernels read, found {constant!r} of the program; write the bundle "
            "file again, or set the one of kb.specialization_constants"
        )


def with_given(
    images: Iterable[DeviceImage], values: SpecValues, given: Mapping[int | str, object]
) -> SpecValues:
    """Returns a bundle's values and those of ``lp.SpecValues``, which count where both have one.

    Raises:
        KernelArgumentError: a constant that no native module of the bundle has, that has two values, or a misfit.
    """
    native, result = native_constants(images), values.copy()
    keys: dict[NativeConstant, int | str] = {}
    for key, value in given.items():
        constant = constant_of_key("lp.SpecValues", key, native)
        first = keys.setdefault(constant, key)
        if first != key and constant.to_bytes(given[first]) != constant.to_bytes(value):
            raise KernelArgumentError(
                f"lp.SpecValues: {first!r} and {key!r} are one specialization constant, found {given[first]!r} and "
                f"{value!r}; expected one value",
                code="LP3012",
            )
        result.set(constant, value)
    return result


def without_native(values: SpecValues) -> SpecValues:
    """Returns the values that are still to be told to drivers once a bundle is compiled."""
    return SpecValues(
        {key: data for key, data in values.explicit().items() if not isinstance(key, NativeConstant)}
    )
