"""What the ``__init__`` of a dataclass does, without compiling it: 0.1 ms for each of 150 classes of a first launch.

For `deferred_definitions`, which compiles the real one when a class is used often.  Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field
from typing import Any

INIT_PARAMETERS = (
    "fields",
    "std_fields",
    "kw_only_fields",
    "frozen",
    "has_post_init",
    "self_name",
    "globals",
    "slots",
)
"""Parameters of the function of `dataclasses` that makes an ``__init__``, in CPython 3.11 and 3.12."""

Assign = Callable[[Any, Sequence[Any], Mapping[str, Any]], bool]


def assign_fields(
    fields: Sequence[Field[Any]],
    std_fields: Sequence[Field[Any]],
    kw_only_fields: Sequence[Field[Any]],
    frozen: bool,
    has_post_init: bool,
    self_name: str,
    globals: Mapping[str, Any],
    slots: bool,
) -> Assign | None:
    """Returns a function that initialises an object from arguments, and returns False where they do not fit.

    It has changed nothing then, and the real ``__init__`` says what is wrong.  None for classes with pseudo-fields.
    The parameters are those of the function of `dataclasses`.
    """
    del self_name, globals
    if any(field._field_type.name != "_FIELD" for field in fields):  # type: ignore[attr-defined]
        return None
    names = tuple(field.name for field in std_fields)
    allowed = frozenset((*names, *(field.name for field in kw_only_fields)))
    required = frozenset(
        field.name
        for field in fields
        if field.init and field.default is MISSING and field.default_factory is MISSING
    )
    set_field = object.__setattr__ if frozen else setattr

    def assign(self: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        values = dict(zip(names, args, strict=False))
        if len(args) > len(names) or not allowed.issuperset(kwargs) or not values.keys().isdisjoint(kwargs):
            return False
        values.update(kwargs)
        if not required.issubset(values):
            return False
        for field in fields:
            name = field.name
            if name in values:
                set_field(self, name, values[name])
            elif field.default_factory is not MISSING:
                set_field(self, name, field.default_factory())
            elif field.default is not MISSING and (field.init or slots):
                set_field(self, name, field.default)
        if has_post_init:
            self.__post_init__()
        return True

    return assign
