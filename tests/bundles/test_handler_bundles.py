"""Command groups that use kernel bundles: which kernel runs, with which values, what is refused; on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

lp.compile_options(device_code_split="per_kernel")

pytestmark = pytest.mark.device

A = lp.SpecializationId(lp.i32, 10)
B = lp.SpecializationId(lp.f32, 1.5)
EXECUTABLE, OBJECT, INPUT = lp.BundleState.EXECUTABLE, lp.BundleState.OBJECT, lp.BundleState.INPUT


@lp.kernel
def read(out: lp.Out[lp.i32], more: lp.i32 = 0):
    out[lp.global_id(0)] = A + more


@lp.kernel
def other(out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = -1


@lp.kernel(local_size="TILE")
def tiled(out: lp.Out[lp.i32], *, TILE: lp.Spec[lp.i32] = 4):
    shared = lp.local.array(TILE, lp.i32)
    shared[lp.local_id(0)] = lp.local_range(0)
    lp.barrier()
    out[lp.global_id(0)] = shared[TILE - 1 - lp.local_id(0)] * 100 + TILE


TILE = tiled.specialization_ids["TILE"]


@pytest.fixture
def queue(context):
    return lp.Queue(context=context)


@pytest.fixture
def out(device):
    return lp.zeros(8, lp.i32, device=device)


def built(context, kernel=read, values=()):
    bundle = lp.get_kernel_bundle(context, state=INPUT, kernel=kernel)
    for constant, value in dict(values).items():
        bundle.set_specialization_constant(constant, value)
    return lp.build(bundle)


def invalid(match):
    return pytest.raises(lp.InvalidError, match=match)


def test_a_queue_of_a_context(context, device):
    queue = lp.Queue(context=context)
    assert queue.device is device and queue.context is context
    assert lp.Queue(device).context is device.default_context
    for far in lp.devices():
        if far is not device:
            with invalid("none of the context's"):
                lp.Queue(far, context=context)


@pytest.mark.behaviour("IMG-02", "SC-29")
@pytest.mark.parametrize("use", ["use_kernel_bundle", "use_module"])
def test_a_bound_bundle_gives_kernel_and_values(context, queue, out, use):
    found = []
    for value in (20, 30, None):
        bundle = built(context, values={} if value is None else {A: value})
        with queue.submit() as h:
            getattr(h, use)(kb=bundle)
            h.parallel_for(8, read, out, more=1)
        found.append(out.numpy().tolist())
    assert found == [[21] * 8, [31] * 8, [11] * 8]


@pytest.mark.behaviour("SC-17", "SC-19")
def test_the_last_value_before_the_build_counts(context, queue, out):
    bundle = lp.get_kernel_bundle(context, state=INPUT, kernel=read)
    bundle.set_specialization_constant(A, 21)
    bundle.set_specialization_constant(A, 22)
    executable = lp.build(bundle)
    assert executable.get_specialization_constant(A) == 22
    with queue.submit() as h:
        h.use_kernel_bundle(executable)
        h.parallel_for(8, read, out)
    assert out.numpy().tolist() == [22] * 8


@pytest.mark.behaviour("IMG-03")
def test_a_kernel_that_the_bundle_does_not_have(context, queue, out):
    for bundle in (built(context, other), lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[])):
        with lp.trace() as trace, pytest.raises(lp.KernelNotFoundError) as caught, queue.submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(8, read, out)
        assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
        assert "read" in str(caught.value)
        assert trace.events == []


@pytest.mark.behaviour("IMG-04")
def test_a_kernel_object_of_another_bundle(context, queue, out):
    first, second = built(context, values={A: 1}), built(context, values={A: 2})
    kernel = first.get_kernel(read)
    with invalid("belongs to another kernel bundle") as caught, queue.submit() as h:
        h.use_module(second)
        h.parallel_for(8, kernel, out)
    assert caught.value.errc is lp.Errc.INVALID
    with queue.submit() as h:
        h.use_module(first)
        h.parallel_for(8, kernel, out)
    assert out.numpy().tolist() == [1] * 8


@pytest.mark.behaviour("IMG-05")
def test_a_bundle_of_another_context(context, device, out):
    bundle = built(context)
    for queue in (lp.Queue(device), lp.Queue(context=lp.Context([device]))):
        with invalid("another context"), queue.submit() as h:
            h.use_kernel_bundle(bundle)
        with invalid("another context"):
            queue.parallel_for(8, bundle.get_kernel(read), out)


@pytest.mark.behaviour("IMG-02")
@pytest.mark.parametrize("state", [INPUT, OBJECT])
def test_bundles_of_other_states_and_other_objects_are_type_errors(context, queue, state):
    with pytest.raises(TypeError, match="EXECUTABLE"), queue.submit() as h:
        h.use_kernel_bundle(lp.get_kernel_bundle(context, state=state, kernel=read))
    for wrong in (None, read, context, "kb"):
        with pytest.raises(TypeError, match=r"takes an lp\.KernelBundle"), queue.submit() as h:
            h.use_module(wrong)


@pytest.mark.behaviour("IMG-06", "IMG-07")
def test_a_selector_chooses_the_image(context, queue, out):
    bundle = lp.build(lp.join([lp.get_kernel_bundle(context, state=INPUT, kernel_ids=[read, other])]))
    seen = []

    def select(images):
        seen.append(tuple(images))
        return next(image for image in images if image.has_kernel(read))

    with lp.trace() as trace, queue.submit() as h:
        h.use_module(bundle, selector=select)
        h.parallel_for(8, read, out)
    assert seen == [tuple(bundle)]
    assert out.numpy().tolist() == [10] * 8
    (launch,) = (event for event in trace.events if event.kind == "launch")
    assert launch.image == next(image for image in bundle if image.has_kernel(read)).digest.hex()


@pytest.mark.behaviour("IMG-06")
def test_a_selector_must_return_an_image_of_the_bundle(context, queue, out):
    bundle, far = built(context), built(context, other)
    (foreign,) = list(far)[:1]
    for wrong in (None, 0, "image", foreign):
        with invalid("expected one of the"), queue.submit() as h:
            h.use_module(bundle, selector=lambda images, wrong=wrong: wrong)
            h.parallel_for(8, read, out)
    with pytest.raises(TypeError, match="expects a function"), queue.submit() as h:
        h.use_module(bundle, selector=3)


@pytest.mark.behaviour("IMG-08")
def test_a_second_different_bundle_is_invalid(context, queue, out):
    first, second = built(context, values={A: 1}), built(context, values={A: 2})
    with invalid("expected one kernel bundle"), queue.submit() as h:
        h.use_kernel_bundle(first)
        h.use_kernel_bundle(first)  # the same again is fine
        h.use_module(second)


@pytest.mark.behaviour("IMG-12")
def test_a_kernel_object_is_launched_directly(context, queue, out):
    kernel = built(context, values={A: 5}).get_kernel(read)
    with lp.trace() as trace:
        queue.parallel_for(8, kernel, out, 2)
        assert out.numpy().tolist() == [7] * 8
        queue.parallel_for(lp.NdRange(8, 8), kernel, out, more=3)
        assert out.numpy().tolist() == [8] * 8
        queue.single_task(kernel, out, 4)
        with queue.submit() as h:
            h.set_arg("more", 5)
            h.set_arg(0, out)
            h.parallel_for(2, kernel)
    assert out.numpy().tolist() == [10, 10, *[8] * 6]
    assert trace.count("compile") + trace.count("module") == 0


@pytest.mark.behaviour("IMG-02", "KB-03", "ST-08")
def test_a_launch_from_a_bundle_makes_no_module_and_no_pipeline(context, queue, out):
    bundle = built(context, values={A: 77})
    with lp.trace() as trace:
        for count in (1, 3, 8):
            with queue.submit() as h:
                h.use_kernel_bundle(bundle)
                h.parallel_for(count, read, out)
        queue.single_task(bundle.get_kernel(read), out)
    assert {event.kind for event in trace.events} == {"launch"}
    assert out.numpy().tolist() == [77] * 8


@pytest.mark.behaviour("SC-27")
@pytest.mark.parametrize("kernel", [None, read, other])
@pytest.mark.parametrize(
    "call",
    [
        lambda h: h.set_specialization_constant(A, 10),
        lambda h: h.get_specialization_constant(A),
        lambda h: h.set_specialization_constant(B, 1.5),
        lambda h: h.get_specialization_constant(B),
    ],
)
def test_the_sycl_names_are_refused_with_a_bundle_in_either_order(context, queue, kernel, call):
    kernels = [] if kernel is None else [kernel]
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=kernels)
    with invalid("either from a kernel bundle or from its handler") as caught, queue.submit() as h:
        h.use_kernel_bundle(bundle)
        call(h)
    assert caught.value.errc is lp.Errc.INVALID
    with invalid("either from a kernel bundle or from its handler"), queue.submit() as h:
        call(h)
        h.use_kernel_bundle(bundle)
    with invalid("either from a kernel bundle or from its handler"), queue.submit() as h:
        h.use_kernel_bundle(bundle)
        h.parallel_for(1, read, None, spec={A: 10})


@pytest.mark.behaviour("SC-27")
@pytest.mark.parametrize("has_object", [False, True])
def test_a_constant_by_keyword_is_refused_with_a_bundle(context, queue, out, has_object):
    bundle = built(context, tiled, {TILE: 2})
    with (
        invalid("'TILE' is a specialization constant.*set it on the input bundle") as caught,
        queue.submit() as h,
    ):
        if not has_object:
            h.use_kernel_bundle(bundle)
        h.parallel_for(8, bundle.get_kernel(tiled) if has_object else tiled, out, TILE=2)
    assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.behaviour("SC-26")
def test_the_older_names_take_the_value_of_the_bundle(context, queue, out):
    bundle = built(context, values={A: 20})
    with queue.submit() as h:
        h.use_module(bundle)
        assert h.set_spec_constant(A, 20).get() == 20
        assert h.get_spec_constant(B).get() == 1.5
        h.parallel_for(8, read, out)
    assert out.numpy().tolist() == [20] * 8
    for first, second in (
        (lambda h: h.use_module(bundle), lambda h: h.set_spec_constant(A, 10)),
        (lambda h: h.set_spec_constant(A, 10), lambda h: h.use_module(bundle)),
        (lambda h: h.use_module(bundle), lambda h: h.set_spec_constant(B, 2)),
    ):
        with invalid("with which the kernel bundle was built") as caught, queue.submit() as h:
            first(h)
            second(h)
        assert caught.value.errc is lp.Errc.INVALID


@pytest.mark.behaviour("SC-29")
def test_a_placeholder_has_the_value_of_the_bundle_that_is_used(context, queue, out):
    bundles = [built(context, values={A: value}) for value in (3, 4)]
    with queue.submit() as h:
        kept = h.get_spec_constant(A)
        h.use_module(bundles[0])
        assert kept.get() == 3

    @lp.kernel
    def captured(x: lp.Out[lp.i32], n: lp.i32):
        x[0] = kept.get() * 100 + n

    for value, expected in ((5, 505), (6, 606)):
        bundle = built(context, captured, {A: value})
        with queue.submit() as h:
            h.use_module(bundle)
            h.parallel_for(1, captured, out, kept)
        assert out.numpy()[0] == expected


def test_constants_of_the_group_with_a_kernel_object(context, queue, out):
    kernel = built(context, values={A: 5}).get_kernel(read)
    with queue.submit() as h:
        h.set_spec_constant(A, 5)
        h.parallel_for(8, kernel, out)
    assert out.numpy().tolist() == [5] * 8
    with invalid("with which the kernel bundle was built"), queue.submit() as h:
        h.set_spec_constant(A, 6)
        h.parallel_for(8, kernel, out)
    with invalid("either from a kernel bundle or from its handler"), queue.submit() as h:
        h.set_specialization_constant(A, 5)
        h.parallel_for(8, kernel, out)


@pytest.mark.behaviour("SC-18")
def test_a_bundle_cannot_be_changed_while_a_group_is_submitted(context, queue):
    bundle = lp.get_kernel_bundle(context, state=INPUT, kernel=read)
    with invalid("while a command group") as caught, queue.submit():
        bundle.set_specialization_constant(A, 1)
    assert caught.value.errc is lp.Errc.INVALID
    with pytest.raises(lp.InvalidError):
        queue.submit(lambda h: bundle.set_specialization_constant(A, 1))
    assert bundle.get_specialization_constant(A) == 10
    bundle.set_specialization_constant(A, 2)
    assert bundle.get_specialization_constant(A) == 2


@pytest.mark.behaviour("SC-34")
@pytest.mark.parametrize("size", [None, 2, 8])
def test_a_specialised_local_size_in_a_bundle(context, queue, out, size):
    bundle = built(context, tiled, {} if size is None else {TILE: size})
    expected = (size or 4) * 101
    with lp.trace() as trace:
        with queue.submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(8, tiled, out)
        assert out.numpy().tolist() == [expected] * 8
        queue.parallel_for(8, bundle.get_kernel(tiled), out)
    assert {event.kind for event in trace.events} == {"launch"}


@pytest.mark.behaviour("SC-34")
def test_a_derived_local_size_below_one_is_an_error_at_the_launch(context, queue, out):
    bundle = built(context, tiled, {TILE: 0})
    with pytest.raises(ValueError, match="local size TILE is 0, expected at least 1; TILE = 0"):
        queue.parallel_for(8, bundle.get_kernel(tiled), out)
    limit = queue.device.info.max_work_item_sizes[-1]
    bundle = built(context, tiled, {TILE: limit + 1})
    with pytest.raises(
        lp.KernelNotSupportedError, match=rf"{limit}.*local_size is \(TILE\) with TILE = {limit + 1}"
    ):
        queue.parallel_for(8, bundle.get_kernel(tiled), out)


# Emulated constants


@pytest.mark.behaviour("SC-11", "SC-14")
def test_emulation_by_property(context, queue, out):
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=read)
    source.set_specialization_constant(A, 9)
    plain = lp.build(source)
    emulated = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
    compiled = lp.compile(source, props=[lp.properties.EmulateSpecConstants()])
    linked = lp.link(compiled)
    assert plain.native_specialization_constant() and plain.native_spec_constant()
    for bundle in (emulated, compiled, linked):
        assert not bundle.native_specialization_constant()
        assert bundle.has_specialization_constant(A) and bundle.contains_specialization_constants()
        (image,) = (image for image in bundle if image.has_kernel(read) and not image.frozen)
        block = image.spec_constant_block
        assert block is not None
        (info,) = (info for info in image.spec_constants if info.name == "A")
        assert np.frombuffer(block, "<i4", 1, info.offset_bytes)[0] == 10
    assert all(image.spec_constant_block is None for image in plain)
    for bundle in (plain, emulated, linked):
        with queue.submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(8, read, out)
        assert out.numpy().tolist() == [9] * 8
    read[8](out)  # the default dispatch goes on with native constants
    assert out.numpy().tolist() == [10] * 8
    with invalid("does not take"):
        lp.link(compiled, props=[lp.properties.EmulateSpecConstants()])


def test_emulated_bundles_of_several_values_share_pipelines(context, queue, out):
    @lp.kernel
    def fresh(x: lp.Out[lp.i32]):
        x[0] = A

    with lp.trace() as trace:
        for value in (1, 2, 3):
            source = lp.get_kernel_bundle(context, state=INPUT, kernel=fresh)
            source.set_specialization_constant(A, value)
            bundle = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
            queue.parallel_for(1, bundle.get_kernel(fresh), out)
            assert out.numpy()[0] == value
    made = [event.kernel for event in trace.events if event.kind == "pipeline"]
    assert made.count("fresh") <= 1


@pytest.mark.behaviour("SC-12")
def test_a_frozen_image_serves_the_defaults_and_the_generic_one_the_rest(context, queue, out):
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=read)
    chosen = []
    for value in (None, 5, 10):  # the default, another value, the default again
        if value is not None:
            source.set_specialization_constant(A, value)
        bundle = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
        assert sorted(image.frozen for image in bundle) == [False, True]
        assert bundle.get_kernel_ids() == [lp.get_kernel_id(read)]
        with lp.trace() as trace, queue.submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(8, read, out)
        assert out.numpy().tolist() == [value or 10] * 8
        (launch,) = trace.events
        frozen = {image.binary.digest.hex(): image.frozen for image in bundle}
        chosen.append(frozen[launch.image])
    assert chosen == [True, False, True]
    (image,) = (image for image in bundle if image.frozen)
    assert image.spec_constants == () and image.spec_constant_block is None
    assert image.disassemble().count("SpecId") == 3  # the local size alone


@pytest.mark.behaviour("SC-12")
def test_a_selector_cannot_choose_a_frozen_image_for_other_values(context, queue, out):
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=read)
    source.set_specialization_constant(A, 5)
    bundle = lp.build(source, props=[lp.properties.EmulateSpecConstants()])
    with invalid("fixed at their defaults"), queue.submit() as h:
        h.use_module(bundle, selector=lambda images: next(i for i in images if i.frozen))
        h.parallel_for(8, read, out)


@pytest.mark.behaviour("IMG-01")
def test_default_dispatch_takes_the_furthest_state_that_there_is(context, device, out):
    def kernel():
        @lp.kernel
        def fresh(x: lp.Out[lp.i32]):
            x[0] = A

        return fresh

    def kinds(fresh):
        with lp.trace() as trace:
            lp.Queue(device).parallel_for(1, fresh, out)
        assert out.numpy()[0] == 10
        return {event.kind for event in trace.events}

    executable, compiled, untouched = kernel(), kernel(), kernel()
    lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=executable)
    lp.get_kernel_bundle(context, state=OBJECT, kernel=compiled)
    assert "compile" not in kinds(executable) | kinds(compiled)
    assert kinds(untouched) >= {"compile", "launch"}
    assert kinds(untouched) == {"launch"}

    @lp.kernel
    def broken(x: lp.Out[lp.i32]):
        x[0] = is_nothing  # noqa: F821

    with pytest.raises(lp.BuildError):
        lp.Queue(device).parallel_for(1, broken, out)
