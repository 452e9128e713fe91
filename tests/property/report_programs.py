"""Random kernels that print, assert and trap: what they say, in which work-item and line, is what Python says.

Every program of `programs.Generator` gets statements that print and assert.  On the host an assert that fails, and in
debug mode a division by zero or a NaN that is stored, ends its work-item; of those the device may name any.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import numpy as np

import lapilli as lp
from lapilli.frontend.interpretation import interpret

from . import typed_python
from .differential import OTHER_SPECS, Program
from .host_language import Language, type_defaults
from .programs import COMMON, FLUSHED, HEADER, SPECS, TABLES, WIDE, WORK_ITEMS, Generator
from .typed_python import BOOL, TYPES, HostArray

FLOAT_FORMATS = ("", ":.3f", ":10.2e", ":+.1f", ":>12", "!r", ":08.2f")
INTEGER_FORMATS = ("", ":5d", ":<6", ":+", ":x", ":08b", "!r", ":#o", ":,")


class ReportGenerator(Generator):
    """Writes one kernel that prints and asserts; the same seed gives the same text."""

    printed = 0

    def text(self, *, debug, level):
        """Returns a file with the kernel ``k`` over one dimension."""
        self.random.choice, choice = self._first_rank(), self.random.choice
        text, rank = self.kernel("k", level)
        self.random.choice = choice
        assert rank == 1
        return HEADER + text.replace("@lp.kernel(", f"@lp.kernel(debug={debug}, ", 1)

    def _first_rank(self):
        """Returns a `choice` that knows one rank only: work-items are told apart by their first id."""
        choice = self.random.choice
        return lambda found: 1 if found == [1, 1, 2, 3] else choice(found)

    def statement(self, scope, indent, depth, in_loop):
        if scope.is_kernel and self.printed < 6 and self.random.random() < 0.25:
            self.printed += 1
            if self.random.random() < 0.6:
                self.line(indent, f"print({self.said(scope)})")
            else:
                message = f", {self.formatted(scope)}" if self.random.random() < 0.6 else ""
                self.line(indent, f"assert {self.test(scope)}{message}")
            return False
        return super().statement(scope, indent, depth, in_loop)

    def said(self, scope):
        pick = self.random
        parts = ['"item"', "i"]
        for _ in range(pick.randrange(4)):
            kind = pick.choice([*self.types, BOOL])
            value = self.expression(scope, kind, 2)
            parts.append(
                pick.choice(
                    [f"lp.{kind.name}({value})", f"lp.{kind.name}({value})", self.formatted(scope), "TI[1]"]
                )
            )
        end = pick.choice(["", "", ', sep="|"', ', end=";\\n"'])
        return ", ".join(parts) + end

    def formatted(self, scope):
        pick = self.random
        kind = pick.choice(self.types)
        name = next((n for n, t in scope.variables.items() if t == kind), None) or self.literal_of(kind)
        spec = pick.choice(FLOAT_FORMATS if kind.is_float else INTEGER_FORMATS)
        return f'f"{pick.choice(["", "v=", "{{}} "])}{{{name}{spec}}}"'

    def literal_of(self, kind):
        return f"lp.{kind.name}({self.literal(kind)})"


class Stopped(Exception):
    """Debug mode ends a work-item here."""


class ReportLanguage(Language):
    """What a program sees on the host; prints are kept by work-item."""

    def __init__(self, spec_values=()):
        super().__init__(spec_values)
        self.lines = {}

    def builtins(self):
        return {**super().builtins(), "print": self.print}

    def print(self, *values, sep=" ", end="\n"):
        self.lines.setdefault(self.ids[0], []).append(sep.join(map(str, values)) + end)


class ReportProgram(Program):
    """The kernel of a seed; see `Program`."""

    def __init__(self, seed, folder, *, wide, debug):
        self.seed, self.debug, self.types = seed, debug, COMMON + WIDE if wide else COMMON
        text = ReportGenerator(seed, self.types).text(debug=debug, level=seed % 3)
        self.load(text, f"report_program_{seed}", folder)
        self.ranks = [1]

    def on_host(self):
        """Returns the arrays, printed lines by work-item, and what each work-item failed with: line and text."""
        arrays = self.inputs(0)
        language = ReportLanguage(OTHER_SPECS if self.seed % 2 else ())
        names = {**language.builtins(), "lp": language, "__name__": "host"}
        failures = {}
        kinds = {"w": TYPES["i32"], "v": TYPES["i32"], "out": TYPES["i32"], "outf": TYPES["f32"]}
        kinds |= {f"x{t}": TYPES[t] for t in self.types}
        with np.errstate(all="ignore"), _watched(self.debug):
            exec(self.code, names)
            type_defaults(names)
            arguments = {name: HostArray(arrays[name], kind) for name, kind in kinds.items()}
            for i in range(WORK_ITEMS):
                language.ids = (i,)
                try:
                    names["k"](**arguments)
                except (AssertionError, Stopped) as error:
                    failures[i] = (self._line_of(error), str(error))
        return arrays, language.lines, failures

    def _line_of(self, error):
        trace, line = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(self.path):
                line = trace.tb_lineno
            trace = trace.tb_next
        return line

    def check(self, device):
        """Raises AssertionError where a device, or the interpreter (None), differs from Python."""
        arrays, lines, failures = self.on_host()
        said = io.StringIO()
        where = f"{self.path} on {device or 'the interpreter'}"
        try:
            with redirect_stdout(said):
                found = self._run(device)
        except lp.KernelTrap as trap:
            assert trap.work_item is not None and trap.location is not None
            expected = failures.get(trap.work_item[0])
            assert expected, f"{where}: a false trap\n{trap}"
            line, text = expected
            assert trap.location.line == line, f"{where}: expected line {line}: {text}\n{trap}"
            assert text in str(trap), f"{where}: expected {text!r}\n{trap}"
            return
        assert not failures, f"{where}: no trap, expected one of {failures}"
        by_item = {}
        for line in said.getvalue().splitlines(keepends=True):
            by_item.setdefault(int(re.split(r"[ |]", line)[1].rstrip(";\n")), []).append(line)
        same = self._as_printed(by_item) == self._as_printed(lines)
        assert same, f"{where}: {by_item}\nexpected {lines}"
        for name in ("w", "v", "out", "outf"):
            np.testing.assert_allclose(
                found[name], arrays[name], rtol=2**-22, atol=FLUSHED, err_msg=f"{where}: {name}"
            )

    def _as_printed(self, by_item):
        """Forgets the sign of zeros in a program with `min` or `max`, which may give either."""
        if not re.search(r"\b(min|max)\(", self.text):
            return by_item
        return {
            item: [re.sub(r"-(0\.?0*\b)", r"\1", line) for line in lines] for item, lines in by_item.items()
        }

    def _run(self, device):
        arrays = self.inputs(0)
        ids = [getattr(self.module, name) for name, *_ in (*SPECS, *TABLES)]
        spec = dict(zip(ids, OTHER_SPECS if self.seed % 2 else (), strict=False))
        if device is None:
            interpret(self.module.k, WORK_ITEMS, kwargs=arrays, spec=spec)
            return arrays
        there = {name: lp.asarray(array, device=device) for name, array in arrays.items()}
        launch = self.module.k[WORK_ITEMS]
        (launch.spec(spec) if spec else launch)(**there).wait()
        return {name: there[name].numpy() for name in ("w", "v", "out", "outf")}


@contextmanager
def _watched(debug) -> Iterator[None]:
    """Ends work-items where debug mode traps."""

    def stop(what):
        raise Stopped(what)

    typed_python.WATCHERS[:] = [stop] if debug else []
    try:
        yield
    finally:
        typed_python.WATCHERS.clear()
