"""Bundle files on every device: what is built is loaded and computes, without the compiler."""

from __future__ import annotations

import sys
import zipfile

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.bundle_launch import launch_kernel

from .conftest import run_program

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE

PROGRAM = """
import sys
import numpy as np
import lapilli as lp

file, selector = sys.argv[1:]
device = lp.device(selector)
bundle = lp.load_kernel_bundle(device.default_context, file, [device])
x = lp.asarray(np.float32([1, 2, 3]), device=device)
out = lp.zeros((8, 8), dtype=lp.i32, device=device)
queue = device.default_queue


def run(kernel, extents, *args, **kwargs):
    def group(h):
        h.use_kernel_bundle(bundle)
        h.parallel_for(extents, bundle.get_kernel(kernel), *args, **kwargs)
    queue.submit(group)


run("scaled", 3, x)
run("shifted", 3, (1.0, (0, 4, 0)), x)
run("shifted", 3, x=x, s=(1.0, (0, 4, 0)), weight=0.0)
run("tiled", (8, 8), out)
assert x.numpy().tolist() == [12.0, 14.0, 16.0], x.numpy()
assert (out.numpy() == 804).all(), out.numpy()  # the local size is of TILE's default, by the expression in the file
try:
    run("shifted", 3, "no struct", x)
except lp.KernelArgumentError as error:
    assert "'s'" in str(error), error
else:
    raise AssertionError("a text was taken for a struct")
loaded = sorted(name for name in sys.modules if name.split(".")[0] == "xdsl")
assert not loaded, loaded
print("ok")
"""


def launch(device, bundle, kernel, value=5.0, dtype=lp.f32):
    x = lp.full(3, value, dtype=dtype, device=device)
    launch_kernel(device.default_queue, bundle.get_kernel(kernel), 3, (x,))
    (result,) = {*x.numpy().tolist()}
    return result


@pytest.mark.behaviour("GKB-17", "AOT-13")
@pytest.mark.parametrize("options", [(), ("--targets", "lavapipe,swiftshader")])
def test_kernels_of_a_file_run_without_the_compiler(project, device, options):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, *options)
    assert run_program(PROGRAM, file, device.selector, folder=project.folder) == "ok\n"


CONVERTING = """
import lapilli as lp


@lp.kernel
def convert(x: lp.In[lp.u32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    out[i] = lp.f32(x[i])


@lp.kernel
def multiply(x: lp.In[lp.f32], out: lp.Out[lp.f32]):
    i = lp.global_id(0)
    product = 0.0
    for _ in range(2):
        product = product * x[i]
    out[i] = product
"""


def test_kernels_for_no_device_in_particular_do_without_the_faults_of_drivers(make_project, device, context):
    project = make_project(CONVERTING)
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    bundle = lp.load_kernel_bundle(context, str(file), [device])
    numbers = np.random.default_rng(1).integers(1 << 31, 1 << 32, 500, np.uint32)
    out = lp.empty(len(numbers), lp.f32, device=device)
    x = lp.asarray(numbers, device=device)
    launch_kernel(device.default_queue, bundle.get_kernel("convert"), len(numbers), (x, out))
    np.testing.assert_array_equal(out.numpy(), numbers.astype(np.float32))
    x = lp.asarray(np.float32([np.inf, np.nan, 2]), device=device)
    launch_kernel(device.default_queue, bundle.get_kernel("multiply"), 3, (x, out))
    np.testing.assert_array_equal(out.numpy()[:3], np.float32([np.nan, np.nan, 0]))
    project.forget()


def test_a_saved_bundle_is_the_same_bundle(project, device, context):
    file, again = project.folder / "kernels.lpk", project.folder / "again.lpk"
    project.build("-o", file)
    bundle = lp.load_kernel_bundle(context, file)
    assert bundle.state is EXECUTABLE and bundle.devices == (device,)
    bundle.save(again)
    other = lp.load_kernel_bundle(context, again)
    assert other == bundle and other.kernel_ids == bundle.kernel_ids
    assert launch(device, other, "scaled") == 10.0
    with pytest.raises(TypeError, match="INPUT"):
        lp.load_kernel_bundle(context, file, state=INPUT).save(again)


def test_bytes_and_resources_of_packages_are_loaded(project, device, context):
    file, archive = project.folder / "kernels.lpk", project.folder / "library.zip"
    project.build("-o", file)
    with zipfile.ZipFile(archive, "w") as library:
        library.write(file, "library/kernels.lpk")
    resource = zipfile.Path(archive, "library/kernels.lpk")
    for given in (file, str(file), file.read_bytes(), bytearray(file.read_bytes()), resource):
        assert launch(device, lp.load_kernel_bundle(context, given), "scaled") == 10.0
    with pytest.raises(lp.InvalidError, match="given as bytes: it is no bundle file"):
        lp.load_kernel_bundle(context, b"PNG")
    with pytest.raises(lp.InvalidError, match=r"library\.zip/none cannot be read"):
        lp.load_kernel_bundle(context, zipfile.Path(archive, "none"))
    with pytest.raises(lp.InvalidError, match=r"give what importlib\.resources\.files"):
        lp.load_kernel_bundle(context, str(resource))
    archive.write_bytes(archive.read_bytes().replace(b"PLK", b"XXX").replace(b"lapilli", b"lapillo"))
    with pytest.raises(lp.InvalidError, match="cannot be read: Bad CRC-32"):
        lp.load_kernel_bundle(context, zipfile.Path(archive, "library/kernels.lpk"))
    with pytest.raises(TypeError, match="found None of type NoneType"):
        lp.load_kernel_bundle(context, None)


def test_files_are_reproducible(project):
    one, two = project.folder / "one.lpk", project.folder / "two.lpk"
    project.build("-o", one)
    project.build("-o", two)
    assert one.read_bytes() == two.read_bytes()
    assert str(project.folder).encode() not in one.read_bytes()


def test_the_applications_own_kernels_are_recognised(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    module = sys.modules[project.name]
    bundle = lp.load_kernel_bundle(context, file)
    assert bundle.has_kernel(module.scaled) and lp.get_kernel_id(module.scaled) in bundle.kernel_ids
    assert bundle.get_specialization_constant(module.FACTOR) == 2.0
    x = lp.full(3, 1.0, device=device)
    launch_kernel(
        device.default_queue, bundle.get_kernel(module.shifted), 3, (module.Shift(1.0, (0, 1, 0)), x)
    )
    assert x.numpy().tolist() == [4.0, 4.0, 4.0]


def test_values_are_set_in_the_input_state(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", "lavapipe,swiftshader")
    bundle = lp.load_kernel_bundle(context, file, state=INPUT)
    assert {image.format for image in bundle} == {"spirv"}
    (factor,) = [constant for constant in bundle.specialization_constants if constant.name == "FACTOR"]
    bundle.set_specialization_constant(factor, 7.0)
    for built in (lp.build(bundle), lp.link(lp.compile(bundle))):
        assert built.state is EXECUTABLE and built.get_specialization_constant(factor) == 7.0
        assert launch(device, built, "scaled") == 35.0
    assert launch(device, lp.load_kernel_bundle(context, file), "scaled") == 10.0


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.behaviour("SC-12")
def test_native_code_is_for_the_defaults_and_spirv_for_other_values(make_project, device, context, emulated):
    source = "import lapilli as lp\n" + "lp.compile_options(spec_constants='emulated')\n" * emulated
    project = make_project(
        source
        + "F = lp.SpecializationId(lp.f32, 2.0)\n\n\n"
        + "@lp.kernel\ndef scaled(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = x[lp.global_id(0)] * F\n"
    )
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", device.selector)
    bundle = lp.load_kernel_bundle(context, file)
    (kernel,) = bundle.kernel_ids
    chosen = bundle.image_of(kernel, device)
    assert chosen.format == "native" and chosen.frozen
    changeable = lp.load_kernel_bundle(context, file, state=INPUT)
    (factor,) = changeable.specialization_constants
    for value, expected in ((3.0, 15.0), (2.0, 10.0)):
        changeable.set_specialization_constant(factor, value)
        built = lp.build(changeable)
        image = built.image_of(kernel, device)
        assert image.frozen == (emulated and value == 2.0)
        assert launch(device, built, kernel) == expected


@pytest.mark.behaviour("SC-14")
def test_native_code_takes_no_native_values(project, device, context):
    portable, native = project.folder / "portable.lpk", project.folder / "native.lpk"
    project.build("-o", portable)
    project.build("-o", native, "--targets", device.selector)
    assert lp.load_kernel_bundle(context, portable).native_specialization_constant()
    assert not lp.load_kernel_bundle(context, native).native_specialization_constant()


@pytest.mark.behaviour("REQ-09", "AOT-15", "RT-06", "RT-11")
def test_what_a_device_lacks_is_said_before_code_is_looked_at(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    lesser = device.masked(without=[lp.Aspect.FP64])
    data = bytearray(file.read_bytes())
    data[-40] ^= 0xFF  # in the code of the last image, `doubled`
    file.write_bytes(data)
    bundle = lp.load_kernel_bundle(lp.Context([lesser]), file)
    assert not bundle.has_kernel("doubled") and bundle.has_kernel("scaled")
    with pytest.raises(lp.KernelNotSupportedError, match="aspect::fp64") as caught:
        bundle.get_kernel("doubled")
    assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED
    if device.has(lp.Aspect.FP64):
        with pytest.raises(lp.InvalidError, match="damaged"):
            lp.load_kernel_bundle(context, file)


def test_linked_objects_of_files(make_project, device, context):
    symbol = f"aot_tripled_{device.selector}"  # exported functions of a process are told apart by it
    library = make_project(
        f"import lapilli as lp\n\n\n@lp.external('{symbol}')\n"
        "def tripled(v: lp.f32) -> lp.f32:\n    return v * 3.0\n"
    )
    user = make_project(
        f"import lapilli as lp\nfrom {library.name} import tripled\n\n\n"
        "@lp.kernel\ndef uses(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = tripled(x[lp.global_id(0)])\n"
    )
    built, objects = user.folder / "built.lpk", user.folder / "objects.lpk"
    user.build("-o", built)
    assert launch(device, lp.load_kernel_bundle(context, built), "uses") == 15.0
    module = sys.modules[user.name]
    lp.get_kernel_bundle(context, state=OBJECT, kernel_ids=[module.uses]).save(objects)
    loaded = lp.load_kernel_bundle(context, objects, state=OBJECT)
    assert any("Linkage" in image.disassemble() for image in loaded)
    with pytest.raises(lp.LinkError, match=symbol):
        lp.load_kernel_bundle(context, objects)


def test_arguments_of_the_wrong_kind(project, context):
    with pytest.raises(TypeError, match="Context"):
        lp.load_kernel_bundle("no context", "x.lpk")
    with pytest.raises(TypeError, match="path"):
        lp.load_kernel_bundle(context, 5)
    with pytest.raises(TypeError, match="state"):
        lp.load_kernel_bundle(context, "x.lpk", state=lp.BundleState.SOURCE)
    with pytest.raises(TypeError, match=r"takes BundleState[.]INPUT, OBJECT or EXECUTABLE, found array"):
        lp.load_kernel_bundle(context, "x.lpk", state=np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(lp.InvalidError, match="cannot be read"):
        lp.load_kernel_bundle(context, project.folder / "absent.lpk")
    with pytest.raises(lp.InvalidError):
        lp.load_kernel_bundle(context, "x.lpk", [])


@pytest.mark.behaviour("ST-03", "GKB-02")
def test_kernels_without_spirv_are_executable_only(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", device.selector, "--no-spirv")
    project.forget()
    bundle = lp.load_kernel_bundle(context, file)
    assert {image.format for image in bundle} == {"native"}
    assert launch(device, bundle, "scaled") == 10.0
    id_ = next(id_ for id_ in bundle.kernel_ids if id_.name == "scaled")
    for state in (INPUT, OBJECT):
        assert len(lp.load_kernel_bundle(context, file, state=state)) == 0
    for image in bundle:
        with pytest.raises(TypeError, match="native"):
            image.spirv()
    for state in (INPUT, OBJECT):
        assert not lp.has_kernel_bundle(context, state=state, kernel_ids=[id_])
        assert not lp.get_kernel_bundle(context, state=state, kernel_ids=[id_]).has_kernel(id_)
    assert lp.has_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_])
    assert launch(device, lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=[id_]), id_) == 10.0
    assert lp.is_compatible([id_], device)


@pytest.mark.behaviour("ISC-02", "FT-01")
def test_a_kernel_of_a_file_needs_what_it_uses_whatever_was_asserted(project, device):
    """The file's one image has only fixed targets among its requirements; `doubled` needs fp64 all the same."""
    file, target = project.folder / "kernels.lpk", device.targets[0]
    project.build("-o", file, "--fixed-targets", target, "--device-code-split", "off")
    project.forget()
    lesser = device.masked(without=[lp.Aspect.FP64])
    context = lp.Context([lesser])
    bundle = lp.load_kernel_bundle(context, file)
    ids = {id_.name: id_ for id_ in bundle.kernel_ids}
    for name, runs in (("scaled", True), ("doubled", False)):
        assert bundle.has_kernel(name) and bundle.has_kernel(ids[name], lesser) is runs
        assert lp.is_compatible([ids[name]], lesser) is runs
        for state in (INPUT, OBJECT, EXECUTABLE):
            assert lp.has_kernel_bundle(context, state=state, kernel_ids=[ids[name]]) is runs


@pytest.mark.behaviour("ST-03")
def test_kernels_without_spirv_in_another_process(project, device):
    file = project.folder / "kernels.lpk"
    project.build("-o", file, "--targets", device.selector, "--no-spirv")
    program = """
import sys
import lapilli as lp

file, selector = sys.argv[1:]
context = lp.Context([lp.device(selector)])
state = lp.BundleState
bundle = lp.load_kernel_bundle(context, file)
scaled = bundle.get_kernel("scaled").kernel_id
assert not lp.has_kernel_bundle(context, state=state.INPUT, kernel_ids=[scaled])
assert not lp.get_kernel_bundle(context, state=state.INPUT, kernel_ids=[scaled]).has_kernel(scaled)
assert lp.has_kernel_bundle(context, state=state.EXECUTABLE, kernel_ids=[scaled])
assert lp.get_kernel_bundle(context, state=state.EXECUTABLE, kernel_ids=[scaled]).has_kernel(scaled)
assert lp.load_kernel_bundle(context, file).get_kernel("scaled").kernel_id is scaled
print("ok")
"""
    assert run_program(program, file, device.selector, folder=project.folder) == "ok\n"


def test_results_of_a_loaded_kernel_are_those_of_the_compiled_one(project, device, context):
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    module = sys.modules[project.name]
    values = np.random.default_rng(1).random(1000, dtype=np.float32)
    one, two = (lp.asarray(values, device=device) for _ in range(2))
    module.shifted[1000](module.Shift(0.25, (1, 2, 3)), one)
    bundle = lp.load_kernel_bundle(context, file)
    launch_kernel(
        device.default_queue, bundle.get_kernel("shifted"), 1000, (module.Shift(0.25, (1, 2, 3)), two)
    )
    np.testing.assert_array_equal(one.numpy(), two.numpy())  # the same operations


PARAMETERS = """
import lapilli as lp


@lp.kernel
def mixed(
    x: lp.Array[lp.f32], shared: lp.LocalArray[lp.f32], factor: lp.Const[lp.i32] = 3, *, plus: lp.f32x2 = (1.0, 2.0)
):
    i = lp.global_id(0)
    shared[lp.local_id(0)] = x[i] * factor
    lp.barrier()
    x[i] = shared[lp.local_id(0)] + plus.y
"""


def test_shared_memory_and_constants_of_the_code_as_parameters(make_project, device, context):
    project = make_project(PARAMETERS)
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    bundle = lp.load_kernel_bundle(context, file)
    x = lp.full(8, 2.0, device=device)
    mixed = bundle.get_kernel("mixed")
    launch_kernel(device.default_queue, mixed, lp.NdRange(8, 4), (x, lp.local(4)))
    assert x.numpy().tolist() == [8.0] * 8
    launch_kernel(device.default_queue, mixed, lp.NdRange(8, 4), (x, lp.local(4), 3), {"plus": (0.0, 1.0)})
    assert x.numpy().tolist() == [25.0] * 8
    with pytest.raises(lp.KernelArgumentError, match="'factor' = 3, found 4"):
        launch_kernel(device.default_queue, mixed, lp.NdRange(8, 4), (x, lp.local(4), 4))


SHARED_STRUCTS = """
import lapilli as lp


@lp.struct
class Inner:
    place: lp.f32x3
    table: lp.FixedArray[lp.i32, 2]


@lp.struct
class Cell:
    value: lp.f32
    inner: Inner


@lp.kernel(local_size=8)
def reverse(out: lp.Out[lp.f32], cells: lp.LocalArray[Cell]):
    i = lp.local_id(0)
    cells[i] = Cell(i)
    cells[i].inner.place.y = 0.5
    lp.barrier()
    out[i] = cells[7 - i].value + cells[i].inner.place.y
"""


def test_shared_memory_of_structs_as_a_parameter(make_project, device, context):
    project = make_project(SHARED_STRUCTS)
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    reverse = lp.load_kernel_bundle(context, file).get_kernel("reverse")
    out = lp.zeros(8, device=device)
    launch_kernel(device.default_queue, reverse, lp.NdRange(8, 8), (out, lp.local(8)))
    assert out.numpy().tolist() == [7 - i + 0.5 for i in range(8)]


FIXED_ARRAYS = """
import lapilli as lp


@lp.struct
class Particle:
    mass: lp.f32
    place: lp.Aligned[lp.f32x3, 16] = (1, 2, 3)
    last: lp.i32


@lp.struct
class Cell:
    particles: lp.FixedArray[Particle, 2]
    corners: lp.FixedArray[lp.f32x2, 3]


TABLE = lp.SpecializationId(lp.FixedArray[Particle, 2], [Particle(1.0), Particle(2.0, last=3)])


@lp.kernel
def into(cells: lp.Array[Cell], two: lp.FixedArray[Particle, 2], more: lp.FixedArray[lp.i32x2, 2] = ((1, 2), (3, 4))):
    i = lp.global_id(0)
    cells[i].particles[i % 2] = two[1]
    cells[i].corners[i].y = TABLE[i % 2].mass + lp.f32(TABLE[1].last + more[i % 2].y)
"""


def test_fixed_arrays_of_structs_and_vectors(make_project, device):
    project = make_project(FIXED_ARRAYS)
    file = project.folder / "kernels.lpk"
    project.build("-o", file)
    into = lp.load_kernel_bundle(device.default_context, file, [device]).get_kernel("into")
    particle = np.dtype(
        {
            "names": ["mass", "place", "last"],
            "formats": ["<f4", ("<f4", 3), "<i4"],
            "offsets": [0, 16, 28],
            "itemsize": 32,
        }
    )
    cell = np.dtype(
        {
            "names": ["particles", "corners"],
            "formats": [(particle, 2), ("<f4", (3, 2))],
            "offsets": [0, 64],
            "itemsize": 96,
        }
    )
    host = np.zeros(2, cell)
    cells = lp.asarray(host, device=device)
    two = np.array([(1, (2, 3, 4), 5), (6, (7, 8, 9), 10)], particle)
    into[2](cells, two)
    host["particles"][[0, 1], [0, 1]] = two[1]
    host["corners"][[0, 1], [0, 1], 1] = [1 + 3 + 2, 2 + 3 + 4]
    np.testing.assert_array_equal(cells.numpy(), host)
    into[2](cells, two.tolist(), more=[[5, 6], [7, 8]])
    host["corners"][[0, 1], [0, 1], 1] = [1 + 3 + 6, 2 + 3 + 8]
    np.testing.assert_array_equal(cells.numpy(), host)
    with pytest.raises(lp.KernelArgumentError, match=r"lp.FixedArray\[Particle, 2\]: expected 2 elements"):
        into[2](cells, two[:1])
