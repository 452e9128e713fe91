"""`@lp.kernel(debug=True)`: debug mode of one kernel, beside others of its module that are as they were."""

from __future__ import annotations

import pytest

import lapilli as lp


@lp.kernel(debug=True)
def checked(x: lp.Array[lp.i32], by: lp.i32):
    x[lp.global_id(0)] = 8 // by


@lp.kernel
def unchecked(x: lp.Array[lp.i32], by: lp.i32):
    x[lp.global_id(0)] = 8 // by


@lp.kernel(debug=False)
def never(x: lp.Array[lp.i32], by: lp.i32):
    x[lp.global_id(0)] = 8 // by


def divides_by_zero(kernel, device, **options) -> list[int]:
    x = lp.zeros(2, "i32", device=device)
    kernel[2](x, 0, **options).wait()
    return x.numpy().tolist()


@pytest.mark.device
def test_only_its_own_kernel_traps(device: lp.Device) -> None:
    with lp.config.override(debug=False):
        with pytest.raises(lp.KernelTrap) as caught:
            divides_by_zero(checked, device)
        assert caught.value.location is not None
        assert caught.value.location.line == checked.function.__code__.co_firstlineno + 2
        assert divides_by_zero(unchecked, device) == [0, 0]
        assert divides_by_zero(never, device) == [0, 0]


@pytest.mark.device
def test_debug_mode_of_the_process_is_for_all(device: lp.Device) -> None:
    with lp.config.override(debug=True):
        for kernel in (checked, unchecked, never):
            with pytest.raises(lp.KernelTrap):
                divides_by_zero(kernel, device)


@pytest.mark.device
@pytest.mark.native_only("bundles hold images")
def test_a_bundle_of_its_module_keeps_it(device: lp.Device) -> None:
    with lp.config.override(debug=False):
        bundle = lp.get_kernel_bundle(
            lp.Context([device]),
            state=lp.BundleState.EXECUTABLE,
            kernel_ids=[lp.get_kernel_id(checked), lp.get_kernel_id(unchecked)],
        )
        queue = lp.Queue(device, context=bundle.context)
        x = lp.zeros(2, "i32", device=device)

        def launch(kernel) -> None:
            def group(h: lp.Handler) -> None:
                h.use_kernel_bundle(bundle)
                h.parallel_for(2, kernel, x, 0)

            queue.submit(group).wait()

        launch(unchecked)
        with pytest.raises(lp.KernelTrap):
            launch(checked)


def test_other_values_are_refused() -> None:
    with pytest.raises(lp.InvalidError, match=r"@lp\.kernel\(debug=…\): expected True or False, found 1"):
        lp.kernel(debug=1)(lambda: None)  # pyright: ignore
