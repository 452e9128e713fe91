"""A kernel whose module is imported after its bundle file was loaded is the file's kernel."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys

import pytest

import lapilli as lp

pytestmark = pytest.mark.device

MODULE = """
import lapilli as lp

FACTOR = lp.SpecializationId(lp.f32, 2.0)


@lp.kernel
def scaled(x: lp.Array[lp.f32], by: lp.f32 = 1.0):
    x[lp.global_id(0)] *= FACTOR * by
"""


_serial = itertools.count()


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A bundle file of a module that this program has not imported, which it could: no other test has its name."""
    name = f"later_module_{next(_serial)}"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{name}.py").write_text(MODULE)
    command = (sys.executable, "-m", "lapilli", "build", f"{name}.py", "-o", f"{name}.lpk")
    subprocess.run(command, check=True, cwd=tmp_path)
    importlib.invalidate_caches()
    yield tmp_path / f"{name}.lpk"
    sys.modules.pop(name, None)


def launched(device, context, bundle, kernel):
    x = lp.full(3, 5.0, device=device)
    with lp.Queue(context=context).submit() as group:
        group.use_kernel_bundle(bundle)
        group.parallel_for(3, kernel, x)
    return x.numpy().tolist()


def test_a_bundle_has_a_kernel_that_is_imported_later(path, device):
    context = lp.Context([device])
    bundle = lp.load_kernel_bundle(context, path)
    (loaded,) = bundle.kernel_ids
    module = importlib.import_module(path.stem)
    assert bundle.has_kernel(module.scaled) and lp.get_kernel_id(module.scaled) is loaded
    assert bundle.get_kernel(module.scaled) == bundle.get_kernel("scaled")
    with lp.trace() as trace:
        assert launched(device, context, bundle, module.scaled) == [10.0] * 3
    assert trace.count("compile") == 0
    assert lp.load_kernel_bundle(context, path).kernel_ids == (loaded,)
    own = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=module.scaled)
    assert launched(device, context, own, module.scaled) == [10.0] * 3


def test_one_of_other_parameters_is_another_kernel(path, device):
    bundle = lp.load_kernel_bundle(lp.Context([device]), path)
    source = path.with_suffix(".py")
    source.write_text(MODULE.replace("by: lp.f32 = 1.0", "by: lp.i32 = 1"))
    module = importlib.import_module(path.stem)
    assert not bundle.has_kernel(module.scaled) and bundle.has_kernel("scaled")


def test_a_constant_of_it_is_the_file_s(path, device):
    context = lp.Context([device])
    loaded = lp.load_kernel_bundle(context, path, state=lp.BundleState.INPUT)
    (of_file,) = loaded.specialization_constants
    loaded.set_specialization_constant(of_file, 3.0)
    built = lp.build(loaded)
    module = importlib.import_module(path.stem)
    factor = module.FACTOR
    for bundle in (loaded, built):
        assert bundle.has_specialization_constant(factor) and bundle.has_specialization_constant(of_file)
        assert list(bundle.specialization_constants.items()) == [(factor, 3.0)]
        assert bundle.get_specialization_constant(factor) == 3.0
        assert [info.id for image in bundle for info in image.spec_constants] == [factor]
    assert launched(device, context, built, module.scaled) == [15.0] * 3
    loaded.set_specialization_constant(factor, 4.0)
    assert loaded.get_specialization_constant(of_file) == 4.0
    changed = lp.build(loaded)
    assert launched(device, context, changed, module.scaled) == [20.0] * 3
    with pytest.raises(lp.InvalidError, match=r"'FACTOR' to different values, 3\.0 and 4\.0"):
        lp.join([built, changed])


def test_a_constant_of_another_default_is_another(path, device):
    bundle = lp.load_kernel_bundle(lp.Context([device]), path, state=lp.BundleState.INPUT)
    # Of another length: Python takes code that it has kept for a text of the same second and length.
    path.with_suffix(".py").write_text(MODULE.replace("2.0", "2.625"))
    module = importlib.import_module(path.stem)
    assert not bundle.has_specialization_constant(module.FACTOR)
    (of_file,) = bundle.specialization_constants
    assert bundle.get_specialization_constant(of_file) == 2.0
    # Its bytes would be those of the file's constant: drivers know both by one name.
    with pytest.raises(
        lp.InvalidError, match=r"expected <.*FACTOR: lp.f32 = 2.0>.*found <.*FACTOR: lp.f32 = 2.625>"
    ):
        bundle.set_specialization_constant(module.FACTOR, 3.0)
    bundle.set_specialization_constant(of_file, 3.0)
