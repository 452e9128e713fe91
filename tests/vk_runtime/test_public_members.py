"""What ``dir``, ``help`` and completion show of the classes that users meet: their public members and no others."""

from __future__ import annotations

import pydoc

import pytest

import lapilli as lp

MEMBERS = {
    lp.Graph: "bind release replay update",
    lp.Array: """
        allocation_nbytes copy_from copy_to device dtype export_fd fill host_shape is_host_visible is_released is_view
        itemsize nbytes ndim numpy ravel release reshape shape size""",
    lp.Queue: """
        backend context copy device fill flush get_backend get_context get_device get_info info is_busy marker
        parallel_for single_task submit throw_asynchronous wait wait_and_throw""",
    lp.Event: """
        add_done_callback backend done elapsed_ns get_backend get_info get_profiling_info info profiling_info queue
        wait""",
    lp.Context: """
        async_handler backend devices get_backend get_devices get_info get_modules get_platform get_property
        has_property info platform""",
    lp.Handler: """
        copy depends_on fill get_spec_constant get_specialization_constant parallel_for set_arg set_args
        set_spec_constant set_specialization_constant single_task use_kernel_bundle use_module""",
    lp.DeviceImage: """
        disassemble format frozen get_kernel_ids has_kernel is_compatible kernel_ids kernels properties requirements
        spec_constant_block spec_constants spirv state target""",
    lp.Kernel: """
        backend context get_backend get_context get_info get_kernel_bundle info kernel_bundle kernel_id name
        parameter_names""",
    lp.SpecializationId: "default name type",
    lp.Profile: "calibrated duration_ns events notes save table to_pandas",
}


def _listed(owner: object) -> list[str]:
    return sorted(name for name in dir(owner) if not name.startswith("_"))


@pytest.mark.parametrize("owner", MEMBERS, ids=lambda owner: owner.__name__)
def test_classes_list_their_public_members(owner):
    assert _listed(owner) == MEMBERS[owner].split()
    assert "__call__" not in dir(owner) and "__init__" in dir(owner)


@pytest.mark.parametrize("owner", (lp.Graph, lp.Array, lp.Device, lp.Queue, lp.KernelBundle))
def test_help_tells_of_public_members_alone(owner):
    text = pydoc.plain(pydoc.render_doc(owner))
    for name in ("add_launch", "replace_buffer", "shut_down", "submit_batch", "memcpy", "takes_values"):
        assert f"{name}(" not in text and f"{name} =" not in text
    assert owner.__doc__.splitlines()[0] in text


def test_objects_list_what_they_have_beside_their_classes(device):
    queue, array = lp.Queue(device, in_order=True), lp.zeros(2, device=device)
    assert set(_listed(queue)) == {*MEMBERS[lp.Queue].split(), "is_in_order", "is_profiling"}
    assert _listed(array) == MEMBERS[lp.Array].split()
    assert {"selector", "info", "name", "masked"} <= set(_listed(device))
    assert not {"logical", "mask", "shut_down"} & set(_listed(device))
    assert array.buffer is not None and device.logical  # they are there for lapilli itself


def test_a_slip_is_told_what_was_meant_and_never_an_internal_name(device):
    with pytest.raises(AttributeError, match="no attribute 'replays'"):
        _ = lp.Graph().replays
    with pytest.raises(AttributeError, match=r"queue\.copy"):
        _ = lp.Queue(device).memcpy
