"""Linking bundles of Python modules that call each other's functions."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

from . import exporting, exporting_again, importing, kernels, unresolved

BUILT_IN_LIBRARY = """
N = lp.SpecializationId(lp.i32, 3)
def summed(x: lp.f32):
    total = lp.f32(0)
    for _ in range(N):
        total += x
    return total
@lp.external
def repeated(x: lp.f32) -> lp.f32:
    return summed(x) * 2.0
"""
"""lavapipe must not know the first sum while it compiles: the function asks for an id of the work-item, to hide it."""

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
COEFF = kernels.COEFF


def get(context, state, *wanted):
    return lp.get_kernel_bundle(context, state=state, kernel_ids=wanted)


def run(device, bundle, kernel, value=5.0):
    x = lp.full(3, value, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, bundle.get_kernel(kernel), 3, (x,))
    assert trace.count("pipeline") == trace.count("module") == 0
    (result,) = {*x.numpy().tolist()}
    return result


@pytest.mark.behaviour("ST-07", "CLB-02", "CLB-14")
def test_objects_import_and_export_and_executables_do_not(device, context):
    user, library = (
        get(context, OBJECT, importing.importer_kernel),
        get(context, OBJECT, exporting.exporter_kernel),
    )
    assert any(
        "LinkageAttributes" in image.disassemble() and "Import" in image.disassemble() for image in user
    )
    assert any(
        "LinkageAttributes" in image.disassemble() and "Export" in image.disassemble() for image in library
    )
    linked = lp.link([user, library])
    assert linked.has_kernel(importing.importer_kernel) and linked.has_kernel(exporting.exporter_kernel)
    for image in linked:
        assert "Linkage" not in image.disassemble() and image.kernels
    assert run(device, linked, importing.importer_kernel) == 11.0
    assert run(device, linked, exporting.exporter_kernel) == 10.0
    assert set(lp.link(lp.join([library, user]))) == set(linked)


@pytest.mark.behaviour("CLB-09", "CLB-14")
def test_an_unresolved_import_fails_by_name(context):
    for bundle, symbol in (
        (get(context, OBJECT, importing.importer_kernel), "bundles_scale"),
        (get(context, OBJECT, unresolved.unresolved_kernel, kernels.scaled), "bundles_nowhere"),
    ):
        with pytest.raises(lp.LinkError, match=symbol) as caught:
            lp.link(bundle)
        assert caught.value.errc is lp.Errc.BUILD
    for call in (
        lambda: lp.build(get(context, INPUT, unresolved.unresolved_kernel)),
        lambda: get(context, EXECUTABLE, unresolved.unresolved_kernel),
    ):
        with pytest.raises(lp.LinkError, match="bundles_nowhere"):
            call()


@pytest.mark.behaviour("CLB-09")
def test_a_symbol_that_is_exported_twice_fails_by_name(context):
    bundles = [get(context, OBJECT, k) for k in (exporting.exporter_kernel, exporting_again.second_exporter)]
    with pytest.raises(lp.LinkError, match="'bundles_scale' is exported twice") as caught:
        lp.link(bundles)
    assert caught.value.errc is lp.Errc.BUILD


@pytest.mark.behaviour("SC-33")
def test_a_value_reaches_the_function_of_another_module(device, context):
    user, library = (
        get(context, INPUT, importing.importer_kernel),
        get(context, INPUT, exporting.exporter_kernel),
    )
    user.set_specialization_constant(COEFF, 100.0)
    linked = lp.link([lp.compile(user), lp.compile(library)])
    assert linked.has_specialization_constant(COEFF)
    assert linked.get_specialization_constant(COEFF) == 100.0
    assert run(device, linked, importing.importer_kernel) == 501.0


def copies(name: str, factor: float):
    def helper(x: lp.f32) -> lp.f32:
        return x * factor

    @lp.kernel(name=name)
    def kernel(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = helper(x[lp.global_id(0)])

    return kernel


@pytest.mark.behaviour("CLB-15")
def test_private_helpers_of_one_name_do_not_clash(device, context):
    first, second = copies("first_copy", 3.0), copies("second_copy", 7.0)
    bundles = [
        get(context, OBJECT, first),
        get(context, OBJECT, second),
        get(context, OBJECT, kernels.scaled),
    ]
    linked = lp.link(bundles)
    assert run(device, linked, first) == 15.0
    assert run(device, linked, second) == 35.0


@pytest.mark.behaviour("GKB-17", "CLB-03")
def test_building_finds_what_other_modules_export(fresh):
    fresh("""
import importlib, pathlib
import numpy as np
from lapilli.vk_runtime.bundle_launch import launch_kernel
folder = pathlib.Path(__file__).parent
(folder / "library.py").write_text('''
import lapilli as lp
FACTOR = lp.SpecializationId(lp.f32, 2.0)
@lp.external
def scale(x: lp.f32) -> lp.f32:
    return x * FACTOR
''')
(folder / "user.py").write_text('''
import lapilli as lp, library
@lp.kernel
def k(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = library.scale(x[lp.global_id(0)])
''')
user, library = importlib.import_module("user"), importlib.import_module("library")
def run(bundle):
    x = lp.full(2, 5.0, device=device)
    with lp.trace() as trace:
        launch_kernel(device.default_queue, bundle.get_kernel(user.k), 2, (x,))
    assert trace.count("pipeline") == 0
    return x.numpy().tolist()
assert run(lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=user.k)) == [10.0] * 2
source = lp.get_kernel_bundle(context, state=INPUT, kernel=user.k)
source.set_specialization_constant(library.FACTOR, 4.0)
assert run(lp.build(source)) == [20.0] * 2
every = lp.get_kernel_bundle(context, state=EXECUTABLE)
assert every.kernel_ids == (user.k.kernel_id,) and len(every) == 1 and run(every) == [10.0] * 2
assert len(lp.get_kernel_bundle(context, state=OBJECT)) == 2  # the user's kernel, the library's function
""")


@pytest.mark.behaviour("EXT-10", "SC-33")
def test_linked_functions_share_the_built_in_inputs_of_their_kernel(device, make_module):
    """An entry point may have one variable of each built-in (VUID-StandaloneSpirv-OpEntryPoint-09658)."""
    library = make_module(BUILT_IN_LIBRARY)
    user = make_module(
        f"import {library.__name__} as library\n@lp.kernel\ndef calls(x: lp.Array[lp.f32]):\n"
        "    i = lp.global_id(0)\n    x[i] = library.repeated(x[i])\n"
    )
    x = lp.full(3, 5.0, device=device)
    user.calls[3].spec({library.N: 2})(x)
    assert x.numpy().tolist() == [20.0] * 3
    context = lp.Context([device])
    (image,) = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=user.calls)
    assert image.disassemble().count("BuiltIn GlobalInvocationId") == 1
