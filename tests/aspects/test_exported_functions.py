"""EXT and RT-07 where they happen: Python modules compiled apart, linked by launches, bundles and `lapilli build`."""

from __future__ import annotations

import re
import warnings
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import lapilli as lp
from lapilli.frontend.captures import Captures
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.linking import link_externals
from lapilli.ir.device_config import device_config
from lapilli.spirv.lpk import LpkFile
from lapilli.tools.build import command

NUMBERS = np.arange(1, 5, dtype=np.float32)

LIBRARY = """
{options}
@lp.external
{decorator}
def inner(x: lp.f32) -> lp.f32:
    return {body}

@lp.external
def outer(x: lp.f32) -> lp.f32:
    return inner(x) + 1.0
"""
USER = """
{options}
import {library}

@lp.kernel
def k(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = {library}.{function}(y[i])
"""
WIDE = "lp.f32(lp.f64(x) * 3.0)"


@pytest.fixture
def program(make_module):
    """Makes a library and a kernel that calls one of its functions; returns the kernel's module."""

    def make(body="x * 3.0", *, decorator="", function="inner", library_options="", options=""):
        library = make_module(LIBRARY.format(body=body, decorator=decorator, options=library_options))
        return make_module(USER.format(library=library.__name__, function=function, options=options))

    return make


def run(kernel, device):
    y = lp.asarray(NUMBERS, device=device)
    kernel[y.size](y)
    return y.numpy()


def linked(module):
    """The image of a module's kernel with what it imports, for no device in particular."""
    (image,) = compile_kernels([module.k])
    (library,) = (v for v in vars(module).values() if isinstance(v, ModuleType) and v is not lp)
    return link_externals(image, Captures(imports={"inner": library.inner}))


def messages(caught) -> list[str]:
    assert all(w.category is lp.AspectWarning for w in caught)
    return [str(w.message) for w in caught]


UNEXPECTED = (
    "warning: function 'inner' uses aspect 'fp64' not expected by its calling kernel.\n"
    "Missing [[sycl::device_has()]] on SYCL_EXTERNAL function?"
)


@pytest.mark.device
@pytest.mark.behaviour("EXT-01", "EXT-02", "EXT-09", "EXT-10", "RT-07")
@pytest.mark.parametrize(("function", "add"), [("inner", 0), ("outer", 1)])
def test_what_a_linked_function_uses_is_warned_of_and_required(device, program, function, add):
    module = program(WIDE, function=function)
    lesser = device.masked(without=[lp.Aspect.FP64])
    with pytest.warns(lp.AspectWarning) as caught, pytest.raises(lp.KernelNotSupportedError) as refused:
        run(module.k, lesser)
    assert str(refused.value).startswith("Kernel uses optional feature corresponding to 'aspect::fp64'")
    assert messages(caught) == [UNEXPECTED.replace("inner", function)]
    if device.has(lp.Aspect.FP64):  # said once in a process
        np.testing.assert_array_equal(run(module.k, device), NUMBERS * 3 + add)


@pytest.mark.behaviour("EXT-08", "EXT-01")
def test_what_a_declaration_says_is_expected(program):
    module = program(WIDE, decorator="@lp.device_has(lp.Aspect.FP64)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = linked(module)
    assert image.requirements.aspects == (lp.Aspect.FP64,)


@pytest.mark.device
@pytest.mark.behaviour("EXT-01", "EXT-02", "EXT-03", "EXT-04", "RT-07")
def test_launches_with_several_modules_warn_and_require(device, program):
    wide = program(WIDE)
    sized = program(decorator="@lp.reqd_sub_group_size(1024)")
    context = lp.Context([device.masked(without=[lp.Aspect.FP64], limits={"sub_group_sizes": (8,)})])
    for module, text, said in (
        (wide, UNEXPECTED, "aspect::fp64"),
        (
            sized,
            "warning: function 'inner' has required sub-group size '1024' that does not match its calling kernel.  "
            "Missing [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?",
            "required sub-group size of '1024'",
        ),
    ):
        with pytest.warns(lp.AspectWarning) as caught, pytest.raises(lp.KernelNotSupportedError, match=said):
            run(module.k, context.devices[0])
        assert messages(caught) == [text]


@pytest.mark.device
@pytest.mark.behaviour("EXT-06", "EXT-07", "FT-06")
@pytest.mark.parametrize(
    ("library", "kernel", "warns"),
    [
        (["swiftshader", "nvidia_h200"], ["lavapipe", "swiftshader"], True),
        (["nvidia_h200"], ["lavapipe"], True),  # none in common: runs nowhere
        (["lavapipe"], ["lavapipe", "swiftshader"], False),
        ([], ["lavapipe"], False),
        (["lavapipe"], ["lavapipe"], False),
    ],
)
def test_fixed_targets_of_a_linked_function(program, library, kernel, warns):
    module = program(
        library_options=f"lp.compile_options(fixed_targets={library})",
        options=f"lp.compile_options(fixed_targets={kernel})",
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        image = linked(module)
    text = "warning: function 'inner' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel."
    assert messages(caught) == ([text] if warns else [])
    common = [name for name in kernel if not library or name in library]
    numbers = device_config().numbers
    assert image.requirements.fixed_targets == tuple(sorted(numbers[name] for name in common))
    if not common:
        with pytest.raises(lp.KernelNotSupportedError, match="-fsycl-fixed-targets="):
            run(module.k, lp.devices()[0])


@pytest.mark.behaviour("EXT-01", "EXT-02")
def test_a_build_says_it_too(tmp_path, monkeypatch):
    package = tmp_path / "ext_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    options = {"decorator": "", "options": ""}
    (package / "library.py").write_text("import lapilli as lp\n" + LIBRARY.format(body=WIDE, **options))
    (package / "user.py").write_text(
        "import lapilli as lp\nfrom . import library\n\n\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n"
        "    y[lp.global_id(0)] = library.inner(y[0])\n"
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["ext_package", "-o", "out.lpk"])
    assert done.exit_code == 0, done.output
    assert UNEXPECTED in done.output
    (image,) = LpkFile.open(tmp_path / "out.lpk").header.images
    assert {p.name: p.data for p in image.properties} == {"aspect": bytes.fromhex("06000000")}


@pytest.mark.device
def test_vendor_aspects_of_a_linked_function_are_required_and_not_warned_of(device, program):
    module = program("lp.f32(lp.i64(x) * lp.i64(3))")
    with pytest.raises(lp.KernelNotSupportedError, match="aspect::vk_int64"):
        run(module.k, device.masked(without=[lp.Aspect.VK_INT64]))


@pytest.mark.device
@pytest.mark.behaviour("RT-13", "EXT-09", "RT-07")
@pytest.mark.filterwarnings("ignore::lapilli.AspectWarning")
def test_a_linked_function_does_not_keep_other_kernels_of_a_bundle_from_running(device, make_module):
    # Symbols of their own: bundles find functions by name, and modules of other tests may be alive.
    name = "alone_" + re.sub(r"\W", "_", device.selector)
    text = (
        LIBRARY.format(body=WIDE, decorator="", options="")
        .replace("inner", name)
        .replace("outer", f"o_{name}")
    )
    library = make_module(text)
    module = make_module(
        USER.format(library=library.__name__, function=name, options="")
        + "\n@lp.kernel\ndef plain(y: lp.Array[lp.f32]):\n    y[lp.global_id(0)] = 5.0\n"
    )
    lesser = device.masked(without=[lp.Aspect.FP64])
    context = lp.Context([lesser])
    ids = [lp.get_kernel_id(module.k), lp.get_kernel_id(module.plain)]
    bundle = lp.build(lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel_ids=ids))
    queue, y = lp.Queue(lesser, context=context), lp.ones(4, device=lesser)

    def group(kernel):
        def fill(h):
            h.use_kernel_bundle(bundle)
            h.parallel_for(4, kernel, y)

        return fill

    queue.submit(group(module.plain))
    assert y.numpy().tolist() == [5.0] * 4
    with pytest.raises(lp.KernelNotSupportedError, match="aspect::fp64"):
        queue.submit(group(module.k))


def test_only_what_is_found_later_divides_a_unit_further():
    from lapilli.ir.call_graph import entry_points, function_name
    from lapilli.ir.parse import parse_module
    from lapilli.passes.split_modules import split

    def entries(**options):
        kernels = "".join(
            f"func.func @{name}() attributes {{gpu.kernel{fixed}}} {{ {call} func.return }}\n"
            for name, call, fixed in [
                ("a", "func.call @one() : () -> ()", ""),
                ("b", "func.call @helper() : () -> ()", ""),
                ("c", "func.call @two() : () -> ()", ""),
                ("d", "", ""),
                ("e", "func.call @one() : () -> ()", ', aspect.fixed_targets = ["lavapipe"]'),
                ("f", "func.call @two() : () -> ()", ', aspect.fixed_targets = ["lavapipe"]'),
                ("g", "func.call @sized() : () -> ()", ""),
                ("h", "func.call @sized() : () -> ()", ", aspect.reqd_sub_group_size = 8 : i32"),
                ("i", "", ", aspect.reqd_sub_group_size = 8 : i32"),
            ]
        )
        rest = """func.func private @one() attributes {aspect.external}
        func.func private @two() attributes {aspect.external}
        func.func private @sized() attributes {aspect.reqd_sub_group_size = 8 : i32} { func.return }
        func.func private @helper() { func.call @one() : () -> () func.return }"""
        images = split(parse_module(kernels + rest).module, "off", **options)
        return ["".join(function_name(f) for f in entry_points(image)) for image in images]

    assert entries() == ["abcdg", "ef", "hi"]
    assert entries(separates_callees=True) == ["ab", "c", "d", "ef", "g", "hi"]
