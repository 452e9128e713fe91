"""limit-loops: what is left alone, what is counted, and that unrolled loops keep their order."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from lapilli.ir.dialects.kernel_reports import CountRoundsOp
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import verify_module
from lapilli.passes.limit_loops import limit_loops
from lapilli.passes.optimise.constants import constant_integer, wrap
from lapilli.passes.optimise.fold_integers import compares, computes

CAP = 1000


def run(body: str, *, cap: int = CAP, level: int = 1, helpers: str = "") -> str:
    return str(limited(body, cap=cap, level=level, helpers=helpers))


def limited(body: str, *, cap: int = CAP, level: int = 1, helpers: str = "") -> ModuleOp:
    text = f"""
    {helpers}
    func.func @k(%n: i32, %a: memref<?xi32>) attributes {{gpu.kernel, kernel.rank = 1 : i32}} {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %ten = arith.constant 10 : i32
      %hundred = arith.constant 100 : i32
      %huge = arith.constant -100 : i32
      %i = "gpu.global_id"() <{{dimension = #gpu<dim x>}}> : () -> index
      %mine = arith.index_cast %i : index to i32
      %first_dimension = arith.constant 0 : index
      %odd = arith.trunci %n : i32 to i1
      {body}
      func.return
    }}"""
    module = parse_module(text).module
    verify_module(module)
    limit_loops(module, cap, level)
    verify_module(module)
    return module


def loop(high: str, body: str = "memref.store %n, %a[%i] : memref<?xi32>", low: str = "%zero") -> str:
    return f"scf.for %x{len(body)} = {low} to {high} step %one : i32 {{ {body} }}"


def names(text: str) -> list[str]:
    """The operations on rounds and the control flow, in order."""
    wanted = (
        "scf.for",
        "scf.while",
        "scf.if",
        "count_rounds",
        "check_rounds",
        "agree_on_rounds",
        "func.func",
    )
    return [w for line in text.splitlines() for w in wanted if w in line]


def test_loops_that_stay_below_the_cap_are_left_alone() -> None:
    body = loop("%ten", loop("%ten")) + "\n" + loop("%hundred")
    assert "rounds" not in run(body)
    assert names(run(body)) == ["func.func", "scf.for", "scf.for", "scf.for"]


def test_loops_add_up() -> None:
    """Ten loops of 100 rounds and one more each, for the round in which a loop ends."""
    nine = "\n".join([loop("%hundred")] * 9)
    assert "check_rounds" not in run(nine)
    assert run(f"{nine}\n{loop('%hundred')}").count("check_rounds") == 10


@pytest.mark.parametrize(
    ("casts", "type_", "is_bounded"),
    [
        ("%s = arith.index_cast %i : index to i32", "i32", True),
        ("%s = arith.index_cast %i : index to i8", "i8", False),
        ("%b = arith.index_cast %i : index to i16 %s = arith.index_cast %b : i16 to index", "index", False),
    ],
)
def test_ids_that_a_cast_cut_short_may_be_negative(casts: str, type_: str, is_bounded: bool) -> None:
    body = f"{casts} %h = arith.constant 100 : {type_} %e = arith.constant 1 : {type_} " + (
        f"scf.for %x = %s to %h step %e {': ' + type_ if type_ != 'index' else ''} {{ {loop('%ten')} }}"
    )
    assert ("check_rounds" not in run(body, cap=2000)) == is_bounded


def test_an_unknown_bound_is_counted() -> None:
    assert names(run(loop("%n"))) == ["func.func", "scf.for", "count_rounds", "check_rounds"]


def test_only_the_outermost_loop_is_checked() -> None:
    assert names(run(loop("%n", loop("%mine")))) == [
        "func.func",
        "scf.for",
        "count_rounds",
        "scf.for",
        "count_rounds",
        "agree_on_rounds",
        "count_rounds",
        "check_rounds",
    ]


def test_a_branch_agrees_where_it_ends() -> None:
    body = f"scf.if %odd {{ {loop('%n')} }}\n {loop('%n', 'memref.store %one, %a[%i] : memref<?xi32>')}"
    assert names(run(body)) == [
        "func.func",
        "scf.if",
        "scf.for",
        "count_rounds",
        "check_rounds",
        "count_rounds",
        "count_rounds",  # the round that the driver runs where no work-item takes the branch
        "agree_on_rounds",
        "scf.for",
        "count_rounds",
        "check_rounds",
    ]


def test_a_branch_in_a_loop_agrees_once() -> None:
    inner = (
        f"scf.if %odd {{ {loop('%mine')} {loop('%n', 'memref.store %one, %a[%i] : memref<?xi32>', '%one')} }}"
    )
    assert names(run(loop("%n", inner))) == [
        "func.func",
        "scf.for",
        "count_rounds",
        "scf.if",
        "scf.for",
        "count_rounds",
        "agree_on_rounds",  # those of the other loop come on top
        "count_rounds",
        "scf.for",
        "count_rounds",
        "count_rounds",
        "agree_on_rounds",
        "check_rounds",
    ]


def test_a_while_of_unknown_rounds_counts_its_tests() -> None:
    body = """%r = scf.while (%x = %n) : (i32) -> i32 {
        %c = arith.cmpi slt, %x, %ten : i32
        scf.condition(%c) %x : i32
      } do {
      ^bb0(%y: i32):
        %z = arith.muli %y, %ten : i32
        scf.yield %z : i32
      }"""
    assert names(run(body)) == ["func.func", "scf.while", "count_rounds", "check_rounds"]


COUNTED_WHILE = """%r = scf.while (%x = %zero) : (i32) -> i32 {{
        %c = arith.cmpi ult, %x, {high} : i32
        %both = arith.andi %c, %odd : i1
        scf.condition(%both) %x : i32
      }} do {{
      ^bb0(%y: i32):
        %z = arith.addi %y, {step} : i32
        scf.yield %z : i32
      }}"""


@pytest.mark.parametrize(
    ("high", "step", "is_known"),
    [
        ("%hundred", "%one", True),
        ("%n", "%one", False),
        ("%hundred", "%ten", True),
        ("%hundred", "%n", False),
        ("%huge", "%one", False),  # as an unsigned number nearly 2**32
    ],
)
def test_a_while_that_counts_to_a_constant_is_known(high: str, step: str, is_known: bool) -> None:
    text = run(COUNTED_WHILE.format(high=high, step=step))
    assert ("check_rounds" not in text) is is_known


def recurrence(first: str, test: str, change: str) -> str:
    """A loop that changes a value by `change` while `test` holds of it."""
    return f"""%r = scf.while (%x = {first}) : (i32) -> i32 {{
        %c = arith.cmpi {test} : i32
        scf.condition(%c) %x : i32
      }} do {{
      ^bb0(%y: i32):
        %z = arith.{change} : i32
        scf.yield %z : i32
      }}"""


@pytest.mark.parametrize(
    ("first", "test", "change", "is_known"),
    [
        ("%one", "slt, %x, %hundred", "shli %y, %one", True),
        ("%hundred", "sgt, %x, %zero", "shrsi %y, %one", True),
        ("%n", "sgt, %x, %zero", "shrsi %y, %one", True),
        ("%n", "ugt, %x, %zero", "shrui %y, %one", True),
        ("%hundred", "sgt, %x, %zero", "subi %y, %ten", True),
        ("%n", "ugt, %x, %zero", "shrsi %y, %one", False),  # stays at -1
        ("%n", "sgt, %x, %zero", "shrsi %y, %zero", False),
        ("%n", "slt, %x, %hundred", "shli %y, %one", False),  # stays at 0
        ("%zero", "slt, %x, %hundred", "shli %y, %one", False),
        ("%one", "sgt, %x, %zero", "shrsi %y, %n", False),
    ],
)
def test_doubling_and_halving(first: str, test: str, change: str, is_known: bool) -> None:
    text = run(recurrence(first, test, change))
    assert ("check_rounds" not in text) is is_known


@pytest.mark.parametrize(
    ("end", "test", "is_known"),
    [
        (5000, "slt", True),
        (9980, "slt", True),
        (9990, "slt", False),  # 999 rounds and the last test
        (2**31 - 5, "slt", False),  # comes around
        (-5, "ult", False),
    ],
)
def test_steps_to_a_constant(end: int, test: str, is_known: bool) -> None:
    body = f"%end = arith.constant {end} : i32 {recurrence('%zero', f'{test}, %x, %end', 'addi %y, %ten')}"
    assert ("check_rounds" not in run(body)) is is_known


def test_from_an_id_to_a_constant() -> None:
    """An id is not negative, so there are 100 rounds at most."""
    text = f"%id = arith.index_cast %i : index to i32\n{loop('%hundred', low='%id')}"
    assert "check_rounds" not in run(text)
    assert "check_rounds" in run(loop("%hundred", low="%n"))


def loops_with_counts(text: str) -> list[str]:
    """The lines of counts that stand inside of a loop."""
    depth, found = 0, []
    for line in text.splitlines():
        if line.lstrip().startswith("}"):
            depth -= 1
        if "count_rounds" in line and depth > 2:  # in the module and the function
            found.append(line.strip())
        if line.rstrip().endswith("{"):
            depth += 1
    return found


def test_an_innermost_loop_is_counted_behind_it() -> None:
    text = run(loop("%n"))
    assert loops_with_counts(text) == []
    assert '"kernel.count_rounds"(%3) <{rounds = 0 : i32}>' in text
    text = run(recurrence("%one", "slt, %x, %n", "addi %y, %ten"))
    assert loops_with_counts(text) == []
    assert "arith.divui" in text
    assert "<{rounds = 1 : i32}> : (i32) -> ()" in text


def test_a_counter_that_does_not_leave_its_loop() -> None:
    text = run("""%r = scf.while (%x = %n, %s = %n) : (i32, i32) -> i32 {
        %c = arith.cmpi slt, %s, %n : i32
        %p = arith.addi %x, %s : i32
        scf.condition(%c) %p : i32
      } do {
      ^bb0(%q: i32):
        %w = arith.muli %q, %q : i32
        scf.yield %w, %w : i32, i32
      }""")
    assert len(loops_with_counts(text)) == 1  # nothing adds a constant
    text = run("""%r:2 = scf.while (%x = %n, %s = %n) : (i32, i32) -> (i32, i32) {
        %c = arith.cmpi slt, %s, %n : i32
        %p = arith.muli %s, %s : i32
        scf.condition(%c) %p, %x : i32, i32
      } do {
      ^bb0(%q: i32, %y: i32):
        %w = arith.subi %y, %one : i32
        scf.yield %w, %q : i32, i32
      }""")
    assert loops_with_counts(text) == []
    assert "arith.subi %n, %r" in text


def test_a_counter_with_a_large_step_may_come_around() -> None:
    text = run(
        recurrence("%one", "slt, %x, %n", "addi %y, %large").replace(
            "%r =", "%large = arith.constant 100000 : i32\n%r ="
        )
    )
    assert len(loops_with_counts(text)) == 1


SIZES = """%size = memref.dim %a, %first_dimension : memref<?xi32>
      %items = kernel.global_range 0
      %stride = arith.index_cast %items : index to i32
      %end = arith.index_cast %size : index to i32
"""


@pytest.mark.parametrize(
    ("test", "change", "is_behind"),
    [
        ("ult, %x, %end", "addi %y, %stride", True),
        ("ult, %x, %end", "addi %stride, %y", False),  # which the front end does not write
        ("ult, %x, %end", "subi %y, %stride", False),
        ("ult, %x, %end", "addi %y, %y", False),
        ("slt, %x, %end", "addi %y, %stride", False),
        ("ult, %end, %x", "addi %y, %stride", False),
        ("ult, %x, %end", "addi %y, %n", False),  # may be negative, or come around
        ("ult, %x, %n", "addi %y, %stride", False),
    ],
)
def test_a_stride_known_at_run_time(test: str, change: str, is_behind: bool) -> None:
    text = run(SIZES + recurrence("%zero", test, change))
    assert (loops_with_counts(text) == []) is is_behind
    assert ("arith.divui" in text) is is_behind


@pytest.mark.parametrize("first", [0, 1, 7, 1000, 2**31 - 1, 2**31, 2**32 - 5])
@pytest.mark.parametrize("end", [0, 1, 2, 6, 7, 8, 1009, 2**31 - 1])
@pytest.mark.parametrize("stride", [0, 1, 2, 7, 1000, 2**31 - 2])
def test_rounds_of_strides(first: int, end: int, stride: int) -> None:
    """The number that is computed behind a loop, beside the loop itself."""
    start = f"%first = arith.constant {wrap(first, 32)} : i32\n"
    function = next(
        iter(limited(start + SIZES + recurrence("%first", "ult, %x, %end", "addi %y, %stride")).ops)
    )
    assert isinstance(function, func.FuncOp)
    counted = computed(function, {"memref.dim": end, "kernel.global_range": stride})
    assert counted == (len(range(first, end, stride)) if stride else 2**31 - 1 if first < end else 0)


def computed(function: func.FuncOp, sizes: dict[str, int]) -> int:
    """Returns what the first `kernel.count_rounds` of a function takes, for results of operations by name."""
    values: dict[SSAValue, int | None] = {}
    for op in function.body.block.ops:
        if isinstance(op, CountRoundsOp):
            counted = values[op.operands[0]]
            assert counted is not None
            return counted
        operands = [values.get(operand) for operand in op.operands]
        if op.name in sizes:
            found = sizes[op.name]
        elif isinstance(op, arith.IndexCastOp):
            found = operands[0]
        elif isinstance(op, arith.ConstantOp):
            found = constant_integer(op.results[0])
        elif isinstance(op, arith.CmpiOp):
            found = int(compares(op.predicate.value.data, *operands, 32))
        elif isinstance(op, arith.SelectOp):
            found = operands[1 if operands[0] else 2]
        else:
            found = computes(type(op), *operands[:2], 32) if len(operands) == 2 else None
        for result in op.results:
            values[result] = found
    raise AssertionError("nothing is counted")


def test_strides_of_loops_in_loops_are_counted_inside() -> None:
    """A division each time takes longer than some rounds."""
    text = run(SIZES + loop("%n", recurrence("%one", "ult, %x, %end", "addi %y, %stride")))
    assert "arith.divui" not in text
    assert len(loops_with_counts(text)) == 2  # the test of one, the round of the other


def test_helpers_count_too() -> None:
    helper = """func.func @h(%n: i32) -> i32 {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %r = scf.for %x = %zero to %n step %one iter_args(%s = %zero) -> (i32) : i32 {
        %t = arith.addi %s, %x : i32
        scf.yield %t : i32
      }
      func.return %r : i32
    }
    func.func @other(%n: i32) -> i32 { func.return %n : i32 }"""
    text = run(
        "%h = func.call @h(%n) : (i32) -> i32\n%o = func.call @other(%h) : (i32) -> i32", helpers=helper
    )
    assert names(text)[:6] == [
        "func.func",
        "scf.for",
        "count_rounds",
        "check_rounds",
        "agree_on_rounds",
        "count_rounds",
    ]


def test_short_loops_inside_are_unrolled() -> None:
    three = "memref.store %xx, %a[%i] : memref<?xi32>"
    body = loop(
        "%n", f"%three = arith.constant 3 : i32\n scf.for %xx = %zero to %three step %one : i32 {{ {three} }}"
    )
    text = run(body)
    assert names(text).count("scf.for") == 1
    assert text.count("memref.store") == 3


def test_level_2_unrolls() -> None:
    text = run(loop("%n"), level=2)
    assert names(text).count("scf.for") == 2  # and one for the rounds that are left over
    assert text.count("memref.store") > 100


def test_level_2_unrolls_loops_of_many_accesses_less() -> None:
    """llvmpipe takes the second power of their number: 46 s for a loop of five, 256 times."""
    text = run(loop("%n", "memref.store %n, %a[%i] : memref<?xi32>\n" * 5), level=2)
    assert text.count("memref.store") == 5 * (64 + 1)


def test_a_copy_of_a_private_array_is_an_access_for_each_element() -> None:
    """lavapipe took 89 s to compile a loop that stores eight numbers and reads one of them, 256 times."""
    array = "!spirv.array<7 x i32>"
    text = run(
        f"""%v = "spirv.Variable"() <{{storage_class = #spirv.storage_class<Function>}}>
            : () -> !spirv.ptr<{array}, Function>
        %w = "spirv.CompositeConstruct"(%n, %n, %n, %n, %n, %n, %n)
            : (i32, i32, i32, i32, i32, i32, i32) -> {array}
        %p = "spirv.AccessChain"(%v, %n) : (!spirv.ptr<{array}, Function>, i32) -> !spirv.ptr<i32, Function>
        """
        + loop(
            "%n",
            f""""spirv.Store"(%v, %w) : (!spirv.ptr<{array}, Function>, {array}) -> ()
            %u = "spirv.Load"(%p) : (!spirv.ptr<i32, Function>) -> i32 """,
        ),
        level=2,
    )
    assert text.count('"spirv.Load"') == 64 + 1  # 8 accesses in a round


def test_a_counter_of_8_bits_has_a_step_that_fits() -> None:
    text = run(
        """%low = arith.trunci %n : i32 to i8
        %high = arith.constant 100 : i8
        %step = arith.constant 1 : i8
        scf.for %x = %low to %high step %step : i8 { memref.store %n, %a[%i] : memref<?xi32> }""",
        level=2,
    )
    assert text.count("memref.store") == 64 + 1  # 64 rounds at a time, and what is left over


@pytest.mark.parametrize(
    "body",
    [
        "scf.for %x = %low to %high step %step { memref.store %n, %a[%x] : memref<?xi32> }",
        """%r = scf.while (%x = %low) : (index) -> index {
            %c = arith.cmpi slt, %x, %high : index
            scf.condition(%c) %x : index
        } do {
        ^bb0(%y: index):
            memref.store %n, %a[%y] : memref<?xi32>
            %z = arith.addi %y, %step : index
            scf.yield %z : index
        }""",
    ],
)
def test_loops_over_indices_are_counted_behind_them(body: str) -> None:
    """`run` verifies that the number of rounds is made before it is counted."""
    text = run(
        f"""%low = arith.constant 0 : index
        %step = arith.constant 1 : index
        %high = arith.index_cast %n : i32 to index
        {body}"""
    )
    assert "index_cast" in text[text.index("scf.") :]
    assert text.index("check_rounds") > text.rindex("index_cast")


@pytest.mark.parametrize(("attribute", "most"), [("", 256), ("attributes {kernel.library}", 8)])
def test_level_2_unrolls_library_functions_less(attribute: str, most: int) -> None:
    """A group function has few rounds, and is inlined as often as it is called."""
    body = f"%zero = arith.constant 0 : i32 %one = arith.constant 1 : i32 {loop('%n')}"
    parameters = "%n: i32, %a: memref<?xi32>, %i: index"
    helpers = f"func.func private @h({parameters}) {attribute} {{ {body} func.return }}"
    text = run("func.call @h(%n, %a, %i) : (i32, memref<?xi32>, index) -> ()", level=2, helpers=helpers)
    assert text.count("memref.store") == most + 1  # and one for the rounds that are left over


def test_calls_are_not_copied_by_level_2() -> None:
    """A helper may loop itself, and is inlined later as often as it is called: loops in loops would be."""
    parameters = "%n: i32, %a: memref<?xi32>, %zero: i32, %one: i32, %i: index"
    helpers = f"func.func private @h({parameters}) {{ {loop('%n')} func.return }}"
    call = "func.call @h(%n, %a, %zero, %one, %i) : (i32, memref<?xi32>, i32, i32, index) -> ()"
    text = run(loop("%n", call), level=2, helpers=helpers)
    assert text.count("call @h") == 1


def stride(start: str, test: str, step: str) -> str:
    """A loop that goes on by a step of the work-group's size, or another."""
    return f"""%id = arith.index_cast %i : index to i32
      %size = "gpu.block_dim"() <{{dimension = #gpu<dim x>}}> : () -> index
      %wide = arith.index_cast %size : index to i32
      %r = scf.while (%x = {start}) : (i32) -> i32 {{
        %c = arith.cmpi {test}, %x, %hundred : i32
        scf.condition(%c) %x : i32
      }} do {{
      ^bb0(%y: i32):
        %z = arith.addi %y, {step} : i32
        scf.yield %z : i32
      }}"""


@pytest.mark.parametrize(
    ("start", "test", "step", "is_known"),
    [
        ("%id", "slt", "%wide", True),
        ("%zero", "ult", "%wide", True),
        ("%id", "slt", "%ten", True),
        ("%n", "slt", "%wide", False),  # from below 0
        ("%id", "ne", "%wide", False),  # steps over it
        ("%id", "slt", "%n", False),
    ],
)
def test_strides_of_work_groups(start: str, test: str, step: str, is_known: bool) -> None:
    assert ("check_rounds" not in run(stride(start, test, step))) is is_known


def broken(change: str, *, flag: str = "%done") -> str:
    """A loop that counts to a hundred and has a break behind its test."""
    return f"""%no = arith.constant false  %yes = arith.constant true
      %r:2 = scf.while (%b = %no, %x = %zero) : (i1, i32) -> (i1, i32) {{
        %c = arith.cmpi slt, %x, %hundred : i32
        %not = arith.xori %b, %yes : i1
        %both = arith.andi %not, %c : i1
        scf.condition(%both) %b, %x : i1, i32
      }} do {{
      ^bb0(%q: i1, %y: i32):
        %v = memref.load %a[%i] : memref<?xi32>
        %done = arith.cmpi eq, %v, %y : i32
        %next = arith.addi %y, %one : i32
        {change}
        scf.yield {flag}, %z : i1, i32
      }}"""


@pytest.mark.parametrize(
    ("change", "flag", "is_known"),
    [
        ("%z = arith.select %done, %y, %next : i32", "%done", True),
        ("%z = arith.select %done, %next, %y : i32", "%done", False),
        ("%z = arith.select %odd, %y, %next : i32", "%done", False),
        ("%z = scf.if %done -> (i32) { scf.yield %y : i32 } else { scf.yield %next : i32 }", "%done", True),
        (
            "%f, %z = scf.if %done -> (i1, i32) { scf.yield %yes, %y : i1, i32 } else "
            "{ scf.yield %odd, %next : i1, i32 }",
            "%f",
            True,
        ),
        (
            "%f, %z = scf.if %done -> (i1, i32) { scf.yield %odd, %y : i1, i32 } else "
            "{ scf.yield %no, %next : i1, i32 }",
            "%f",
            False,
        ),
    ],
)
def test_loops_with_a_break(change: str, flag: str, is_known: bool) -> None:
    assert ("check_rounds" not in run(broken(change, flag=flag))) is is_known
