"""Two modules of the program export one name: a kernel says which it means by calling that object."""

from __future__ import annotations

import pytest

import lapilli as lp

from . import exporting_again, importing

pytestmark = pytest.mark.device

INPUT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.EXECUTABLE


@pytest.mark.behaviour("CLB-03", "GKB-17")
def test_building_takes_the_function_that_was_called(device: lp.Device, context: lp.Context) -> None:
    assert exporting_again.second_exporter.name == "second_exporter"
    kernel, queue = importing.importer_kernel, lp.Queue(context=context)
    source = lp.get_kernel_bundle(context, state=INPUT, kernel=kernel)
    for bundle in (
        lp.build(source),
        lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=kernel),
        lp.get_kernel_bundle(context, state=EXECUTABLE, selector=lambda image: image.has_kernel(kernel)),
    ):
        x = lp.full(3, 5.0, device=device)
        queue.parallel_for(3, bundle.get_kernel(kernel), x)
        assert x.numpy().tolist() == [11.0] * 3
