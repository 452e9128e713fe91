"""Launches outside of bundles: what is executable, else what is compiled and is linked, else the module's source."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)

# Named apart: kernels of one name and code share their modules.
KERNEL = """
@lp.kernel(name="{name}")
def k(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 3.0
"""


def launched(kernel, device, spec=None, value=0.0):
    """Launches over two work-items; returns the result and what the runtime did, as kinds in order.

    But for pipelines: a launch outside of a bundle may choose another work-group size than the bundle's.
    """
    x = lp.full(2, value, device=device)
    with lp.trace() as trace:
        kernel[2].spec(spec or {})(x)
    (result,) = {*x.numpy().tolist()}
    return result, [event.kind for event in trace.events if event.kind != "pipeline"]


@pytest.mark.behaviour("IMG-01")
def test_the_furthest_state_that_there_is(device, make_module):
    context = lp.Context([device])
    for state, expected in (
        (EXECUTABLE, ["launch"]),
        (OBJECT, ["link", "module", "launch"]),
        (INPUT, ["compile", "module", "launch"]),
        (None, ["compile", "module", "launch"]),
    ):
        kernel = make_module(KERNEL.format(name=f"from_{state and state.name}")).k
        bundle = None if state is None else lp.get_kernel_bundle(context, state=state, kernel=kernel)
        assert launched(kernel, device) == (3.0, expected), state
        assert launched(kernel, device) == (3.0, ["launch"])
        del bundle


@pytest.mark.behaviour("IMG-01")
def test_linking_what_was_compiled_makes_it_executable(device, make_module):
    kernel = make_module(KERNEL.format(name="from_linking")).k
    compiled = lp.compile(lp.get_kernel_bundle(lp.Context([device]), state=INPUT, kernel=kernel))
    lp.link(compiled)
    assert launched(kernel, device) == (3.0, ["launch"])


LIBRARY = """
{options}
FACTOR = lp.SpecializationId(lp.f32, 2.0)
SHIFT = lp.SpecializationId(lp.FixedArray[lp.f32, 2], [10, 20])
@lp.external({name!r})
def scale(x: lp.f32) -> lp.f32:
    return x * FACTOR + SHIFT[1]
@lp.kernel
def own(x: lp.Array[lp.f32]):
    x[0] = scale(1.0)
"""
USER = """
import {library} as library
{options}
OWN = lp.SpecializationId(lp.f32, 100.0)
@lp.kernel
def k(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = library.scale(x[i]) + OWN + library.FACTOR
"""
NATIVE, EMULATED = "", 'lp.compile_options(spec_constants="emulated")'


@pytest.mark.behaviour("IMG-01")
def test_an_object_with_imports_is_linked_and_not_compiled_again(device, make_module):
    library = make_module(LIBRARY.format(options="", name="dispatch_order"))
    user = make_module(USER.format(library=library.__name__, options=""))
    lp.get_kernel_bundle(lp.Context([device]), state=OBJECT, kernel=user.k)
    assert launched(user.k, device, value=1.0) == (124.0, ["link", "module", "launch"])
    assert launched(user.k, device, value=1.0) == (124.0, ["launch"])


@pytest.mark.behaviour("SC-33", "SC-11")
@pytest.mark.parametrize("library_options", [NATIVE, EMULATED], ids=["native", "emulated"])
@pytest.mark.parametrize("user_options", [NATIVE, EMULATED], ids=["native", "emulated"])
def test_two_modules_read_the_value_that_was_set(device, make_module, library_options, user_options):
    name = f"two_{device.selector}_{bool(library_options)}_{bool(user_options)}"
    library = make_module(LIBRARY.format(options=library_options, name=name))
    user = make_module(USER.format(library=library.__name__, options=user_options))
    context = lp.Context([device])
    queue = lp.Queue(device, context=context)
    for values in (
        {},
        {library.FACTOR: 5.0},
        {library.FACTOR: 5.0, library.SHIFT: [0, 7], user.OWN: 0.5},
        {library.SHIFT: [0, 7]},
        {user.OWN: 0.25},
    ):
        factor, shift = values.get(library.FACTOR, 2.0), values.get(library.SHIFT, [10, 20])[1]
        expected = 3 * factor + shift + values.get(user.OWN, 100.0) + factor
        assert launched(user.k, device, values, value=3.0)[0] == expected
        source = lp.get_kernel_bundle(context, state=INPUT, kernel=user.k)
        parts = lp.get_kernel_bundle(context, state=INPUT, kernel=library.own)
        for constant, value in values.items():
            source.set_specialization_constant(constant, value)
        for bundle in (
            lp.build(source),
            lp.link([lp.compile(source), lp.compile(parts)]),
            lp.build(source, props=[lp.properties.EmulateSpecConstants()]),
        ):
            x = lp.full(2, 3.0, device=device)
            with lp.trace() as trace, queue.submit() as group:
                group.use_kernel_bundle(bundle)
                group.parallel_for(2, user.k, x)
            queue.wait()
            assert x.numpy().tolist() == [expected] * 2
            assert trace.count("module") == trace.count("pipeline") == 0
            assert bundle.get_specialization_constant(library.FACTOR) == factor
            assert all(map(bundle.has_specialization_constant, (library.FACTOR, library.SHIFT, user.OWN)))


def test_the_units_of_linked_functions_keep_their_options(device, make_module):
    library = make_module(
        """
lp.compile_options(opt_level=0, debug=True)
@lp.external("options_of_units")
def twice(x: lp.f32) -> lp.f32:
    return x * (1.0 + 1.0)
"""
    )
    user = make_module(
        f"import {library.__name__} as library\n"
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = library.twice(x[lp.global_id(0)])\n"
    )
    assert launched(user.k, device, value=4.0)[0] == 8.0
    from lapilli.frontend.compile import executable_for

    assert library.__file__ in executable_for(user.k, 1, device).image.spirv.decode("latin-1")


def test_a_linked_function_of_other_fixed_targets_is_refused(device, make_module):
    foreign = next(name for name in ("nvidia_h200", "lavapipe") if name not in device.targets)
    library = make_module(
        f"lp.compile_options(fixed_targets=[{foreign!r}])\n"
        f'@lp.external("elsewhere_{device.selector}")\ndef same(x: lp.f32) -> lp.f32:\n    return x\n'
    )
    user = make_module(
        f"import {library.__name__} as library\n"
        "@lp.kernel\ndef k(x: lp.Array[lp.f32]): x[lp.global_id(0)] = library.same(x[lp.global_id(0)])\n"
    )
    with pytest.raises(lp.KernelNotSupportedError, match=f"fixed-targets={foreign}"):
        launched(user.k, device)


@pytest.mark.behaviour("IMG-13")
def test_every_module_gives_images_with_all_its_kernels(device, make_module):
    text = "".join(
        f"@lp.kernel\ndef {name}(x: lp.Array[{type_}]): x[0] = {type_}(1)\n"
        for name, type_ in (("a", "lp.f32"), ("b", "lp.f64"), ("c", "lp.i32"))
    )
    modules = [make_module(text + GETTER), make_module(text + GETTER)]
    context = lp.Context([device])
    for state in STATES:
        bundles = [module.mine(context, state) for module in modules]
        for bundle, module in zip(bundles, modules, strict=True):
            own = [k for k in (module.a, module.b, module.c) if lp.is_compatible([k], device)]
            assert set(bundle.kernel_ids) == {k.kernel_id for k in own}
        assert bundles[0] != bundles[1] and not set(bundles[0].kernel_ids) & set(bundles[1].kernel_ids)


GETTER = "def mine(context, state): return lp.this_module.get(context, state)\n"


@pytest.mark.behaviour("IMG-14")
def test_the_division_into_images_shows_in_nothing_but_the_images(device, make_module):
    text = """
A = lp.SpecializationId(lp.f32, 2.0)
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = A
@lp.kernel
def b(x: lp.Array[lp.f32]): x[lp.global_id(0)] = A + 1.0
@lp.kernel
@lp.device_has(lp.Aspect.CUSTOM)
def c(x: lp.Array[lp.f32]): x[0] = 1.0
"""
    context = lp.Context([device])
    answers = []
    counts = []
    for mode in ("auto", "per_kernel", "per_source", "off"):
        if mode == "off":  # one image: it would be of the kernel that no device has too
            text = text[: text.index("@lp.kernel\n@lp.device_has")]
        unit = make_module(f"lp.compile_options(device_code_split={mode!r})\n{text}{GETTER}")
        found = []
        for state in STATES:
            bundle = unit.mine(context, state)
            found += [
                bundle.kernel_names,
                bundle.has_specialization_constant(unit.A),
                bundle.get_specialization_constant(unit.A),
                bundle.native_specialization_constant(),
                bundle.has_kernel(unit.a, device),
                lp.has_kernel_bundle(context, state=state, kernel_ids=[unit.a, unit.b]),
            ]
        found += [launched(unit.a, device)[0], launched(unit.b, device)[0]]
        answers.append(found)
        counts.append(len(bundle))
    assert all(answer == answers[0] for answer in answers)
    assert counts == [1, 2, 1, 1]


@pytest.mark.parametrize("options", [NATIVE, EMULATED], ids=["native", "emulated"])
def test_a_constant_that_is_an_array_length_may_default_to_zero(device, make_module, options):
    unit = make_module(
        f"""
{options}
LENGTH = lp.SpecializationId(lp.i32)
@lp.kernel(local_size=1)
def k(x: lp.Array[lp.f32]):
    kept = lp.private.array(LENGTH, lp.f32)
    shared = lp.local.array((LENGTH, 2), lp.f32)
    kept[LENGTH - 1] = 7.0
    shared[LENGTH - 1, 1] = 1.0
    lp.barrier()
    x[lp.global_id(0)] = kept[LENGTH - 1] + shared[LENGTH - 1, 1]
"""
    )
    for value in (None, 0, -4):
        with pytest.raises(lp.InvalidError, match="LENGTH") as caught:
            launched(unit.k, device, {} if value is None else {unit.LENGTH: value})
        assert str(value or 0) in str(caught.value) and isinstance(caught.value, ValueError)
    for value in (1, 5):
        assert launched(unit.k, device, {unit.LENGTH: value})[0] == 8.0
    context = lp.Context([device])
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=unit.k)
    assert lp.build(source).has_kernel(unit.k)
    source.set_specialization_constant(unit.LENGTH, 3)
    bundle = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
    queue, x = lp.Queue(device, context=context), lp.zeros(2, device=device)
    with queue.submit() as group:
        group.use_kernel_bundle(bundle)
        group.parallel_for(2, unit.k, x)
    queue.wait()
    assert x.numpy().tolist() == [8.0] * 2
    assert unit.LENGTH.default == 0
