"""Classes that are made in fewer steps are those that `dataclasses` makes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from lapilli.ir import quick_dataclasses
from lapilli.ir.deferred_definitions import deferred_definitions, is_supported

pytestmark = pytest.mark.skipif(
    not (is_supported() and quick_dataclasses.is_supported()), reason="this Python makes dataclasses at once"
)

DESCRIBE = """
import dataclasses, json, sys
from contextlib import nullcontext
from lapilli.ir.deferred_definitions import deferred_definitions

def test_a_frozen_class_refuses_without_compiling(monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))
    with deferred_definitions():
        late: Any = _classes()["Frozen"]
    refusals = [
        [_error(lambda kind=kind: setattr(kind(1), "a", 2)), _error(lambda kind=kind: delattr(kind(1), "other"))]
        for kind in (late, _classes()["Frozen"])
    ]
    assert refusals[0] == refusals[1]
    assert all("late_methods" in vars(late)[name].__code__.co_filename for name in ("__setattr__", "__delattr__"))


METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")

def value_of(default):
    return repr(default) if isinstance(default, int | str | float | tuple | None) else type(default).__name__

def described(kind):
    fields = [
        (f.name, str(f.type), value_of(f.default), f.default_factory is not dataclasses.MISSING, f.init, f.repr, f.hash,
         f.compare, f.kw_only, str(f._field_type), getattr(getattr(kind, f.name, None), "__class__", type).__name__)
        for f in kind.__dataclass_fields__.values()
    ]
    methods = {
        name: getattr(kind.__dict__[name], "__qualname__", None) for name in METHODS if name in kind.__dict__
    }
    rest = [
        repr(kind.__dataclass_params__), kind.__dict__.get("__match_args__"), repr(kind.__dict__.get("__slots__")),
        sorted(getattr(kind, "__abstractmethods__", ())), sorted(set(kind.__dict__) - set(METHODS) - {"__doc__"}),
    ]
    return [fields, methods, rest]

with deferred_definitions() if sys.argv[1] == "quick" else nullcontext():
    import lapilli as lp
    from lapilli.frontend.compile import compile_kernels
    from lapilli.ir.target_env import TargetEnv
    import xdsl.dialects.builtin, xdsl.dialects.arith, xdsl.dialects.memref, xdsl.irdl.declarative_assembly_format
    import lapilli.vk_runtime.device, lapilli.vk_runtime.queue, lapilli.spirv.build_image, lapilli.passes.limit_loops
    import lapilli.frontend.launch, lapilli.frontend.loops, lapilli.passes.split_modules
found = {}
for name, module in sorted(sys.modules.items()):
    if name.partition(".")[0] in ("lapilli", "xdsl"):
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and "__dataclass_fields__" in vars(kind) and kind.__module__ == name:
                found[f"{name}.{kind.__qualname__}"] = described(kind)
print(json.dumps(found, default=lambda value: type(value).__name__))
"""


def _described(how: str) -> dict[str, Any]:
    run = subprocess.run((sys.executable, "-c", DESCRIBE, how), capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_the_classes_of_the_compiler_are_the_same():
    expected, found = _described("plain"), _described("quick")
    assert len(expected) > 250
    assert found == expected


def _classes() -> dict[str, Any]:
    @dataclass(frozen=True, slots=True)
    class Frozen:
        a: int
        b: tuple[int, ...] = ()
        c: list[int] = field(default_factory=list, compare=False)

    @dataclass
    class Plain(ABC):
        self: int
        n: int = field(default=3, repr=False)

        @abstractmethod
        def size(self) -> int: ...

    @dataclass(eq=False)
    class Derived(Plain):
        m: int = field(default=1, kw_only=True)

        def size(self) -> int:
            return self.m

        def __repr__(self) -> str:
            return "mine"

    @dataclass
    class Hashed:
        a: int

        def __hash__(self) -> int:
            return 5

    return {kind.__name__: kind for kind in (Frozen, Plain, Derived, Hashed)}


def test_their_objects_do_the_same(monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))
    results: list[object] = []
    with deferred_definitions():
        quick = _classes()
    for kinds in (quick, _classes()):
        frozen, derived = kinds["Frozen"](1, (2,)), kinds["Derived"](4, m=9)
        results.append(
            [
                repr(frozen).rpartition(".")[2],
                (hash(frozen), frozen == kinds["Frozen"](1, (2,), [5]), dataclasses.astuple(frozen)),
                _error(lambda frozen=frozen: setattr(frozen, "a", 2)),
                _error(lambda frozen=frozen: delattr(frozen, "a")),
                (kinds["Frozen"].__slots__, kinds["Frozen"].__match_args__, hasattr(frozen, "__dict__")),
                (derived.self, derived.n, derived.size(), repr(derived), derived == kinds["Derived"](4, m=9)),
                _error(kinds["Plain"]),
                _error(kinds["Derived"]),
                (kinds["Plain"].__hash__, hash(kinds["Hashed"](1)), kinds["Derived"].__hash__ is None),
                [f.name for f in dataclasses.fields(kinds["Derived"])],
            ]
        )
    assert results[0] == results[1]


def test_a_text_is_not_compiled_and_ends_where_an_object_holds_itself(monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))
    texts: list[str] = []
    with deferred_definitions():
        late: Any = _classes()["Frozen"]
    for kind in (late, _classes()["Frozen"]):
        held: list[Any] = []
        held.append(kind(1, c=held))
        texts.append(repr(held[0]).replace(kind.__qualname__, ""))
    assert texts[0] == texts[1]
    assert "late_methods" in vars(late)["__repr__"].__code__.co_filename


METHODS = ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")


def test_what_stands_for_the_methods_of_a_class_is_little(monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))
    with deferred_definitions():
        frozen: Any = _classes()["Frozen"]
    cells = [cell for name in METHODS for cell in frozen.__dict__[name].__closure__]
    assert (len(cells), len({id(cell) for cell in cells})) == (len(METHODS), 1)


def _error(do: Any) -> str:
    with pytest.raises((TypeError, AttributeError)) as error:
        do()
    return str(error.value).rpartition(".")[2]


def _unusual() -> list[Any]:
    @dataclass(order=True)
    class Ordered:
        n: int

    @dataclass
    class WithClassVariable:
        kind: ClassVar[str] = "a"
        n: int = 1

    return [Ordered, WithClassVariable]


def test_unusual_classes_are_left_to_dataclasses(monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))
    with deferred_definitions():
        ordered, with_variable = _unusual()
    assert ordered(1) < ordered(2)
    assert [f.name for f in dataclasses.fields(with_variable)] == ["n"]


@pytest.mark.parametrize("wrong", ["frozen", "mutable"])
def test_what_dataclasses_refuses_is_refused(wrong, monkeypatch):
    monkeypatch.setattr(quick_dataclasses, "_OURS", (__name__.partition(".")[0],))

    @dataclass
    class Base:
        n: int = 1

    with deferred_definitions(), pytest.raises((TypeError, ValueError)):
        if wrong == "frozen":

            @dataclass(frozen=True)
            class _Frozen(Base):
                m: int = 2
        else:

            @dataclass
            class _Mutable:
                values: list[int] = []  # noqa: RUF008
