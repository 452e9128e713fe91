"""lp.compile, lp.link, lp.build: from state to state."""

from __future__ import annotations

import io
import threading

import pytest

import lapilli as lp

from . import kernels, other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
FROM = {lp.compile: INPUT, lp.link: OBJECT, lp.build: INPUT}
each_function = pytest.mark.parametrize("function", FROM, ids=lambda function: function.__name__)


def get(context, state, kernel=kernels.scaled, devs=None):
    return lp.get_kernel_bundle(context, devs, state=state, kernel=kernel)


@pytest.mark.behaviour("CLB-01", "CLB-04", "CLB-11", "KB-08", "KB-15")
@each_function
def test_kernels_that_no_device_supports_are_left_out(device, lesser, pair, function):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no fp64")
    bundle = lp.get_kernel_bundle(pair, state=FROM[function], kernel_ids=[kernels.scaled, kernels.doubled])
    for devs, has_double in (
        ([device, device], True),
        ([lesser], False),
        (None, True),
        ([lesser, device], True),
    ):
        result = function(bundle, devs)
        assert result.context is pair
        assert result.devices == (pair.devices if devs is None else tuple(dict.fromkeys(devs)))
        assert result.has_kernel(kernels.scaled)
        assert result.has_kernel(kernels.doubled) is has_double
        assert not result.has_kernel(kernels.doubled, lesser)
    for image in function(bundle):
        assert ("Float64" in image.disassemble()) is image.has_kernel(kernels.doubled)


@pytest.mark.behaviour("CLB-02", "CLB-12")
def test_link_drops_duplicates_and_takes_one_or_many(context):
    compiled, other = get(context, OBJECT), get(context, OBJECT, other_kernels.scaled)
    linked = lp.link(compiled)
    assert (
        linked
        == lp.link(kb_or_list=[compiled])
        == lp.link([compiled, compiled])
        == lp.link((compiled, get(context, OBJECT)))
    )
    assert len(linked) == 1
    both = lp.link([compiled, other])
    assert set(both.kernel_ids) == {*compiled.kernel_ids, *other.kernel_ids}
    assert lp.link(lp.join([compiled, other])) == both


@pytest.mark.behaviour("CLB-03", "GKB-17")
def test_build_is_compile_and_link(context):
    source = get(context, INPUT)
    source.set_specialization_constant(kernels.COEFF, 3.0)
    built, linked = lp.build(source), lp.link(lp.compile(source))
    assert built == linked and hash(built) == hash(linked)
    assert built.context is context and built.devices == source.devices
    assert built.get_specialization_constant(kernels.COEFF) == 3.0
    assert get(context, EXECUTABLE) != built  # it has the default
    assert set(get(context, EXECUTABLE)) == set(built)


@pytest.mark.behaviour("KB-02")
def test_an_image_is_compiled_once(fresh):
    fresh("""
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def b(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 2.0
with lp.trace() as trace:
    bundle = lp.build(lp.get_kernel_bundle(context, state=INPUT, kernel=a))
    lp.build(lp.get_kernel_bundle(context, state=INPUT, kernel=b))
    lp.get_kernel_bundle(context, state=EXECUTABLE)
assert (trace.count("compile"), trace.count("module"), trace.count("pipeline")) == (1, 1, 2), trace.events
assert bundle.has_kernel(a) and bundle.has_kernel(b) and len(bundle) == 1
""")


@pytest.mark.behaviour("CLB-05")
@each_function
def test_devices_are_the_bundles(device, lesser, pair, function):
    bundle = get(pair, FROM[function], devs=[device])
    for devs in ([], [lesser], [device, lesser]):
        with pytest.raises(lp.InvalidError) as caught:
            function(bundle, devs)
        assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.behaviour("CLB-06", "CLB-13")
def test_link_needs_devices_that_every_bundle_has(device, lesser, pair):
    both, first, second = (get(pair, OBJECT, devs=devs) for devs in (None, [device], [lesser]))
    assert lp.link([both, second]).devices == (lesser,)
    assert lp.link([first, both]).devices == (device,)
    assert lp.link([both, first], [device]).devices == (device,)
    for devs in (None, [device], [lesser], [device, lesser]):
        with pytest.raises(lp.InvalidError):
            lp.link([first, second], devs)
    with pytest.raises(lp.InvalidError):
        lp.link([both, first], [lesser])


@pytest.mark.behaviour("CLB-07")
def test_link_needs_one_context(device, context):
    bundles = [get(context, OBJECT), get(lp.Context([device]), OBJECT)]
    for devs in (None, [device]):
        with pytest.raises(lp.InvalidError, match="context"):
            lp.link(bundles, devs)


@pytest.mark.behaviour("CLB-16")
def test_linking_nothing_is_an_error(device):
    for devs in (None, [], [device]):
        with pytest.raises(lp.InvalidError):
            lp.link([], devs)


@pytest.mark.behaviour("CLB-10", "CLB-18")
@each_function
def test_properties_are_objects(context, function):
    bundle = get(context, FROM[function])
    for props in ((), [], [lp.properties.Debug()], (p for p in (lp.properties.Log(io.StringIO()),))):
        function(bundle, props=props)
    for flags in ("-O3", ["-O3"], [object()], 3, [lp.properties.Debug], None):
        with pytest.raises(TypeError, match="props"):
            function(bundle, props=flags)
    with pytest.raises(TypeError):
        function(bundle, "-O3")
    with pytest.raises(lp.InvalidError, match="twice"):
        function(bundle, props=[lp.properties.Debug(), lp.properties.Debug()])


@pytest.mark.behaviour("CLB-10")
def test_a_property_of_something_else_is_refused(context):
    from lapilli.vk_runtime.build_properties import Property

    class Foreign(Property):
        pass

    for function, state in FROM.items():
        with pytest.raises(lp.InvalidError, match=r"Foreign.*Debug, Log") as caught:
            function(get(context, state), props=[Foreign()])
        assert caught.value.errc is lp.Errc.INVALID
    with pytest.raises(lp.InvalidError, match="link does not take the property EmulateSpecConstants"):
        lp.link(get(context, OBJECT), props=[lp.properties.EmulateSpecConstants()])
    with pytest.raises(TypeError, match="text stream"):
        lp.properties.Log(3)  # type: ignore[arg-type]


@pytest.mark.behaviour("CLB-17")
def test_debug_and_log(context):
    source, log = get(context, INPUT), io.StringIO()
    plain, debug = lp.build(source), lp.build(source, props=[lp.properties.Debug(), lp.properties.Log(log)])
    (plain_image,), (debug_image,) = plain, debug
    assert "OpLine" not in plain_image.disassemble()
    assert "OpLine" in debug_image.disassemble() and "kernels.py" in debug_image.disassemble()
    assert "scaled" in log.getvalue() and "compiled" in log.getvalue() and "linked" in log.getvalue()
    assert lp.properties.Log(log).get_log_stream() is lp.properties.Log(log).log_stream is log


@pytest.mark.parametrize("value", [3, None, "x", [3], lp.BundleState.INPUT])
@each_function
def test_something_that_is_no_bundle(function, value):
    with pytest.raises(TypeError, match=function.__name__):
        function(value)


@pytest.mark.behaviour("KB-17")
@pytest.mark.parametrize("emulated", [False, True], ids=["native", "emulated"])
def test_threads_build_one_bundle(context, device, make_module, emulated):
    """Eight at once: the image is compiled once, all get equal bundles, and each runs its own."""
    unit = make_module("""
A = lp.SpecializationId(lp.FixedArray[lp.i32, 3], [1, 2, 3])
@lp.kernel
def k(x: lp.Array[lp.i32]): x[lp.global_id(0)] = A[lp.global_id(0) % 3]
""")
    source = get(context, INPUT, unit.k)
    source.set_specialization_constant(unit.A, [7, 8, 9])
    props = [lp.properties.EmulateSpecConstants()] * emulated
    start, results, errors = threading.Barrier(8), [], []

    def work():
        try:
            start.wait()
            bundle = lp.build(source, props=props)
            x = lp.zeros(6, lp.i32, device=device)
            with lp.Queue(context=context).submit() as h:
                h.use_kernel_bundle(bundle)
                h.parallel_for(6, unit.k, x)
            results.append((bundle, x.numpy().tolist()))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    with lp.trace() as trace:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    assert len(results) == 8 and all(bundle == results[0][0] for bundle, _ in results)
    assert all(values == [7, 8, 9, 7, 8, 9] for _, values in results)
    assert source.state is INPUT and source.get_specialization_constant(unit.A).tolist() == [7, 8, 9]
    assert results[0][0].get_specialization_constant(unit.A).tolist() == [7, 8, 9]
    assert trace.count("compile") == (2 if emulated else 1), (
        "the generic image, and the one with fixed defaults"
    )
    assert trace.count("module") == trace.count("pipeline") == 1


def test_inputs_stay_as_they_were(context):
    source = get(context, INPUT)
    images, values = list(source), dict(source.specialization_constants)
    compiled = lp.compile(source)
    source.set_specialization_constant(kernels.COEFF, 99.0)
    assert compiled.get_specialization_constant(kernels.COEFF) == values[kernels.COEFF] == 2.0
    assert lp.link(compiled).get_specialization_constant(kernels.COEFF) == 2.0
    assert list(source) == images and source.state is INPUT


class Refusing:
    """The driver's functions, of which one fails."""

    def __init__(self, functions, name):
        self.functions, self.name = functions, name

    def __getattr__(self, name):
        return (lambda *_: VK_ERROR_UNKNOWN) if name == self.name else getattr(self.functions, name)


VK_ERROR_UNKNOWN = -13


@pytest.mark.native_only("nothing reaches a driver")
@pytest.mark.behaviour("GKB-15", "CLB-09")
@pytest.mark.parametrize("function", ["vkCreateComputePipelines", "vkCreateShaderModule"])
def test_what_a_driver_refuses_is_a_build_error(context, device, make_module, monkeypatch, function):
    # A name of its own: what the driver has made of the same code would be taken.
    name = f"refused_{function}"
    kernel = getattr(
        make_module(f"@lp.kernel\ndef {name}(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0\n"), name
    )
    compiled = get(context, OBJECT, kernel)
    with monkeypatch.context() as patch:
        patch.setattr(device.logical, "vk", Refusing(device.logical.vk, function))
        for call in (
            lambda: lp.link(compiled),
            lambda: lp.build(get(context, INPUT, kernel)),
            lambda: get(context, EXECUTABLE, kernel),
        ):
            with pytest.raises(lp.BuildError, match=f"refused.*{function}") as caught:
                call()
            assert caught.value.errc is lp.Errc.BUILD
    assert lp.link(compiled).has_kernel(kernel)  # nothing is left behind
