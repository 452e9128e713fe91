"""Numbers for attributes, equal ones alike: hashing and comparing an attribute visits all of it, in Python."""

from __future__ import annotations

from xdsl.ir import Attribute


class AttributeNumbers:
    """Hashes each attribute object once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Attribute, int]] = {}
        """With the attribute, so that no other object gets its identity."""
        self._numbers: dict[Attribute, int] = {}

    def of(self, attribute: Attribute) -> int:
        """Returns the number of an attribute."""
        found = self._by_identity.get(id(attribute))
        if found is None:
            number = self._numbers.setdefault(attribute, len(self._numbers))
            found = self._by_identity[id(attribute)] = attribute, number
        return found[1]
