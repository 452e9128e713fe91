"""The values of specialization constants in one command group, under the rules of both pairs of names.

`set_specialization_constant` and `get_specialization_constant` follow SYCL 2020: the last value wins, and a group
that takes its kernels from a kernel bundle must not use them.  `set_spec_constant` and `get_spec_constant` follow
the Modules proposal: one call for each constant, and with a bundle the value must be the bundle's.  One constant
cannot be used under both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..ir.errors import InvalidError
from .spec_placeholder import SpecConstant
from .spec_values import SpecConstant as SpecializationConstant
from .spec_values import checked_constant

if TYPE_CHECKING:
    from .kernel_bundle import KernelBundle

_Names = Literal["set_specialization_constant", "set_spec_constant"]


class GroupConstants:
    """Values set so far, and the bundle that the group is bound to."""

    def __init__(self) -> None:
        self._values: dict[SpecializationConstant, bytes] = {}
        self._names: dict[SpecializationConstant, _Names] = {}
        self._bundle: KernelBundle | None = None

    @property
    def values(self) -> Mapping[SpecializationConstant, bytes]:
        """Host bytes of the constants that were set."""
        return self._values

    @property
    def uses_sycl_names(self) -> bool:
        """Whether the SYCL 2020 pair was called."""
        return "set_specialization_constant" in self._names.values()

    def bind(self, bundle: KernelBundle) -> None:
        """Takes every value from a bundle from now on.

        Raises:
            InvalidError: the SYCL 2020 pair was called before, or a value that was set is not the bundle's.
        """
        if self.uses_sycl_names:
            raise _bound_and_set(
                "use_kernel_bundle, or a kernel of a bundle, after set_specialization_constant, its get or spec="
            )
        for constant, data in self._values.items():
            _require_equal(constant, data, bundle)
        self._bundle = bundle

    def set(self, key: object, value: object) -> None:
        """Sets a constant under SYCL 2020's name; see the module."""
        constant = self._begin(key, "set_specialization_constant")
        data = constant.to_bytes(value)
        self._names[constant] = "set_specialization_constant"
        self._values[constant] = data

    def get(self, key: object) -> Any:
        """Returns a constant's value under SYCL 2020's name: as set, else the default."""
        constant = self._begin(key, "set_specialization_constant")
        self._names[constant] = "set_specialization_constant"
        return constant.from_bytes(self.bytes_of(constant))

    def set_once(self, key: object, value: object) -> SpecConstant:
        """Sets a constant under the Modules proposal's name; see the module."""
        constant = self._begin(key, "set_spec_constant")
        data = constant.to_bytes(value)
        if self._bundle is not None:
            _require_equal(constant, data, self._bundle)
        self._names[constant] = "set_spec_constant"
        self._values[constant] = data
        return self._placeholder(constant)

    def get_once(self, key: object) -> SpecConstant:
        """Returns a constant under the Modules proposal's name."""
        constant = self._begin(key, "set_spec_constant")
        self._names[constant] = "set_spec_constant"
        return self._placeholder(constant)

    def bytes_of(self, constant: SpecializationConstant) -> bytes:
        """Returns the host bytes that a kernel of the group sees."""
        if self._bundle is not None:
            return _bytes_in(constant, self._bundle)
        return self._values.get(constant, constant.default_bytes)

    def _begin(self, key: object, names: _Names) -> SpecializationConstant:
        """Checks that a call is allowed, before anything changes."""
        constant = checked_constant(f"h.{names}", key)
        if names == "set_specialization_constant" and self._bundle is not None:
            raise _bound_and_set("set_specialization_constant, its get or spec= after use_kernel_bundle")
        before = self._names.get(constant)
        if before is not None and before != names:
            raise InvalidError(
                f"specialization constant '{constant.name}' is used under SYCL 2020's names "
                "(set_specialization_constant) and under the Modules proposal's (set_spec_constant) in one command "
                "group; use one pair"
            )
        if before == "set_spec_constant":
            raise InvalidError(
                f"specialization constant '{constant.name}': expected one call of set_spec_constant or "
                "get_spec_constant in a command group, found a second; keep what the first returned, or use "
                "set_specialization_constant, of which the last counts"
            )
        return constant

    def _placeholder(self, constant: SpecializationConstant) -> SpecConstant:
        return SpecConstant.of(constant, lambda: self.bytes_of(constant))


def _bytes_in(constant: SpecializationConstant, bundle: KernelBundle) -> bytes:
    return constant.to_bytes(bundle.get_specialization_constant(constant))


def _require_equal(constant: SpecializationConstant, data: bytes, bundle: KernelBundle) -> None:
    built = _bytes_in(constant, bundle)
    if built != data:
        raise InvalidError(
            f"specialization constant '{constant.name}': expected {constant.from_bytes(built)!r}, with which the "
            f"kernel bundle was built, found {constant.from_bytes(data)!r}; set it on the input bundle before the build"
        )


def _bound_and_set(calls: str) -> InvalidError:
    return InvalidError(
        f"a command group takes its specialization constants either from a kernel bundle or from its handler, "
        f"found {calls}; set them on the input bundle, kb.set_specialization_constant(ID, value), before the build"
    )
