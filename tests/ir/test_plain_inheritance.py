"""Questions about xDSL's classes are answered without their subclasses, and in the same way."""

from __future__ import annotations

import subprocess
import sys
from abc import ABCMeta
from typing import Any

import pytest
from xdsl.dialects import builtin
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import AnyAttr, BaseAttr

from lapilli.ir.plain_inheritance import CLASSES, answer_by_inheritance

ASKED = (
    *(int, str, type, BaseAttr, AnyAttr, TypeAttribute),
    *(builtin.IntegerType, builtin.StringAttr, builtin.ModuleOp),
)


def test_the_answers_are_those_of_inheritance() -> None:
    answer_by_inheritance()
    for kind in (*CLASSES, ParametrizedAttribute, builtin.IntegerType, TypeAttribute, BaseAttr):
        assert [issubclass(other, kind) for other in ASKED] == [kind in other.__mro__ for other in ASKED]
    assert isinstance(builtin.i32, Attribute)
    assert not isinstance(3, Attribute)


def test_no_subclass_is_asked() -> None:
    program = """
from lapilli.ir.plain_inheritance import answer_by_inheritance
from xdsl.ir import Attribute
answer_by_inheritance()
asked = []
class Watching(type(Attribute)):
    def __subclasscheck__(cls, other):
        asked.append(cls)
        return super().__subclasscheck__(other)
class Watched(Attribute, metaclass=Watching): ...
class Unknown: ...
assert not issubclass(Unknown, Attribute) and not isinstance(Unknown(), Attribute)
assert not asked
"""
    subprocess.run((sys.executable, "-c", program), check=True)


@pytest.mark.parametrize("kind", ["Attribute", "IntegerType"])
def test_what_another_program_registers_is_one_of_them(kind: str) -> None:
    program = f"""
from lapilli.ir.plain_inheritance import answer_by_inheritance
from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Attribute
class Before: ...
class After: ...
class Other: ...
{kind}.register(Before)
assert isinstance(Before(), Attribute)
answer_by_inheritance()
assert isinstance(Before(), Attribute) and issubclass(Before, {kind})
assert not issubclass(After, Attribute)
{kind}.register(After)
assert isinstance(After(), Attribute) and issubclass(After, {kind})
assert issubclass(IntegerType, Attribute)
assert not issubclass(After, StringAttr) and not issubclass(Other, Attribute)
"""
    subprocess.run((sys.executable, "-c", program), check=True)


def _inside(kind: Any) -> list[Any]:
    return [kind, *(found for each in kind.__subclasses__() for found in _inside(each))]


def test_nothing_is_registered_with_them() -> None:
    get_dump = sys.modules["_abc"]._get_dump
    for kind in CLASSES:
        for each in _inside(kind):
            assert not isinstance(each, ABCMeta) or not get_dump(each)[0], each
