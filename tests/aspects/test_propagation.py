"""ASP and TPH, row by row, on IR text: what uses an aspect, where it goes, and when it is saved."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.compile import compile_kernels
from lapilli.ir.aspects import Aspect
from lapilli.ir.call_graph import function_name, functions
from lapilli.ir.context import make_context
from lapilli.ir.dialects import aspect
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import IRError
from lapilli.ir.verify_attributes import verify_attributes
from lapilli.passes.optimise.pipeline import optimise
from lapilli.passes.pipeline import analyse
from lapilli.passes.propagate_aspects import propagate
from lapilli.passes.registry import parse_passes
from lapilli.passes.split_modules import split

STRUCTS = "module attributes {aspect.types_that_use_aspects = {A = [8 : i32], AB = [8 : i32, 9 : i32]}} {%s}"


def saved(text: str, **options: object) -> dict[str, frozenset[int]]:
    """The aspects that `propagate` leaves on each function."""
    module = parse_module(text).module
    propagate(module, **options)  # type: ignore[arg-type]
    return {function_name(f): aspect.used(f) for f in functions(module)}


def of_body(body: str, arguments: str = "") -> frozenset[int]:
    text = f"func.func @k({arguments}) attributes {{gpu.kernel}} {{ {body} func.return }}"
    return saved(STRUCTS % text)["k"]


def alloca(type_: str) -> str:
    pointer = f"!spirv.ptr<{type_}, Function>"
    return f'%v = "spirv.Variable"() <{{storage_class = #spirv.storage_class<Function>}}> : () -> {pointer}'


A = "!spirv.struct<A, (i32 [0])>"
AB = "!spirv.struct<AB, (i32 [0])>"


@pytest.mark.behaviour("ASP-02", "ASP-10", "ASP-11", "ASP-12")
@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("i32", set()),
        (A, {8}),
        (AB, {8, 9}),
        ("f64", {6}),
        ("f16", {5}),
        (f"!spirv.array<4 x {A}>", {8}),
        (f"!spirv.array<4 x !spirv.array<2 x {AB}>>", {8, 9}),
        (f"!spirv.struct<Outer, (i32 [0], {A} [4])>", {8}),
        (f"!spirv.struct<Outer, (!spirv.array<2 x {AB}> [0], f64 [16])>", {6, 8, 9}),
        ("vector<4xf64>", {6}),
        ("vector<2xf16>", {5}),
    ],
)
def test_allocated_types_are_looked_through(type_, expected):
    assert of_body(alloca(type_)) == expected


@pytest.mark.behaviour("ASP-12")
@pytest.mark.parametrize("type_", ["f64", "f16", A])
def test_parameters_and_results_count_pointers_do_not(type_):
    numbers = {"f64": {6}, "f16": {5}}.get(type_, {8})
    assert of_body("", f"%x: {type_}") == numbers
    text = f"func.func private @f(%x: {type_}) -> {type_} {{ func.return %x : {type_} }}"
    assert saved(STRUCTS % text)["f"] == numbers
    assert of_body("", f"%x: !spirv.ptr<{type_}, Function>") == set()
    assert of_body("", f"%x: memref<?x{type_ if type_ != A else 'f64'}>") == set()


@pytest.mark.behaviour("ASP-12")
@pytest.mark.parametrize(
    "type_",
    ["tuple<i32, tuple<f64>>", "complex<f64>", "tensor<4xf64>", "tensor<*xf64>", "tensor<2xcomplex<f64>>"],
)
def test_values_that_no_kernel_can_have_are_looked_through_too(type_):
    assert of_body("", f"%x: {type_}") == {6}
    assert of_body("", f"%x: {type_.replace('f64', 'f32')}") == set()
    assert of_body("", "%x: (f64) -> f64") == of_body("", "%x: tuple<memref<?xf64>>") == set()


@pytest.mark.behaviour("ASP-03", "ASP-04")
def test_half_and_double_need_no_attribute():
    assert of_body("%h = arith.constant 1.0 : f16") == {Aspect.FP16}
    assert of_body("%d = arith.constant 1.0 : f64") == {Aspect.FP64}
    assert of_body("%f = arith.constant 1.0 : f32") == set()


@pytest.mark.behaviour("ASP-03", "ASP-04")
@pytest.mark.parametrize("name", ["f16", "f64"])
def test_half_and_double_become_capabilities(name):
    from lapilli.spirv.reflect import reflect
    from lapilli.spirv.tables import Capability

    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k(x: lp.Array[lp.{name}]):\n    i = lp.global_id(0)\n    x[i] = x[i] + x[i]\n"
    )
    (image,) = compile_kernels([kernel])
    assert Aspect[name.replace("f", "FP")] in image.requirements.aspects
    assert getattr(Capability, name.replace("f", "Float")) in reflect(image.spirv).capabilities


@pytest.mark.behaviour("ASP-05", "ASP-06")
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("i32", set()),
        ("u32", set()),
        ("f32", set()),
        ("i64", {Aspect.ATOMIC64}),
        ("u64", {Aspect.ATOMIC64}),
        ("f64", {Aspect.FP64, Aspect.ATOMIC64}),
    ],
)
def test_only_atomics_of_eight_bytes_use_atomic64(dtype, expected):
    kernel = lp.kernel_from_source(
        f"@lp.kernel\ndef k(x: lp.Array[lp.{dtype}]):\n    lp.atomic.add(x, 0, lp.{dtype}(1))\n"
    )
    (image,) = compile_kernels([kernel])
    assert {a for a in image.requirements.aspects if not Aspect(a).is_vendor} == expected


@pytest.mark.behaviour("ASP-08")
def test_there_is_one_table_of_numbers():
    text = "module attributes {aspect.aspect_values = {fp64 = 60 : i32}} { %s }"
    body = "func.func @k() attributes {gpu.kernel} { %d = arith.constant 1.0 : f64 func.return }"
    assert saved(text % body)["k"] == {60}
    twice = parse_module(text % (text % body)).module
    with pytest.raises(IRError, match="defined twice"):
        verify_attributes(twice)


@pytest.mark.behaviour("ASP-07", "ASP-08")
def test_tables_may_stand_on_a_module_inside_the_program():
    text = """module { module attributes {aspect.types_that_use_aspects = {A = [8 : i32]},
                                       aspect.aspect_values = {fp64 = 60 : i32}} {
      func.func @k(%%a: %s, %%d: f64) attributes {gpu.kernel} { func.return } } }"""
    assert saved(text % A)["k"] == {8, 60}


@pytest.mark.behaviour("ASP-23")
def test_numbers_are_those_of_dpcpp():
    numbers = {"cpu": 1, "gpu": 2, "accelerator": 3, "custom": 4, "fp16": 5, "fp64": 6, "image": 9}
    numbers |= {"online_compiler": 10, "online_linker": 11, "queue_profiling": 12, "atomic64": 28}
    assert {name: int(Aspect[name.upper()]) for name in numbers} == numbers
    assert min(a for a in Aspect if a.is_vendor) == 0x10000


@pytest.mark.behaviour("ASP-11")
def test_a_global_is_allocated_by_who_refers_to_it():
    pointer = f"!spirv.ptr<{A}, Workgroup>"
    text = f"""
    "spirv.GlobalVariable"() <{{sym_name = "g", type = {pointer}}}> : () -> ()
    func.func @k() attributes {{gpu.kernel}} {{
      %p = "spirv.mlir.addressof"() <{{variable = @g}}> : () -> {pointer}
      func.return
    }}
    func.func @other() attributes {{gpu.kernel}} {{ func.return }}"""
    assert saved(STRUCTS % text) == {"k": {8}, "other": frozenset()}


@pytest.mark.behaviour("ASP-11")
def test_reaching_into_a_value_takes_its_type():
    body = f"""%z = arith.constant 0 : i32
    %m = "spirv.AccessChain"(%p, %z) : (!spirv.ptr<{A}, Function>, i32) -> !spirv.ptr<i32, Function>"""
    assert of_body(body, f"%p: !spirv.ptr<{A}, Function>") == {8}


@pytest.mark.behaviour("ASP-13")
def test_a_declaration_uses_what_it_declares():
    text = """
    func.func @k() attributes {gpu.kernel} { func.call @f() : () -> ()  func.return }
    func.func private @f() attributes {aspect.declared = [2 : i32]}"""
    for options in ({}, {"exclude": [2]}):
        assert saved(text, **options) == {"k": {2}, "f": {2}}


@pytest.mark.behaviour("ASP-08", "TPH-03")
def test_the_pass_excludes_aspects_by_name():
    text = """module attributes {aspect.aspect_values = {mine = 77 : i32}} {
    func.func @k(%x: f64) attributes {gpu.kernel} {
      %c = arith.constant {aspect.used = [77 : i32]} 0 : i32
      func.return
    } }"""
    for names, expected in (("fp64", {77}), ("mine", {6}), ("fp64,77", set())):
        module = parse_module(text).module
        (step,) = parse_passes(f"propagate-aspects{{exclude={names}}}")
        step.apply(make_context(), module)
        assert aspect.used(next(functions(module))) == expected
    (step,) = parse_passes("propagate-aspects{exclude=fp65}")
    with pytest.raises(lp.InvalidError, match="cannot exclude 'fp65': no aspect has that name"):
        step.apply(make_context(), parse_module(text).module)


@pytest.mark.behaviour("ASP-13", "ASP-14", "ASP-15")
def test_declared_attached_and_called_uses_go_up_a_diamond():
    text = """
    func.func @k() attributes {gpu.kernel} { func.call @a() : () -> () func.call @b() : () -> () func.return }
    func.func private @a() { func.call @leaf() : () -> () func.return }
    func.func private @b() attributes {aspect.declared = [9 : i32]} { func.call @leaf() : () -> () func.return }
    func.func private @leaf() { %c = arith.constant {aspect.used = [28 : i32]} 0 : i32  func.return }
    func.func @other() attributes {gpu.kernel} { func.return }"""
    assert saved(text) == {"k": {9, 28}, "a": {28}, "b": {9, 28}, "leaf": {28}, "other": frozenset()}


@pytest.mark.behaviour("ASP-15")
def test_what_is_attached_to_a_call_is_the_callers():
    text = """
        func.func private @declared() -> ()
        func.func @g() { func.return }
        func.func @k() attributes {gpu.kernel} {
          func.call @declared() {aspect.used = [9 : i32]} : () -> ()
          func.call @g() {aspect.used = [8 : i32]} : () -> ()
          func.return
        }"""
    assert saved(text) == {"declared": set(), "g": set(), "k": {8, 9}}


@pytest.mark.behaviour("ASP-11")
def test_variables_in_upstreams_custom_syntax():
    pointer = "!spirv.ptr<f64, Function>"
    assert of_body(f"%v = spirv.Variable : {pointer}") == {6}
    given = "%x = arith.constant 1.0 : f64 "
    assert of_body(f"{given} %v = spirv.Variable init(%x) {{aspect.used = [8 : i32]}} : {pointer}") == {6, 8}
    with pytest.raises(lp.BuildError, match=r"1:\d+: error: expected !spirv\.ptr<…, Function>, found i32"):
        parse_module("%v = spirv.Variable : i32")


@pytest.mark.behaviour("ASP-14")
def test_recursion_is_refused():
    kernel = lp.kernel_from_source(
        "def f(n: lp.i32):\n    return f(n) + 1\n"
        "@lp.kernel\ndef k(x: lp.Array[lp.i32]):\n    x[0] = f(x[0])\n"
    )
    with pytest.raises(lp.BuildError, match="recursion"):
        compile_kernels([kernel])
    text = """func.func @k() attributes {gpu.kernel} { func.call @f() : () -> () func.return }
    func.func private @f() { %d = arith.constant 1.0 : f64 func.call @f() : () -> () func.return }"""
    assert saved(text) == {"k": {6}, "f": {6}}


@pytest.mark.behaviour("ASP-18")
@pytest.mark.parametrize(
    "body",
    [
        "f = a if x[0] > 0.0 else b\n    x[0] = f(x[0])",
        "f = a\n    if x[0] > 0.0:\n        f = b\n    x[0] = f(x[0])",
        "x[0] = (a, b)[lp.global_id(0)](x[0])",
    ],
)
def test_calls_whose_target_is_known_at_run_time_only_are_refused(body):
    kernel = lp.kernel_from_source(
        "def a(v: lp.f32):\n    return v + 1.0\n\n\ndef b(v: lp.f32):\n    return v * 2.0\n\n\n"
        f"@lp.kernel\ndef k(x: lp.Array[lp.f32]):\n    {body}\n"
    )
    with pytest.raises(lp.BuildError) as caught:
        compile_kernels([kernel])
    assert caught.value.errc is lp.Errc.BUILD


@pytest.mark.behaviour("ASP-16", "ASP-21", "TPH-01")
def test_the_first_propagation_runs_before_anything_is_inlined():
    text = """func.func @k() attributes {gpu.kernel, aspect.declared = [2 : i32],
      aspect.reqd_sub_group_size = 16 : i32} { func.call @f() : () -> () func.return }
    func.func private @f() { %h = arith.constant 1.0 : f16 func.return }"""
    order: list[str] = []
    module = parse_module(text).module
    analysis = analyse(module, TargetEnv(), inlines=True, after_pass=lambda name, _: order.append(name))
    assert order[:4] == ["propagate-aspects", "inline", "optimise", "propagate-aspects"]
    (image,) = analysis.images
    (kernel,) = (f for f in functions(image.module) if function_name(f) == "k")
    assert aspect.used(kernel) == {2, 5} and aspect.declared(kernel) == {2}
    assert aspect.reqd_sub_group_size(kernel) == 16 and image.requirements.aspects == (2, 5)
    before = dict(kernel.attributes)
    optimise(image.module, 2)
    assert dict(kernel.attributes) == before


@pytest.mark.behaviour("ASP-17", "FT-05")
def test_kernels_and_exported_functions_get_fixed_targets():
    text = """func.func @k() attributes {gpu.kernel} { func.return }
    func.func @e() attributes {aspect.external} { func.return }
    func.func private @f() { func.return }"""
    for targets in ((), ("lavapipe", "b")):
        module = parse_module(text).module
        propagate(module, fixed_targets=targets)
        found = {function_name(f): aspect.fixed_targets(f) for f in functions(module)}
        assert found == {"k": frozenset(targets), "e": frozenset(targets), "f": None}
        assert str(["lavapipe", "b"] if targets else []).replace("'", '"') in str(module)


@pytest.mark.behaviour("FT-06")
def test_functions_of_later_passes_are_not_checked():
    text = """func.func @made() { %d = arith.constant 1.0 : f64 func.return }
    func.func @k() attributes {gpu.kernel, aspect.fixed_targets = ["swiftshader"]} { func.return }"""
    assert propagate(parse_module(text).module, warn=True) == ()
    text = text.replace("@made()", '@made() attributes {aspect.fixed_targets = ["swiftshader"]}')
    (warning,) = propagate(parse_module(text).module, warn=True)
    assert "'fp64' not supported by fixed target 'swiftshader'" in warning.message


@pytest.mark.behaviour("TPH-03", "TPH-04")
def test_excluded_aspects_stay_where_they_were():
    text = """
    func.func @funcJ() attributes {gpu.kernel} { func.call @funcI() : () -> () func.return }
    func.func private @funcI() attributes {aspect.used = [6 : i32]} { func.return }
    func.func private @funcH() { %d = arith.constant 1.0 : f64 %h = arith.constant 1.0 : f16 func.return }"""
    assert saved(text, exclude=(6,)) == {"funcJ": frozenset(), "funcI": {6}, "funcH": {5}}
    assert saved(text) == {"funcJ": {6}, "funcI": {6}, "funcH": {5, 6}}
    assert propagate(parse_module(text).module) == ()


@pytest.mark.behaviour("TPH-07", "TPH-08", "TPH-09")
def test_internal_aspects_split_and_never_reach_the_runtime():
    text = """
    func.func @plain() attributes {gpu.kernel} { func.return }
    func.func @k() attributes {gpu.kernel} { func.call @f() : () -> () func.return }
    func.func private @f() attributes {aspect.used = [-7 : i32]} { func.return }"""
    assert saved(text)["k"] == {-7}
    analysis = analyse(parse_module(text).module, TargetEnv(), mode="off")
    assert [next(map(function_name, functions(image.module))) for image in analysis.images] == [
        "plain",
        "k",
    ]
    assert [image.requirements.aspects for image in analysis.images] == [(), ()]
    assert all(use == () for image in analysis.images for use in image.aspect_uses.values())


@pytest.mark.behaviour("TPH-07", "TPH-09")
def test_a_new_internal_aspect_is_only_a_number():
    def body(out: lp.Out[lp.f32]):
        out[lp.global_id(0)] = 1.0

    precise = lp.kernel(name="precise")(lp.uses_aspects(-100)(body))
    images = compile_kernels([lp.kernel(body), precise])
    assert [image.requirements.aspects for image in images] == [(), ()]


@pytest.mark.behaviour("WRN-10", "EXT-01", "EXT-02", "EXT-08", "EXT-09")
def test_other_units_count_by_what_they_declare_until_the_image_is_checked():
    text = """
    func.func @k() attributes {gpu.kernel, aspect.declared = [], aspect.unit = "a"} {
      func.call @foo() : () -> () func.call @said() : () -> () func.return }
    func.func @foo() attributes {aspect.external, aspect.unit = "b"} { %d = arith.constant 1.0 : f64
      func.return }
    func.func @said() attributes {aspect.external, aspect.unit = "b", aspect.declared = [5 : i32]} { func.return }"""
    module = parse_module(text).module
    warnings = propagate(module, warn=True)
    assert [w.message.splitlines()[0] for w in warnings] == [
        "function 'k' uses aspect 'fp16' not listed in 'sycl::device_has'"
    ]
    from lapilli.passes.compute_requirements import compute_requirements, read_requirements

    (image,) = (i for i in split(module) if any(function_name(f) == "k" for f in functions(i)))
    (warning,) = compute_requirements(image)
    assert warning.message == (
        "function 'foo' uses aspect 'fp64' not expected by its calling kernel.\n"
        "Missing [[sycl::device_has()]] on SYCL_EXTERNAL function?"
    )
    assert read_requirements(image).aspects == (5, 6)
