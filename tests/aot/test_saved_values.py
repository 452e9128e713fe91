"""Values of specialization constants in bundle files."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.tools.inspect import command
from lapilli.vk_runtime.bundle_launch import launch_kernel

from .hostile import joined, split

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
COEFF = lp.SpecializationId(lp.f32, 2.0)
TABLE = lp.SpecializationId(lp.FixedArray[lp.i32, 3], [1, 2, 3])


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] *= COEFF


@lp.kernel
def saved_look_up(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] = TABLE[x[lp.global_id(0)]]


@pytest.fixture
def saved(context, tmp_path):
    """Saves a bundle of two kernels, with one constant set, and returns the file."""

    def save(finish, values):
        source = lp.get_kernel_bundle(context, state=INPUT, kernel_ids=[scaled, saved_look_up])
        for constant, value in values.items():
            source.set_specialization_constant(constant, value)
        finish(source).save(tmp_path / "out.lpk")
        return tmp_path / "out.lpk"

    return save


def run(device, bundle, kernel, x):
    array = lp.asarray(x, device=device)
    launch_kernel(device.default_queue, bundle.get_kernel(kernel), array.size, (array,))
    return array.numpy().tolist()


@pytest.mark.behaviour("SC-19")
@pytest.mark.parametrize("finish", [lp.compile, lp.build])
def test_a_loaded_bundle_has_the_values_of_the_saved_one(device, context, saved, finish):
    file = saved(finish, {COEFF: 100.0, TABLE: [7, 8, 9]})
    assert "2.0, set to 100.0" in CliRunner().invoke(command, [str(file)]).output
    for state in (INPUT, OBJECT, EXECUTABLE):
        loaded = lp.load_kernel_bundle(context, file, state=state)
        assert loaded.get_specialization_constant(COEFF) == 100.0
        assert loaded.get_specialization_constant(TABLE).tolist() == [7, 8, 9]
    assert run(device, loaded, "scaled", np.float32([2.0])) == [200.0]
    assert run(device, loaded, "saved_look_up", np.int32([2, 0])) == [9, 7]


@pytest.mark.behaviour("SC-17", "GKB-16")
def test_values_of_a_file_can_be_set_again_and_are_no_defaults(device, context, saved):
    file = saved(lp.build, {COEFF: 100.0})
    source = lp.load_kernel_bundle(context, file, state=INPUT)
    source.set_specialization_constant(COEFF, 3.0)
    assert run(device, lp.build(source), "scaled", np.float32([2.0])) == [6.0]
    again = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=source.kernel_ids)
    assert again.get_specialization_constant(COEFF) == COEFF.default


def test_files_without_values_and_with_wrong_ones(context, saved):
    file = saved(lp.build, {COEFF: 100.0})
    header, code = split(file.read_bytes())
    (record,) = (c for c in header["constants"] if c["name"] == "COEFF")
    record["value"] = "00" * 5
    file.write_bytes(joined(header, code))
    with pytest.raises(lp.InvalidError, match="has a value of 5 bytes"):
        lp.load_kernel_bundle(context, file)
    for constant in header["constants"]:
        del constant["value"]  # as files were before
    file.write_bytes(joined(header, code))
    assert lp.load_kernel_bundle(context, file).get_specialization_constant(COEFF) == COEFF.default
