"""Random kernels of work-groups: shared and private arrays, barriers under uniform conditions, group functions,
atomics, structs in memory.  On the host a work-item is a generator that yields where it waits for the others.
"""

from __future__ import annotations

import copy
import operator
import re

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from .host_language import Language, type_defaults
from .programs import COLUMNS, COMMON, FLUSHED, HEADER, ROWS, SPECS, TABLES, WORK_ITEMS, Generator, Scope
from .typed_python import BOOL, INDEX, TYPES, HostArray, Number, convert

LOCAL, GROUPS = WORK_ITEMS, 2
ATOMICS = {"add": operator.add, "min": min, "max": max, "or_": operator.or_, "xor": operator.xor,
           "and_": operator.and_}  # fmt: skip
"""What is done to each element of `counts`: always the same, so that the order does not matter."""
COMBINE = {"add": operator.add, "mul": operator.mul, "min": min, "max": max, "and": operator.and_,
           "or": operator.or_, "xor": operator.xor}  # fmt: skip
CELL = """@lp.struct
class Cell:
    x: lp.f32
    n: lp.i32
    t: lp.FixedArray[lp.u32, 3]
def same(cell):
    return cell
"""
RECORD = np.dtype([("x", np.float32), ("n", np.int32), ("t", np.uint32, 3)])
FIELDS = {"x": TYPES["f32"], "n": TYPES["i32"], "t": TYPES["u32"]}


class GroupGenerator(Generator):
    """Writes kernels of one dimension and groups of `LOCAL` work-items; the same seed gives the same text."""

    def text(self, *, debug=False):
        """Returns a file with the kernel ``k``."""
        self.lines = []
        helpers = [self.helper("k", [])] if self.random.random() < 0.5 else []
        inputs = {f"x{t.name}": t for t in self.types}
        parameters = [f"{n}: lp.In[lp.{t.name}]" for n, t in inputs.items()]
        parameters += ["w: lp.Array[lp.i32, 3]", "v: lp.Array[lp.i32, 3]", "out: lp.Out[lp.i32, 2]"]
        parameters += ["outf: lp.Out[lp.f32, 2]", "counts: lp.Array[lp.i32]", "cells: lp.Array[Cell]"]
        parameters += ["n: lp.i32", "sums: lp.LocalArray[lp.i32]"]
        self.random.shuffle(parameters)
        level = self.random.choice((0, 1, 2, 2))
        self.line(0, f"@lp.kernel(contract=False, local_size={LOCAL}, opt_level={level}, debug={debug})")
        self.line(0, f"def k({', '.join(parameters)}):")
        self.tile = self.random.choice(self.types)
        length = self.random.choice([str(LOCAL), "SU + 3"])  # SU is at least 5
        for text in ("i = lp.global_id(0)", "lid = lp.local_id(0)", "g = lp.group_id(0)",
                     f"tile = lp.local.array({length}, lp.{self.tile.name})",
                     "mine = lp.private.array(4, lp.i32)", "for e in range(4):", "    mine[e] = e - 2"):  # fmt: skip
            self.line(1, text)
        scope = Scope({"i": INDEX, "lid": INDEX}, inputs, ("w", "v"), helpers)
        self.declare(scope, 1)
        self.shared(scope, 1)
        self.phases(scope, 1, 0)
        self.results(scope)
        return "from __future__ import annotations\n" + HEADER + CELL + "\n".join(self.lines) + "\n"

    def phases(self, scope, indent, depth):
        """Writes steps that all work-items of a group take together; what they set in blocks ends there."""
        known = dict(scope.variables)
        for _ in range(self.random.randrange(2, 5) if depth == 0 else self.random.randrange(1, 3)):
            kinds = [self.alone, self.shared, self.group, self.sum, self.tally, self.cell, self.own]
            step = self.random.choice(kinds)
            if depth < 2 and self.random.random() < 0.35:
                self.together(scope, indent, depth)
            else:
                step(scope, indent)
        if depth:
            scope.variables = known

    def new(self, scope, indent, kind, value):
        """Writes ``name = value``, of a type that both sides know."""
        name = self.name("a")
        self.line(indent, f"{name} = {value}")
        scope.variables[name] = kind

    def uniform(self):
        return self.random.choice(["n", "2", "g + 1", "SI % 3 + 1", "lp.i32(SB) + 1"])

    def alone(self, scope, indent):
        self.block(scope, indent, 3, False)

    def shared(self, scope, indent):
        self.line(indent, f"tile[lid] = {self.converted(scope, self.tile, 1)}")
        self.line(indent, "lp.barrier()")
        place = self.random.choice(
            [f"(lid + {self.random.randrange(LOCAL)}) % {LOCAL}", f"{LOCAL - 1} - lid", "n"]
        )
        self.new(scope, indent, self.tile, f"tile[{place}]")
        scope.arrays["tile"] = self.tile
        self.alone(scope, indent)
        del scope.arrays["tile"]
        self.line(indent, "lp.barrier()")

    def group(self, scope, indent):
        kind = self.random.choice([TYPES["i32"], TYPES["u32"], BOOL, self.tile])
        value = self.converted(scope, kind, 1)
        if kind is BOOL:
            call = f"{self.random.choice(['any', 'all'])}({value})"
        elif kind.is_float or self.random.random() < 0.2:
            call = f"broadcast(lp.{kind.name}({value}), {self.random.randrange(LOCAL)})"
        else:
            function = self.random.choice(["reduce", "inclusive_scan", "exclusive_scan"])
            call = f'{function}(lp.{kind.name}({value}), "{self.random.choice(list(COMBINE))}")'
        self.new(scope, indent, kind, f"lp.group.{call}")

    def sum(self, scope, indent):
        op = self.random.choice(list(ATOMICS))
        self.line(indent, "if lid < 4:")
        self.line(indent + 1, f"sums[lid] = {self.expression(scope, TYPES['i32'], 2)}")
        self.line(indent, "lp.barrier()")
        self.line(indent, f"if {self.test(scope)}:")
        self.line(
            indent + 1, f"lp.atomic.{op}(sums, {self.small(scope, 4)}, lp.i32({self.small(scope, 99)}))"
        )
        self.line(indent, "lp.barrier()")
        self.new(scope, indent, TYPES["i32"], "sums[(lid + 1) % 4]")
        self.line(indent, "lp.barrier()")

    def tally(self, scope, indent):
        for place, op in enumerate(ATOMICS):
            if self.random.random() < 0.4:
                value = self.expression(scope, TYPES["i32"], 2)
                self.line(indent, f"lp.atomic.{op}(counts, {place}, lp.i32({value}))")

    def cell(self, scope, indent):
        kind, place = TYPES["f32"], "cells[i].x"
        if self.random.random() < 0.6:
            kind, place = self.random.choice(
                [(TYPES["i32"], "cells[i].n"), (TYPES["u32"], f"cells[i].t[{self.small(scope, 3)}]")]
            )
        self.line(
            indent, f"{place} {self.random.choice(['=', '+=', '-='])} {self.expression(scope, kind, 1)}"
        )
        copied = self.name("c")
        self.line(indent, f"{copied} = same(cells[i])")
        self.line(indent, f"cells[i].n ^= lp.i32({copied}.t[{self.small(scope, 3)}])")
        self.new(scope, indent, TYPES["i32"], f"{copied}.n")
        self.new(scope, indent, TYPES["f32"], f"{copied}.x")

    def own(self, scope, indent):
        symbol = self.random.choice(["=", "+=", "^="])
        self.line(indent, f"mine[{self.small(scope, 4)}] {symbol} {self.expression(scope, TYPES['i32'], 1)}")
        self.new(scope, indent, TYPES["i32"], f"mine[{self.small(scope, 4)}]")

    def together(self, scope, indent, depth):
        """Writes a loop or a branch that the work-items of a group agree about."""
        form, counter = self.random.randrange(3), self.name("r")
        if form == 0:
            self.line(indent, f"for {counter} in range({self.uniform()}):")
            self.line(indent + 1, "pass")
            self.phases(scope, indent + 1, depth + 1)
        elif form == 1:
            self.line(indent, f"if {self.uniform()} > 1:")
            self.line(indent + 1, "pass")  # assignments have nothing to assign to where no variable is left
            self.phases(scope, indent + 1, depth + 1)
            self.line(indent, "else:")
            self.line(indent + 1, "pass")
            self.phases(scope, indent + 1, depth + 1)
        else:
            self.line(indent, f"{counter} = 0")
            self.line(indent, f"while {counter} < {self.uniform()}:")
            self.line(indent + 1, f"{counter} += 1")
            self.phases(scope, indent + 1, depth + 1)
            self.line(indent + 1, f"if {counter} == {self.uniform()}:")
            self.line(indent + 2, "break")


class _Cells:
    """An array of records: fields are reached in place."""

    def __init__(self, data):
        self.data = data

    def __getitem__(self, index):
        return _Cell(self.data[operator.index(index)])


class _Cell:
    def __init__(self, record):
        object.__setattr__(self, "record", record)

    def __getattr__(self, name):
        part = HostArray(self.record[name].reshape(-1), FIELDS[name])
        return part if name == "t" else part[0]

    def __setattr__(self, name, value):
        self.record[name] = convert(value, FIELDS[name]).value


class GroupLanguage(Language):
    """What a program of this file sees as ``lp`` on the host."""

    def __init__(self, spec_values=()):
        super().__init__(spec_values)
        self.local = self.private = self.atomic = self
        self.LocalArray = self.In
        self.lid, self.arrays, self.taken = 0, [], [0] * LOCAL
        for name, function in ATOMICS.items():
            setattr(self, name, lambda a, i, v, f=function: a.__setitem__(i, f(a[i], v)))

    def struct(self, made):
        return made

    def local_id(self, _):
        return Number(self.lid, INDEX)

    def group_id(self, _):
        return Number(self.ids[0] // LOCAL, INDEX)

    def array(self, shape, kind):
        """Each work-item's own array, for `tile` too: `run` gives all work-items of a group the first one's."""
        taken = self.taken[self.lid]
        self.taken[self.lid] += 1
        made = HostArray(np.zeros(operator.index(shape), kind.numpy), kind)
        if taken:
            return made
        self.arrays = self.arrays or [made]
        return self.arrays[0]

    def run(self, kernel, arguments):
        """Runs one work-group after the other, its work-items in turn from one barrier to the next."""
        for group in range(GROUPS):
            self.arrays, self.taken = [], [0] * LOCAL
            sums = HostArray(np.zeros(4, np.int32), TYPES["i32"])
            items = [kernel(**arguments, sums=sums) for _ in range(LOCAL)]
            answers = [None] * LOCAL
            while items:
                asked = []
                for lane, item in enumerate(items):
                    self.lid, self.ids = lane, (group * LOCAL + lane,)
                    try:
                        asked.append(item.send(answers[lane]))
                    except StopIteration:
                        asked.append("end")
                assert len({a if isinstance(a, str) else a[::2] for a in asked if a}) <= 1, "not uniform"
                if asked[0] == "end":
                    break
                answers = asked if asked[0] is None else _answers(asked)


def _answers(asked):
    """Returns what a group function gives each work-item."""
    name, rest = asked[0][0], asked[0][2:]
    values = [a[1] if isinstance(a[1], Number) else Number(a[1], BOOL) for a in asked]
    if name in ("any", "all"):
        return [Number({"any": any, "all": all}[name](values), BOOL)] * LOCAL
    if name == "broadcast":
        return [values[rest[0]]] * LOCAL
    combine, kind = COMBINE[rest[0]], values[0].type
    least = -(1 << (kind.bits - 1)) if kind.kind == "int" else 0
    none = {"mul": 1, "min": least + (1 << kind.bits) - 1, "max": least, "and": -1}.get(rest[0], 0)
    running = [convert(none, kind)]
    for value in values:
        running.append(combine(running[-1], value))
    if name == "reduce":
        return running[-1:] * LOCAL
    return running[1:] if name == "inclusive_scan" else running[:-1]


def on_host(text, arrays, types, n, spec_values):
    """Runs the kernel of a file in Python; `arrays` hold what it wrote."""
    text = text.replace("import lapilli as lp", "").replace("lp.barrier()", "yield")
    text = re.sub(r"= lp\.group\.(\w+)\((.*)\)$", r'= yield ("\1", \2)', text, flags=re.MULTILINE)
    language = GroupLanguage(spec_values)
    names = {**language.builtins(), "lp": language, "__name__": "host"}
    with np.errstate(all="ignore"):
        exec(compile(text, "host", "exec"), names)
        type_defaults(names)
        names["same"] = lambda cell: _Cell(copy.deepcopy(cell.record))
        kinds = {"w": TYPES["i32"], "v": TYPES["i32"], "out": TYPES["i32"], "counts": TYPES["i32"],
                 "outf": TYPES["f32"], **{f"x{t}": TYPES[t] for t in types}}  # fmt: skip
        given = {name: HostArray(arrays[name], kind) for name, kind in kinds.items()}
        language.run(names["k"], {**given, "cells": _Cells(arrays["cells"]), "n": Number(n, TYPES["i32"])})


def inputs(seed, types=COMMON):
    """Returns the arrays that a kernel starts from."""
    random, size = np.random.default_rng(seed), LOCAL * GROUPS
    arrays = {}
    for name in types:
        numbers = random.integers(-20, 20, WORK_ITEMS)
        arrays[f"x{name}"] = (numbers / 4 if name[0] == "f" else numbers).astype(TYPES[name].numpy)
    for name in ("w", "v"):
        arrays[name] = random.integers(-9, 99, (size, ROWS, COLUMNS)).astype(np.int32)
    arrays["out"], arrays["outf"] = np.zeros((size, 40), np.int32), np.zeros((size, 40), np.float32)
    arrays["counts"] = random.integers(-99, 99, len(ATOMICS)).astype(np.int32)
    arrays["cells"] = np.zeros(size, RECORD)
    arrays["cells"]["n"] = random.integers(-9, 9, size)
    return arrays


OTHER_SPECS = (7, 6, -0.25, False, [1, 2, -3, 2**31 - 1], [[1, 2, 3], [-4, 5, 0.5]])
WRITTEN = ("w", "v", "out", "outf", "counts", "cells")


def check(seed, devices, types=COMMON, *, debug=False, change=str):
    """Runs the kernel of a seed in the interpreter and on devices, and compares with Python.

    Args:
        change: what to make of the source before it is compiled, see `variants`.

    Raises:
        AssertionError: numbers differ.
    """
    text = GroupGenerator(seed, types).text(debug=debug)
    n, expected = seed % 3 + 1, inputs(seed, types)
    values = OTHER_SPECS if seed % 2 else ()
    on_host(text, expected, types, n, values)
    source = lp.kernel_from_source(change(text), name="k")
    scope = source.function.__globals__
    ids = [scope[name] for name, *_ in (*SPECS, *TABLES)]
    spec = dict(zip(ids, values, strict=False))
    for device in (None, *devices):
        try:
            arrays = _run(source, device, inputs(seed, types), n, spec)
        except lp.KernelTrap as trap:
            assert debug and "by zero" in str(trap)
            continue
        for name in WRITTEN:
            for field in arrays[name].dtype.names or (None,):
                found, wanted = (a[name] if field is None else a[name][field] for a in (arrays, expected))
                np.testing.assert_allclose(
                    found, wanted, rtol=2**-22 if found.dtype.kind == "f" else 0, atol=FLUSHED,
                    err_msg=f"seed {seed}, {device or 'interpreter'}, {name}.{field}\n{text}",
                )  # fmt: skip


def _run(kernel, device, arrays, n, spec):
    """Returns the arrays as they are after a launch; interpreted where `device` is None."""
    if device is None:
        interpret(kernel, GROUPS * LOCAL, kwargs={**arrays, "n": n, "sums": lp.local(4)}, spec=spec)
        return arrays
    dtypes = {"cells": kernel.function.__globals__["Cell"]}
    given = {name: lp.asarray(array, dtypes.get(name), device=device) for name, array in arrays.items()}
    kernel[GROUPS * LOCAL].spec(spec)(**given, n=n, sums=lp.local(4))
    return {name: array.numpy() for name, array in given.items()}
