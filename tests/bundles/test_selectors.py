"""Selectors of lp.get_kernel_bundle see what a bundle of the state holds: every image of it, once, and nothing else."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = pytest.mark.device

PROGRAM = """
import importlib, pathlib
folder = pathlib.Path(__file__).parent
(folder / "library.py").write_text('''
import lapilli as lp
FACTOR = lp.SpecializationId(lp.i32, 3)
@lp.external
def scale(x: lp.i32) -> lp.i32:
    return x * FACTOR
''')
(folder / "user.py").write_text('''
import lapilli as lp, library
@lp.kernel
def calls(out: lp.Out[lp.i32]): out[lp.global_id(0)] = library.scale(7)
''')
(folder / "hidden.py").write_text('''
import lapilli as lp
lp.compile_options(spec_constants="emulated")
A = lp.SpecializationId(lp.i32, 10)
@lp.kernel
def reads(out: lp.Out[lp.i32]): out[lp.global_id(0)] = A
''')
user, library, hidden = map(importlib.import_module, ("user", "library", "hidden"))
queue = lp.Queue(device, context=context)

def run(bundle, kernel):
    out = lp.zeros(2, lp.i32, device=device)
    with lp.trace() as trace, queue.submit() as h:
        h.use_kernel_bundle(bundle)
        h.parallel_for(2, kernel, out)
    assert trace.count("module") == trace.count("pipeline") == 0
    return out.numpy().tolist()
"""


@pytest.mark.behaviour("GKB-05", "GKB-07", "GKB-06")
@pytest.mark.parametrize("state", [lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE])
def test_what_is_seen_is_what_there_is(fresh, state):
    """Functions without kernels are no images of executable bundles; fixed defaults are images of compiled ones."""
    fresh(
        f"state = lp.BundleState.{state.name}\n{PROGRAM}"
        + """
seen = []
chosen = lp.get_kernel_bundle(context, state=state, selector=lambda image: seen.append(image) or True)
every = lp.get_kernel_bundle(context, state=state)
assert chosen == every and chosen.devices == every.devices
assert len(seen) == len(set(seen)) == len(every) and set(seen) == set(every)
assert all(image.state is state for image in seen)
assert sorted(image.frozen for image in seen) == sorted(image.frozen for image in every)
if state is not INPUT:
    assert [image.spirv() for image in seen] == [image.spirv() for image in every]
    assert any(image.frozen for image in seen)
if state is EXECUTABLE:
    assert all(image.kernels for image in seen)
    assert all("Linkage" not in image.disassemble() for image in seen)
    assert run(chosen, user.calls) == [21, 21] and run(chosen, hidden.reads) == [10, 10]
"""
    )


@pytest.mark.behaviour("GKB-05")
def test_only_what_is_kept_comes(fresh):
    fresh(
        PROGRAM
        + """
only = lp.get_kernel_bundle(context, state=EXECUTABLE, selector=lambda image: image.has_kernel(user.calls))
assert only.kernel_ids == (user.calls.kernel_id,) and run(only, user.calls) == [21, 21]
for frozen in (True, False):
    kept = lp.get_kernel_bundle(
        context, state=EXECUTABLE, selector=lambda image: image.has_kernel(hidden.reads) and image.frozen is frozen
    )
    assert [image.frozen for image in kept] == [frozen] and run(kept, hidden.reads) == [10, 10]
exports = lp.get_kernel_bundle(context, state=OBJECT, selector=lambda image: not image.kernels)
assert len(exports) == 1 and "Export" in next(iter(exports)).disassemble()
"""
    )


def test_an_image_that_was_not_kept_need_not_compile(fresh):
    fresh("""
lp.compile_options(device_code_split="per_kernel")
@lp.kernel
def sound(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def broken(x: lp.Array[lp.f32]): x[lp.global_id(0)] = missing
for state in (OBJECT, EXECUTABLE):
    assert lp.get_kernel_bundle(context, state=state, selector=lambda image: image.has_kernel(sound)).has_kernel(sound)
    try:
        lp.get_kernel_bundle(context, state=state, selector=lambda image: image.has_kernel(broken))
    except lp.BuildError as error:
        assert "missing" in error.log
    else:
        raise AssertionError("the broken kernel was kept, so it must be compiled")
""")
