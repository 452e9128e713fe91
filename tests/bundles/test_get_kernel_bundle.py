"""lp.get_kernel_bundle: which images, of which devices, in which state."""

from __future__ import annotations

import pytest

import lapilli as lp

from . import broken_kernels, kernels, other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)
OVERLOADS = {
    "plain": {},
    "ids": {"kernel_ids": [kernels.scaled.kernel_id]},
    "no ids": {"kernel_ids": []},
    "kernel": {"kernel": kernels.scaled},
    "selector": {"selector": lambda image: False},
}
each_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
each_overload = pytest.mark.parametrize("overload", OVERLOADS)


@pytest.mark.behaviour("GKB-01", "GKB-08", "GKB-18", "KB-06", "KB-15")
def test_all_compatible_kernels_of_the_application(fresh):
    fresh("""
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def d(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0
@lp.kernel
def h(x: lp.Array[lp.f16]): x[lp.global_id(0)] = lp.f16(1.0)
lesser = device.masked(without=[lp.Aspect.FP64])
both = lp.Context([device, lesser])
for state in (INPUT, OBJECT, EXECUTABLE):
    for devs in ([device], [lesser], [device, lesser, device], None):
        bundle = lp.get_kernel_bundle(both, devs, state=state)
        used = both.devices if devs is None else tuple(dict.fromkeys(devs))
        assert bundle.state is state and bundle.context is both and bundle.devices == used
        wanted = {i for i in lp.get_kernel_ids() if any(lp.is_compatible([i], dev) for dev in used)}
        assert set(bundle.kernel_ids) == wanted
        for dev in used:
            assert any(image.is_compatible(dev) for image in bundle)
    assert lp.get_kernel_bundle(both, state=state) == lp.get_kernel_bundle(both, [device, lesser], state=state)
""")


@pytest.mark.behaviour("GKB-03", "GKB-04", "KB-04")
@each_state
def test_images_come_whole(context, state):
    bundle = lp.get_kernel_bundle(context, state=state, kernel_ids=[kernels.scaled.kernel_id])
    assert bundle.has_kernel(kernels.scaled) and bundle.has_kernel(kernels.looked_up)
    assert not bundle.has_kernel(other_kernels.scaled)
    for id_ in bundle.kernel_ids:
        assert any(image.has_kernel(id_) for image in bundle)
    mixed = lp.get_kernel_bundle(context, state=state, kernel_ids=[kernels.scaled, other_kernels.scaled])
    assert mixed.has_kernel(kernels.scaled) and mixed.has_kernel(other_kernels.scaled)
    assert len(mixed) == 2


@pytest.mark.behaviour("GKB-04", "KB-14")
def test_the_division_of_the_module_decides_what_comes_along(fresh):
    fresh("""
import importlib, pathlib
source = '''
import lapilli as lp
lp.compile_options(device_code_split={!r})
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def b(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 2.0
'''
folder = pathlib.Path(__file__).parent
for mode, count in (("off", 1), ("per_source", 1), ("auto", 1), ("per_kernel", 2)):
    (folder / f"unit_{mode}.py").write_text(source.format(mode))
    unit = importlib.import_module(f"unit_{mode}")
    for state in (INPUT, OBJECT, EXECUTABLE):
        bundle = lp.get_kernel_bundle(context, state=state, kernel=unit.a)
        assert bundle.has_kernel(unit.a)
        assert bundle.has_kernel(unit.b) is (mode != "per_kernel")
        every = lp.get_kernel_bundle(context, state=state, kernel_ids=[unit.a, unit.b])
        assert len(every) == len(list(every)) == count
""")


@pytest.mark.behaviour("GKB-05", "GKB-07", "KB-13", "GKB-06")
@each_state
def test_selector_sees_every_compatible_image_once(fresh, state):
    fresh(
        f"state = lp.BundleState.{state.name}"
        + """
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def d(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0
@lp.kernel
def h(x: lp.Array[lp.f16]): x[lp.global_id(0)] = lp.f16(1.0)
seen = []
def none(image):
    assert image.state is state
    seen.append(image)
    return []
with lp.trace() as trace:
    bundle = lp.get_kernel_bundle(context, state=state, selector=none)
assert bundle.empty() and len(list(bundle)) == 0 and not bundle and bundle.devices == (device,)
assert trace.count("compile") == 0  # nobody looked at the code
every = lp.get_kernel_bundle(context, state=state)
assert len(seen) == len(every) and set(seen) == set(every)
for answer in (1, "x", [0], True, object()):
    assert lp.get_kernel_bundle(context, state=state, selector=lambda image: answer) == every
for answer in (0, "", [], False, None):
    assert lp.get_kernel_bundle(context, state=state, selector=lambda image: answer).empty()
only = lp.get_kernel_bundle(context, [device], state=state, selector=lambda image: image.has_kernel(a))
assert only.kernel_ids == (a.kernel_id,)
for answer in ([device, device], None):
    assert lp.get_kernel_bundle(context, answer, state=state, selector=lambda image: True) == every
"""
    )


@pytest.mark.behaviour("GKB-09")
@each_state
def test_kernel_is_the_list_of_its_id(context, device, state):
    by_list = lp.get_kernel_bundle(context, state=state, kernel_ids=[kernels.scaled.kernel_id])
    for name in (kernels.scaled, kernels.scaled.qualified_name, kernels.scaled.kernel_id):
        assert lp.get_kernel_bundle(context, state=state, kernel=name) == by_list
        assert lp.get_kernel_bundle(context, [device], state=state, kernel=name) == by_list
    with pytest.raises(lp.UnknownKernelError, match="no such kernel"):
        lp.get_kernel_bundle(context, state=state, kernel="no such kernel")


@pytest.mark.behaviour("GKB-10")
@each_state
@each_overload
def test_a_device_of_another_context_is_refused(device, context, state, overload):
    others = [d for d in lp.devices() if d is not device] + [device.masked(without=[lp.Aspect.FP64])]
    for other in others:
        for devs in ([other], [device, other]):
            with pytest.raises(lp.InvalidError) as caught:
                lp.get_kernel_bundle(context, devs, state=state, **OVERLOADS[overload])
            assert other.selector in str(caught.value)


@pytest.mark.behaviour("GKB-11")
@each_state
@each_overload
def test_an_empty_device_list_is_refused(context, state, overload):
    with pytest.raises(lp.InvalidError, match="empty list"):
        lp.get_kernel_bundle(context, [], state=state, **OVERLOADS[overload])


@pytest.mark.behaviour("GKB-12", "GKB-13", "ST-05")
@each_overload
@pytest.mark.parametrize(
    ("state", "aspect"), [(INPUT, lp.Aspect.ONLINE_COMPILER), (OBJECT, lp.Aspect.ONLINE_LINKER)]
)
def test_a_device_without_compiler_or_linker_is_refused(device, state, aspect, overload):
    masked = device.masked(without=[aspect])
    for context, devs in (
        (lp.Context([masked]), None),
        (lp.Context([device, masked]), None),
        (lp.Context([device, masked]), [device, masked]),
    ):
        with pytest.raises(lp.InvalidError, match=aspect.spelling):
            lp.get_kernel_bundle(context, devs, state=state, **OVERLOADS[overload])
    if overload != "plain":  # all kernels of the test run would be analysed
        lp.get_kernel_bundle(lp.Context([device, masked]), [device], state=state, **OVERLOADS[overload])


@pytest.mark.behaviour("GKB-14")
@each_state
@pytest.mark.parametrize("kernel", kernels.ASPECTS, ids=lambda kernel: kernel.name)
def test_a_kernel_that_no_device_supports_is_refused(device, state, kernel):
    aspect = kernels.ASPECTS[kernel]
    without = device.masked(without=[aspect])
    for arguments in ({"kernel": kernel}, {"kernel_ids": [kernels.scaled, kernel]}):
        with pytest.raises(lp.InvalidError, match=kernel.name):
            lp.get_kernel_bundle(lp.Context([without]), state=state, **arguments)
    assert not lp.has_kernel_bundle(lp.Context([without]), state=state, kernel=kernel)
    if device.has(aspect):
        both = lp.Context([device, without])
        bundle = lp.get_kernel_bundle(both, state=state, kernel=kernel)
        assert bundle.has_kernel(kernel) and bundle.has_kernel(kernel, device)
        assert not bundle.has_kernel(kernel, without)


@pytest.mark.behaviour("GKB-15", "CLB-08")
def test_a_kernel_that_cannot_be_compiled_raises_when_it_is(context):
    broken, sound = broken_kernels.broken, broken_kernels.sound
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=broken)
    assert source.has_kernel(broken) and not source.has_kernel(sound)
    (image,) = source
    assert image.spec_constants == () and "missing_name" in image.disassemble()
    assert lp.has_kernel_bundle(context, state=EXECUTABLE, kernel=broken)
    for call in (
        lambda: lp.get_kernel_bundle(context, state=OBJECT, kernel=broken),
        lambda: lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[sound, broken]),
        lambda: lp.compile(source),
        lambda: lp.build(source),
    ):
        with pytest.raises(lp.BuildError) as caught:
            call()
        assert caught.value.errc is lp.Errc.BUILD
        assert "missing_name" in caught.value.log
    assert lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=sound).has_kernel(sound)


@pytest.mark.behaviour("GKB-15", "CLB-08")
def test_the_error_tells_of_every_kernel_that_cannot_be_compiled(context, make_module):
    unit = make_module(
        "def helper(x):\n    return x + missing_3\n"
        "@lp.kernel\ndef first(x: lp.Array[lp.f32]): x[0] = missing_1\n"
        "@lp.kernel\ndef second(x: lp.Array[lp.f32]): x[0] = 1.0\n"
        "@lp.kernel\ndef third(x: lp.Array[lp.f32]): x[0] = missing_2\n"
        "@lp.kernel\ndef fourth(x: lp.Array[lp.f32]): x[0] = helper(x[0])\n"
        "@lp.kernel\ndef fifth(x: lp.Array[lp.f32]): x[0] = helper(x[1])\n"
    )
    kernels = [unit.first, unit.second, unit.third, unit.fourth, unit.fifth]
    source = lp.get_kernel_bundle(context, state=INPUT, kernel_ids=kernels)
    for call in (
        lambda: lp.get_kernel_bundle(context, state=OBJECT, kernel_ids=kernels),
        lambda: lp.get_kernel_bundle(
            context, state=OBJECT, selector=lambda image: any(map(image.has_kernel, kernels))
        ),
        lambda: lp.build(source),
    ):
        with pytest.raises(lp.CompileError) as caught:
            call()
        # The two that call the helper have notes with the calls.
        assert [d.location.line for d in caught.value.diagnostics if d.location] == [5, 9, 3, 11, 3, 13]
        assert caught.value.location == caught.value.diagnostics[0].location
        for text in (caught.value.log, str(caught.value)):
            assert [text.count(f"unknown name 'missing_{n}'") for n in (1, 2, 3)] == [1, 1, 2]


def test_a_broken_kernel_that_was_dropped_does_not_fail_the_others(fresh):
    fresh("""
import gc
gc.disable()
@lp.kernel
def sound(x: lp.Array[lp.f32]): x[0] = 1.0
def refused():
    @lp.kernel
    def broken(x: lp.Array[lp.f32]): x[0] = missing_name
    try:
        lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=broken)
    except lp.BuildError as error:
        kept = error  # the error, its frames and the kernel are a cycle
for state in (OBJECT, EXECUTABLE):
    refused()
    assert lp.get_kernel_bundle(context, state=state).has_kernel(sound)
assert len(lp.get_kernel_ids()) == 1
""")


def test_errors_keep_no_kernels_that_were_dropped(fresh):
    fresh("""
import gc, weakref
gc.disable()
def refused(count):
    kernels = []
    for n in range(count):
        @lp.kernel
        def broken(x: lp.Array[lp.f32]): x[0] = missing_name + n
        kernels.append(broken)
    try:
        lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=kernels)
    except lp.BuildError:
        pass
    return weakref.ref(broken)
assert refused(1)() is None and refused(2)() is None
""")


def test_a_mended_kernel_compiles(context, monkeypatch):
    with pytest.raises(lp.BuildError):
        lp.get_kernel_bundle(context, state=OBJECT, kernel=broken_kernels.broken)
    monkeypatch.setattr(broken_kernels, "missing_name", 3.0, raising=False)
    bundle = lp.get_kernel_bundle(context, state=OBJECT, kernel=broken_kernels.broken)
    assert bundle.has_kernel(broken_kernels.sound)  # they share an image now
    monkeypatch.undo()
    with pytest.raises(lp.BuildError):
        lp.get_kernel_bundle(context, state=OBJECT, kernel=broken_kernels.broken)


@pytest.mark.behaviour("GKB-16", "SC-19")
@pytest.mark.parametrize("state", [OBJECT, EXECUTABLE], ids=lambda state: state.name)
def test_constants_have_their_defaults(context, device, state):
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=kernels.scaled)
    source.set_specialization_constant(kernels.COEFF, 9.0)
    built = lp.build(source)
    bundle = lp.get_kernel_bundle(context, state=state, kernel=kernels.scaled)
    assert bundle.get_specialization_constant(kernels.COEFF) == 2.0
    x = lp.ones(2, device=device)
    for launched, expected in ((built, 9.0), (bundle if state is EXECUTABLE else lp.link(bundle), 18.0)):
        with lp.Queue(context=context).submit() as h:
            h.use_kernel_bundle(launched)
            h.parallel_for(2, kernels.scaled, x)
        assert x.numpy().tolist() == [expected] * 2


@pytest.mark.behaviour("GKB-18")
def test_a_state_that_application_kernels_do_not_have(context):
    with pytest.raises(ValueError, match="create_kernel_bundle_from_source"):
        lp.get_kernel_bundle(context, state=lp.BundleState.EXT_ONEAPI_SOURCE)
    for state in (None, "input", 0):
        with pytest.raises(TypeError, match="BundleState"):
            lp.get_kernel_bundle(context, state=state)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        lp.get_kernel_bundle(context)  # type: ignore[call-arg]


@pytest.mark.behaviour("GKB-19", "GKB-20", "KB-07")
@each_state
def test_membership(device, lesser, pair, state):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no fp64")
    bundle = lp.get_kernel_bundle(pair, state=state, kernel_ids=[kernels.scaled, kernels.doubled])
    for kernel in (kernels.scaled, kernels.doubled, kernels.halved, other_kernels.scaled):
        for name in (kernel, kernel.kernel_id, kernel.qualified_name):
            is_member = kernel.kernel_id in bundle.get_kernel_ids()
            assert bundle.has_kernel(name) is is_member
            for dev in (device, lesser):
                assert bundle.has_kernel(name, dev) is (
                    is_member and lp.is_compatible([kernel.kernel_id], dev)
                )
    assert len(set(bundle.get_kernel_ids())) == len(bundle.get_kernel_ids())
    assert set(bundle.kernel_ids) == {id_ for image in bundle for id_ in image.get_kernel_ids()}
    assert set(bundle.get_kernel_names()) == {"scaled", "looked_up", "doubled"}
    assert not bundle.has_kernel("nope")
    with pytest.raises(TypeError, match="name"):
        bundle.has_kernel(1)


@pytest.mark.behaviour("GKB-21")
def test_kernels_by_id_function_and_name(context):
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=kernels.looked_up)
    kernel = bundle.get_kernel(kernels.looked_up)
    for name in (kernels.looked_up.kernel_id, "looked_up", kernels.looked_up.qualified_name):
        assert bundle.get_kernel(name) == kernel and hash(bundle.get_kernel(name)) == hash(kernel)
    assert kernel.name == "looked_up"
    assert kernel.kernel_bundle == kernel.get_kernel_bundle() == bundle
    assert kernel.context is kernel.get_context() is context
    assert kernel != bundle.get_kernel(kernels.scaled)
    for absent in ("nope", kernels.doubled, kernels.doubled.kernel_id, other_kernels.scaled):
        with pytest.raises(lp.UnknownKernelError) as caught:
            bundle.get_kernel(absent)
        assert caught.value.errc is lp.Errc.INVALID
        assert "looked_up" in str(caught.value)  # what there is
    both = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[kernels.scaled, other_kernels.scaled])
    with pytest.raises(lp.InvalidError, match="several kernels"):
        both.get_kernel("scaled")
    with pytest.raises(lp.InvalidError, match="several kernels"):
        both.has_kernel("scaled")


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel_ids": [], "kernel": kernels.scaled},
        {"kernel_ids": [], "selector": bool},
        {"kernel": kernels.scaled, "selector": bool},
        {"kernel_ids": kernels.scaled},
        {"kernel_ids": "scaled"},
        {"kernel_ids": [3]},
        {"kernel": 3},
        {"selector": 3},
        {"devs": 3},
        {"devs": "lavapipe"},
        {"devs": ["lavapipe"]},
    ],
)
def test_arguments_of_the_wrong_kind(context, arguments):
    with pytest.raises(TypeError, match="get_kernel_bundle"):
        lp.get_kernel_bundle(context, state=INPUT, **arguments)


def test_a_single_device_is_no_list_and_a_device_no_context(device, context):
    with pytest.raises(TypeError, match="list"):
        lp.get_kernel_bundle(context, device, state=INPUT)
    with pytest.raises(TypeError, match="Context"):
        lp.get_kernel_bundle(device, state=INPUT)


def test_changed_captures_make_new_images(context, monkeypatch):
    monkeypatch.setattr(captured, "factor", 2.0)
    first = lp.get_kernel_bundle(context, state=OBJECT, kernel=uses_captured)
    assert first == lp.get_kernel_bundle(context, state=OBJECT, kernel=uses_captured)
    monkeypatch.setattr(captured, "factor", 4.0)
    assert first != lp.get_kernel_bundle(context, state=OBJECT, kernel=uses_captured)


captured = other_kernels
captured.factor = 2.0  # type: ignore[attr-defined]


@lp.kernel
def uses_captured(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= captured.factor
