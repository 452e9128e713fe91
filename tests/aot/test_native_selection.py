"""Native code and SPIR-V of one kernel in one bundle: which one is launched, and by whose choice."""

from __future__ import annotations

import pytest

import lapilli as lp

from .hostile import split

pytestmark = pytest.mark.device

INPUT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.EXECUTABLE


@pytest.fixture
def file(project, device):
    """SPIR-V and native code of kernels whose Python module is gone."""
    made = project.folder / "kernels.lpk"
    project.build("-o", made, "--targets", device.selector)
    project.forget()
    return made


def launch(queue, bundle, selector=None):
    """Launches `scaled` on ones; returns the result and the digest of the image."""
    x = lp.ones(4, device=queue.device)
    with lp.trace() as trace, queue.submit() as h:
        h.use_module(bundle, selector=selector)
        h.parallel_for(4, bundle.get_kernel("scaled"), x)
    (event,) = (event for event in trace.events if event.kind == "launch")
    assert trace.count("compile") == trace.count("module") == 0
    (result,) = {*x.numpy().tolist()}
    return result, event.image


@pytest.mark.behaviour("ST-09", "KB-05")
def test_formats_mix_in_one_state(file, context):
    bundle = lp.load_kernel_bundle(context, file)
    holding = [image for image in bundle if image.has_kernel("scaled")]
    assert sorted(image.format for image in holding) == ["native", "spirv"]
    assert {image.state for image in holding} == {bundle.state} == {EXECUTABLE}
    assert {image.format for image in lp.load_kernel_bundle(context, file, state=INPUT)} == {"spirv"}
    assert not bundle.native_specialization_constant()


@pytest.mark.behaviour("IMG-06", "IMG-07")
def test_a_selector_chooses_between_native_code_and_spirv(file, device, context):
    bundle, queue = lp.load_kernel_bundle(context, file), lp.Queue(device, context=context)
    seen = []

    def of_format(wanted):
        def select(images):
            seen.append(set(images))
            return next(
                image for image in images if image.has_kernel("scaled", device) and image.format == wanted
            )

        return select

    images = {image.format: image for image in bundle if image.has_kernel("scaled")}
    assert images["native"].binary.digest != images["spirv"].binary.digest, "the trace tells which one ran"
    for wanted in ("native", "spirv"):
        assert launch(queue, bundle, of_format(wanted)) == (2.0, images[wanted].binary.digest.hex())
    assert seen == [set(bundle)] * 2
    assert launch(queue, bundle)[1] == images["native"].binary.digest.hex()  # nobody chose


@pytest.mark.behaviour("GKB-17")
def test_get_kernel_bundle_takes_native_code_else_spirv(file, device, context):
    """The queue's launches compute the same with the driver's code, and without it where it is damaged."""
    queue = lp.Queue(device, context=context)
    for damage in (False, True):
        if damage:
            data = bytearray(file.read_bytes())
            header, code = split(bytes(data))
            for number in {image["native_code"] for image in header["images"] if image["native"] is not None}:
                data[len(data) - len(code) + header["blobs"][number]["offset_bytes"]] ^= 1
            file.write_bytes(data)
        id_ = lp.load_kernel_bundle(context, file).get_kernel("scaled").kernel_id
        bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_])
        formats = {image.format for image in bundle if image.has_kernel(id_)}
        assert formats == ({"spirv"} if damage else {"native", "spirv"})
        assert bundle.image_of(id_, device).format == ("spirv" if damage else "native")
        assert launch(queue, bundle)[0] == 2.0
