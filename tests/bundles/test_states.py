"""Bundle states: which members exist, and what images hold."""

from __future__ import annotations

import os

import pytest

import lapilli as lp
from lapilli.spirv.tools import spirv_tools

from . import importing_alone, kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE, SOURCE = (
    lp.BundleState.INPUT,
    lp.BundleState.OBJECT,
    lp.BundleState.EXECUTABLE,
    lp.BundleState.SOURCE,
)
STATES = (INPUT, OBJECT, EXECUTABLE)


TEXT = """
import lapilli as lp

@lp.kernel
def from_text(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0
"""


def bundle_in(context: lp.Context, state: lp.BundleState) -> lp.KernelBundle:
    if state is SOURCE:
        return lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, TEXT)
    return lp.get_kernel_bundle(context, state=state, kernel=kernels.scaled)


@pytest.mark.behaviour("ST-01", "ST-11")
def test_states_are_distinct_and_source_has_two_names():
    assert len({*STATES, SOURCE}) == 4
    assert lp.BundleState.EXT_ONEAPI_SOURCE is SOURCE


MEMBERS = {
    "context": (*STATES, SOURCE),
    "get_context": (*STATES, SOURCE),
    "devices": (*STATES, SOURCE),
    "get_devices": (*STATES, SOURCE),
    "backend": (*STATES, SOURCE),
    "get_backend": (*STATES, SOURCE),
    "state": (*STATES, SOURCE),
    "empty": STATES,
    "__iter__": STATES,
    "__len__": STATES,
    "kernel_ids": STATES,
    "get_kernel_ids": STATES,
    "kernel_names": STATES,
    "get_kernel_names": STATES,
    "has_kernel": STATES,
    "contains_specialization_constants": STATES,
    "has_spec_constant": STATES,
    "native_specialization_constant": STATES,
    "native_spec_constant": STATES,
    "has_specialization_constant": STATES,
    "get_specialization_constant": STATES,
    "specialization_constants": STATES,
    "ext_oneapi_has_kernel": STATES,
    "set_specialization_constant": (INPUT,),
    "get_kernel": (EXECUTABLE,),
    "ext_oneapi_get_kernel": (EXECUTABLE,),
    "save": (OBJECT, EXECUTABLE),
}
ARGUMENTS = {
    "has_kernel": (kernels.scaled,),
    "get_kernel": (kernels.scaled,),
    "has_specialization_constant": (kernels.COEFF,),
    "get_specialization_constant": (kernels.COEFF,),
    "set_specialization_constant": (kernels.COEFF, 1.0),
    "ext_oneapi_has_kernel": ("scaled",),
    "ext_oneapi_get_kernel": ("from_text",),
    "save": (os.devnull,),
}


@pytest.mark.behaviour("ST-12", "KB-12")
@pytest.mark.parametrize("state", [*STATES, SOURCE], ids=lambda state: state.name)
@pytest.mark.parametrize("member", MEMBERS)
def test_members_exist_in_their_states_only(context, member, state):
    bundle = bundle_in(context, state)
    if member == "ext_oneapi_get_kernel" and state is EXECUTABLE:
        bundle = lp.build(bundle_in(context, SOURCE))

    def use() -> object:
        found = getattr(bundle, member)
        return found(*ARGUMENTS.get(member, ())) if callable(found) else found

    if state in MEMBERS[member]:
        use()
        return
    with pytest.raises(TypeError) as caught:
        use()
    assert member in str(caught.value) and state.name in str(caught.value)


@pytest.mark.behaviour("SC-16", "ST-12")
@pytest.mark.parametrize(
    ("state", "remedy"), [(OBJECT, "input bundle"), (EXECUTABLE, "input bundle"), (SOURCE, "lp.SpecValues")]
)
def test_what_to_do_instead_of_setting_a_constant_leads_to_it(context, state, remedy):
    with pytest.raises(TypeError, match=f"in state {state.name}; expected INPUT .*{remedy}"):
        bundle_in(context, state).set_specialization_constant(kernels.COEFF, 2.0)


@pytest.mark.behaviour("KB-12")
def test_a_source_bundle_says_where_it_belongs(context, device):
    bundle = bundle_in(context, SOURCE)
    assert bundle.get_context() is context and bundle.get_devices() == [device]
    assert bundle.get_backend() is lp.Backend.VULKAN and bundle.state is SOURCE


@pytest.mark.behaviour("ST-06", "ST-07", "ST-11")
@pytest.mark.parametrize("state", [INPUT, OBJECT, SOURCE], ids=lambda state: state.name)
@pytest.mark.parametrize("use", ["use_kernel_bundle", "use_module"])
def test_what_is_not_linked_cannot_be_launched(context, state, use):
    """Neither as a command group's bundle nor by way of a kernel of it; what is built of it can."""
    bundle, queue = bundle_in(context, state), lp.Queue(context=context)
    x = lp.full(4, 3.0, device=queue.device)
    refused = pytest.raises(TypeError, match=f"{state.name}.*EXECUTABLE")
    with lp.trace() as trace, refused as caught, queue.submit() as h:
        getattr(h, use)(bundle)
        h.parallel_for(4, kernels.scaled, x)
    assert caught.value.errc is lp.Errc.INVALID and trace.count("launch") == 0
    for get in ("get_kernel", "ext_oneapi_get_kernel"):
        with pytest.raises(TypeError, match=state.name):
            getattr(bundle, get)("scaled")
    assert x.numpy().tolist() == [3.0] * 4
    built = lp.link(bundle) if state is OBJECT else lp.build(bundle)
    with queue.submit() as h:
        getattr(h, use)(built)
        h.parallel_for(
            4, kernels.scaled if state is not SOURCE else built.ext_oneapi_get_kernel("from_text"), x
        )
    assert x.numpy().tolist() == [1.0 if state is SOURCE else 6.0] * 4


@pytest.mark.behaviour("ST-08")
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("emulated", [False, True])
def test_executable_images_are_valid_for_vulkan(context, debug, emulated):
    props = [lp.properties.Debug()] * debug + [lp.properties.EmulateSpecConstants()] * emulated
    source = lp.get_kernel_bundle(
        context, state=INPUT, kernel_ids=[kernels.scaled, importing_alone.importer_kernel]
    )
    built = lp.build(source, props=props)
    assert len(built) == (3 if emulated else 2)  # one more with fixed defaults
    for image in built:
        assert spirv_tools().validate(image.spirv()) is None
        assert "Linkage" not in image.disassemble()
    for image in lp.compile(source, props=props):
        assert ("Linkage" in image.disassemble()) is image.has_kernel(importing_alone.importer_kernel)


@pytest.mark.behaviour("ST-02", "ST-06", "ST-07")
@pytest.mark.parametrize("state", [*STATES, SOURCE], ids=lambda state: state.name)
def test_transitions_take_their_state_only(context, state):
    bundle = bundle_in(context, state)
    for function, takes, gives in (
        (lp.compile, (INPUT, SOURCE), OBJECT),
        (lp.build, (INPUT, SOURCE), EXECUTABLE),
        (lp.link, (OBJECT,), EXECUTABLE),
    ):
        if state in takes:
            assert function(bundle).state is gives
        else:
            with pytest.raises(TypeError, match=takes[0].name):
                function(bundle)
    assert bundle.state is state


@pytest.mark.behaviour("ST-06", "ST-07", "ST-08", "ST-09")
def test_images_hold_what_their_state_says(context):
    (source,) = bundle_in(context, INPUT)
    assert (source.state, source.format) == (INPUT, "ir")
    assert "func.func @scaled" in source.disassemble()
    with pytest.raises(TypeError, match="INPUT"):
        source.spirv()
    (compiled,) = bundle_in(context, OBJECT)
    assert (compiled.state, compiled.format) == (OBJECT, "spirv")
    (linked,) = bundle_in(context, EXECUTABLE)
    assert (linked.state, linked.format) == (EXECUTABLE, "spirv")
    assert linked.spirv()[:4] == b"\x03\x02\x23\x07"
    text = linked.disassemble()
    assert "OpEntryPoint GLCompute" in text and '"scaled"' in text
    assert "OpCapability Linkage" not in text
    for image in (source, compiled, linked):
        assert "scaled" in image.kernels
        assert lp.get_kernel_id(kernels.scaled) in image.kernel_ids
        assert image.target == "spirv"
        assert (image.frozen, image.spec_constant_block) == (False, None)
        assert {c.name for c in image.spec_constants} == {"COEFF", "TABLE"}
        assert image.requirements.aspects == ()


@pytest.mark.behaviour("ST-04")
def test_every_compatible_kernel_is_executable(fresh):
    fresh("""
@lp.kernel
def a(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
@lp.kernel
def d(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0
@lp.kernel
def h(x: lp.Array[lp.f16]): x[lp.global_id(0)] = lp.f16(1.0)
able = {i for i in lp.get_kernel_ids() if lp.is_compatible([i], device)}
assert lp.get_kernel_id(a) in able
for state in (INPUT, OBJECT, EXECUTABLE):
    assert set(lp.get_kernel_bundle(context, state=state).get_kernel_ids()) == able
""")


@pytest.mark.behaviour("ST-05", "ST-10")
def test_online_compiler_and_linker_are_aspects(device, context):
    assert device.has(lp.Aspect.ONLINE_COMPILER)
    assert device.has(lp.Aspect.ONLINE_LINKER)
    for state, aspect in ((INPUT, lp.Aspect.ONLINE_COMPILER), (OBJECT, lp.Aspect.ONLINE_LINKER)):
        assert bundle_in(context, state).has_kernel(kernels.scaled)
        without = lp.Context([device.masked(without=[aspect])])
        with pytest.raises(lp.InvalidError, match=aspect.spelling):
            bundle_in(without, state)
