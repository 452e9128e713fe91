"""Two versions of a bundle file: nobody gets the code of one for that of the other."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

pytestmark = pytest.mark.device

STATES = [lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE]

VERSION = """
import lapilli as lp


@lp.kernel
def grow(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + {amount}
"""


@pytest.fixture
def build(make_project, tmp_path):
    """Builds a version of one Python module; returns the file.  Texts of one length would share a .pyc."""
    project = make_project("")

    def build(name, amount):
        project.file.write_text(VERSION.format(amount=amount), "utf-8")
        file = tmp_path / f"{name}.lpk"
        project.build("-o", file)
        project.forget()
        return str(file)

    yield build
    project.forget()


def grown(device, bundle):
    x = lp.zeros(3, device=device)
    launch_kernel(device.default_queue, bundle.get_kernel("grow"), 3, (x,))
    np.testing.assert_array_equal(x.numpy(), x.numpy()[0])
    return float(x.numpy()[0])


def test_each_bundle_runs_its_own_version(build, device, context):
    bundles = [lp.load_kernel_bundle(context, build(f"v{n}", n), [device]) for n in (1.0, 20.0)]
    assert [grown(device, bundle) for bundle in bundles] == [1.0, 20.0]
    assert bundles[0] != bundles[1]


@pytest.mark.parametrize("state", STATES)
def test_two_versions_are_not_put_together(build, device, context, state):
    files = [build("old", 1.0), build("new", 20.0)]
    old, new = (lp.load_kernel_bundle(context, file, [device], state=state) for file in files)
    unite = [lp.join, lp.link][: 1 + (state is lp.BundleState.OBJECT)]
    for function in unite:
        for bundles in ([old, new], [new, old]):
            with pytest.raises(lp.InvalidError, match=r"'.*grow'.*different code.*one version") as found:
                function(bundles)
            assert all(file in str(found.value) for file in files)


@pytest.mark.parametrize("state", STATES)
def test_the_same_code_is_put_together(build, device, context, state):
    first = build("first", 1.0)
    copy = shutil.copy(first, first + ".copy")
    other = build("other", 1.0)  # built again
    bundles = [lp.load_kernel_bundle(context, file, [device], state=state) for file in (first, copy, other)]
    joined = lp.join(bundles)
    assert joined == bundles[0]
    executable = joined if state is lp.BundleState.EXECUTABLE else lp.link(bundles)
    assert grown(device, executable) == 1.0
