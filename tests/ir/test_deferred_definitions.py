"""Dataclasses whose methods are compiled at the first call behave like those compiled at once."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, dataclass, field
from typing import Any, ClassVar

import pytest

from lapilli.ir import late_methods
from lapilli.ir.deferred_definitions import MANY_OBJECTS, deferred_definitions, is_supported
from lapilli.ir.late_methods import CALLS_BEFORE_COMPILING, FREQUENT_CALLS

with deferred_definitions():

    @dataclass(frozen=True, slots=True, order=True)
    class Point:
        """A frozen one with slots."""

        x: int
        y: int = 2
        tags: tuple[str, ...] = field(default_factory=tuple, compare=False)

    @dataclass
    class Base:
        """A plain one with what runs after its ``__init__``."""

        a: int
        total: int = field(init=False)

        def __post_init__(self) -> None:
            self.total = self.a

    @dataclass
    class Derived(Base):
        """Inherits fields and calls its parent's ``__init__``."""

        b: int = 0

        def __post_init__(self) -> None:
            super().__post_init__()
            self.total += self.b


def test_a_frozen_class_keeps_its_contract() -> None:
    point = Point(1)
    assert point == Point(1, 2, ("other",)) and point != Point(1, 3) and Point(0, 9) < point
    assert hash(point) == hash(Point(x=1))
    assert repr(point).endswith("Point(x=1, y=2, tags=())")
    assert dataclasses.replace(point, y=5).y == 5 and dataclasses.asdict(point)["tags"] == ()
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]


def test_subclasses_reach_the_methods_of_their_parents() -> None:
    assert (Derived(1, 2).total, Base(7).total) == (3, 7)
    base = Base.__new__(Base)
    Base.__init__(base, 4)
    assert base == Base(4) and base != Derived(4)


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_methods_put_themselves_in_their_places() -> None:
    with deferred_definitions():

        @dataclass(order=True)
        class Late:
            n: int

    before, compare, order = Late.__init__, Late.__eq__, Late.__lt__
    made = [Late(number) for number in range(CALLS_BEFORE_COMPILING)]
    assert [late.n for late in made] == list(range(CALLS_BEFORE_COMPILING))
    assert Late.__init__ is before
    assert Late(5).n == 5 and Late.__init__ is not before
    assert Late.__init__.__qualname__ == f"{Late.__qualname__}.__init__"
    assert Late(1) < Late(2) and Late.__lt__ is not order
    assert all(late == late for late in made) and Late.__eq__ is compare
    assert Late(1) == Late(1) and Late.__eq__ is not compare


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_a_method_that_is_compiled_within_is_the_real_one() -> None:
    with deferred_definitions():

        @dataclass
        class Late:
            n: int

        made = [Late(number) for number in range(CALLS_BEFORE_COMPILING + 1)]
        assert "late_methods" not in Late.__init__.__code__.co_filename
    assert [late.n for late in made] == list(range(CALLS_BEFORE_COMPILING + 1))


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_methods_that_were_called_a_few_times_are_compiled_where_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(late_methods, "_called", [])
    with deferred_definitions():

        @dataclass
        class Late:
            n: int

        class Derived(Late):
            """Inherits everything."""

    stands_in, seldom = (Late.__init__, Late.__repr__), Late.__eq__
    made = [Derived(number) for number in range(FREQUENT_CALLS)]
    assert repr(made[0]).endswith("Derived(n=0)")
    assert (Late.__init__, Late.__repr__) == stands_in
    assert late_methods.compile_frequent() and not late_methods.compile_frequent()
    assert Late.__init__ is not stands_in[0] and Late.__repr__ is stands_in[1]
    # One that was called too seldom is looked at again: at its 17th call a launch would wait for it.
    for _ in range(FREQUENT_CALLS):
        assert not late_methods.compile_frequent() and Late.__eq__ is seldom
        assert made[0] == made[0]
    assert late_methods.compile_frequent() and Late.__eq__ is not seldom
    assert late_methods.compile_frequent(1) and not late_methods.compile_frequent(1)
    assert (Derived(7).n, Late.__init__.__qualname__) == (7, f"{Late.__qualname__}.__init__")


def make_both() -> Any:
    @dataclass(frozen=True)
    class Both:
        a: float
        _b: tuple[object, ...] = ()
        c: int = field(default=1, compare=False)
        d: int = field(default=2, repr=False)
        e: list[int] = field(default_factory=list, hash=False)

    return Both


def outcome(do: Callable[[], object]) -> object:
    try:
        return do()
    except TypeError as error:
        return str(error)


def test_comparisons_hashes_and_texts_that_are_not_compiled_yet_are_the_same() -> None:
    with deferred_definitions():
        late = make_both()
    nan = float("nan")
    results: list[object] = []
    for kind in (late, make_both()):
        one, other = kind(nan, ("x", one_two := (1, 2)), e=[1]), kind(nan, ("x", one_two), c=5, e=[1])
        results.append(
            [
                (
                    one == other,
                    one == kind(nan, ("x", one_two), d=3, e=[1]),
                    one == kind(nan),
                    one == 3,
                    one != 3,
                ),
                (hash(one) == hash(other), hash(one) == hash((nan, ("x", one_two), 2))),
                (repr(one), repr(kind(0.0, _b=("'",)))),
                outcome(lambda kind=kind: hash(kind([]))),
                outcome(lambda one=one: one.__hash__(1)),
                outcome(lambda one=one: one.__eq__()),
                one.__eq__(3),
            ]
        )
    assert results[0] == results[1]


def make_everything() -> type:
    @dataclass(slots=True)
    class Everything:
        a: int
        b: list[int] = field(default_factory=list)
        c: int = field(default=3, init=False)
        d: dict[str, int] = field(default_factory=dict, init=False)
        e: int = field(init=False)
        f: int = field(default=6, kw_only=True)
        g: int = field(kw_only=True)

        def __post_init__(self) -> None:
            self.e = self.a + self.f

    return Everything


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1,), {"g": 7}),
        ((1, [2]), {"g": 7, "f": 8}),
        ((), {"a": 1, "g": 7, "b": [2]}),
        ((1,), {}),
        ((), {"g": 7}),
        ((1, [2], 3), {"g": 7}),
        ((1,), {"a": 1, "g": 7}),
        ((1,), {"c": 1, "g": 7}),
        ((1,), {"h": 1, "g": 7}),
    ],
)
def test_an_init_that_is_not_compiled_yet_does_the_same(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    with deferred_definitions():
        deferred = make_everything()
    results: list[object] = []
    for kind in (deferred, make_everything()):
        try:
            results.append(dataclasses.asdict(kind(*args, **kwargs)))
        except TypeError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_every_object_has_its_own_defaults() -> None:
    with deferred_definitions():
        kind = make_everything()
    first, second = kind(1, g=2), kind(1, g=2)
    first.b.append(1)
    assert second.b == []


def test_pseudo_fields_reach_what_runs_after_init() -> None:
    with deferred_definitions():

        @dataclass
        class Scaled:
            factor: InitVar[int]
            kind: ClassVar[str] = "scaled"
            n: int = 2

            def __post_init__(self, factor: int) -> None:
                self.n *= factor

    assert (Scaled(3).n, Scaled(3, 4).n) == (6, 12)


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_other_threads_and_later_classes_are_left_alone() -> None:
    def is_deferred() -> bool:
        @dataclass
        class Probe:
            n: int

        return "late_methods" in Probe.__init__.__code__.co_filename

    found: list[bool] = []
    with deferred_definitions():
        thread = threading.Thread(target=lambda: found.append(is_deferred()))
        thread.start()
        thread.join()
        found.append(is_deferred())
    assert [*found, is_deferred()] == [False, True, False]


def test_the_collector_goes_on_as_before_and_still_finds_garbage() -> None:
    class Cycle:
        """Refers to itself."""

    frozen = gc.get_freeze_count()  # the tests themselves
    with deferred_definitions():
        assert not gc.isenabled() or not is_supported()
        kept = [[n] for n in range(2 * MANY_OBJECTS)]
    # Not 0: CPython 3.12 keeps the immortal tuples that its collector meets among the frozen objects.
    assert gc.isenabled() and gc.get_freeze_count() < frozen + MANY_OBJECTS and len(kept) == 2 * MANY_OBJECTS
    cycle = Cycle()
    cycle.me = cycle  # pyright: ignore[reportAttributeAccessIssue]
    gone = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert gone() is None
    gc.disable()
    try:
        with deferred_definitions():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


FROZEN = """
import gc, sys
from lapilli.ir import late_methods
from lapilli.ir.deferred_definitions import MANY_OBJECTS, resume_collecting
if sys.argv[1:]:
    gc.freeze()
frozen = gc.get_freeze_count()
passes = []
gc.callbacks.append(lambda phase, info: passes.append(info["generation"]))
gc.disable()
kept = [[n] for n in range(20 * MANY_OBJECTS)]
resume_collecting()
kept.append([0])
assert gc.isenabled() and len(kept) == 20 * MANY_OBJECTS + 1
assert (gc.get_freeze_count() >= frozen > MANY_OBJECTS) if sys.argv[1:] else (not passes), (frozen, passes)
"""


@pytest.mark.parametrize("options", [(), ("freeze",)], ids=["nothing", "everything"])
def test_what_a_program_froze_stays_frozen_and_else_the_collector_makes_no_pass(
    options: tuple[str, ...],
) -> None:
    subprocess.run([sys.executable, "-c", FROZEN, *options], check=True, timeout=60)


PROGRAM = """
from io import StringIO
from lapilli.ir.deferred_definitions import deferred_definitions
from lapilli.ir.deferred_operations import deferred_operations
with deferred_definitions(), deferred_operations():
    from xdsl.dialects import arith, builtin, func
from xdsl.context import Context
from xdsl.parser import Parser
context = Context()
for dialect in (builtin.Builtin, arith.Arith, func.Func):
    context.load_dialect(dialect)
text = 'func.func @f(%a : i32) -> i32 {\\n  %b = arith.addi %a, %a : i32\\n  func.return %b : i32\\n}'
module = Parser(context, text).parse_module()
module.verify()
assert builtin.i32 == builtin.IntegerType(32) and hash(builtin.i32) == hash(builtin.IntegerType(32))
print(module)
"""


def test_deferred_dialects_parse_verify_and_print() -> None:
    done = subprocess.run((sys.executable, "-P", "-c", PROGRAM), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "%b = arith.addi %a, %a : i32" in done.stdout
