"""Kernels that call functions of other Python modules, compiled apart and linked, on every device."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp

Load = Callable[..., types.ModuleType]
NUMBERS = np.arange(1, 9, dtype=np.float32)


def run(kernel: object, device: lp.Device, spec: dict[object, object] | None = None) -> np.ndarray:
    """Launches `kernel` over `NUMBERS` and returns what it made of them."""
    y = lp.asarray(NUMBERS, device=device)
    launch = kernel[y.size]  # type: ignore[index]
    (launch if spec is None else launch.spec(spec))(y)
    return y.numpy()


LIBRARY = """
def helper(x):
    return x * 2.0

@lp.external
def scaled(x: lp.f32) -> lp.f32:
    return helper(x) + 1.0
"""

USER = """
import ext_library

def helper(x):
    return x - 10.0

@lp.kernel
def k(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = ext_library.scaled(helper(y[i]))
"""


@pytest.mark.behaviour("EXT-10", "CLB-15")
def test_a_function_of_another_module(device: lp.Device, load: Load) -> None:
    load("ext_library", LIBRARY)
    user = load("ext_user", USER)
    with lp.trace() as trace:
        found = run(user.k, device)
    np.testing.assert_array_equal(found, (NUMBERS - 10) * 2 + 1)  # exact in f32
    assert (trace.count("link"), trace.count("module")) == (1, 1)
    with lp.trace() as trace:
        run(user.k, device)
    assert (trace.count("compile"), trace.count("link")) == (0, 0)


@pytest.mark.behaviour("EXT-10")
def test_a_chain_of_three_modules(device: lp.Device, load: Load) -> None:
    load("ext_library", LIBRARY)
    load(
        "ext_middle",
        "import ext_library\n\n@lp.external('middle.f')\ndef f(x: lp.f32) -> lp.f32:\n"
        "    return ext_library.scaled(x) if x > 3.0 else -x\n",
    )
    user = load(
        "ext_user",
        "import ext_library\n@lp.extern('middle.f')\ndef f(x: lp.f32) -> lp.f32: ...\n\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        "    y[i] = f(y[i]) + ext_library.scaled(0.5)\n",
    )
    expected = np.where(NUMBERS > 3, NUMBERS * 2 + 1, -NUMBERS) + 2
    np.testing.assert_array_equal(run(user.k, device), expected)


TYPES = """
@lp.struct
class Particle:
    position: lp.f32x3
    charge: lp.i32
    weights: lp.FixedArray[lp.f32, 2]

@lp.external
def moved(p: Particle, by: lp.f32x3, flag: lp.bool_) -> Particle:
    p.position = p.position + by
    if flag:
        p.charge = p.charge * 3
    return p

@lp.external
def total(weights: lp.FixedArray[lp.f32, 2], v: lp.f32x2) -> lp.f32:
    return weights[0] * v.x + weights[1] * v.y

@lp.external
def is_large(x: lp.f32, limit: lp.u32) -> lp.bool_:
    return x > limit
"""

TYPES_USER = """
import ext_types

@lp.kernel
def k(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    p = ext_types.Particle(lp.f32x3(y[i], 1.0, 2.0), 7, lp.FixedArray[lp.f32, 2](0.5, 4.0))
    p = ext_types.moved(p, lp.f32x3(10.0), ext_types.is_large(y[i], 4))
    y[i] = p.position.x + p.position.z + p.charge + ext_types.total(p.weights, lp.f32x2(2.0, 1.0))
"""


@pytest.mark.behaviour("EXT-10")
def test_structs_vectors_and_arrays_by_value(device: lp.Device, load: Load) -> None:
    load("ext_types", TYPES)
    user = load("ext_types_user", TYPES_USER)
    expected = NUMBERS + 10 + 12 + np.where(NUMBERS > 4, 21, 7) + 5
    np.testing.assert_array_equal(run(user.k, device), expected)


CONSTANTS = """
FACTOR = lp.SpecializationId(lp.f32, 2.0)
OFFSET = lp.SpecializationId(lp.f32, 0.5)

@lp.external
def adjusted(x: lp.f32) -> lp.f32:
    return x * FACTOR + OFFSET
"""

CONSTANTS_USER = """
import ext_constants
OWN = lp.SpecializationId(lp.i32, 1)

@lp.kernel
def k(y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = ext_constants.adjusted(y[i]) + OWN * ext_constants.FACTOR
"""


@pytest.mark.behaviour("SC-33", "SC-21")
def test_a_constant_read_in_another_module_has_the_value_set_by_the_caller(
    device: lp.Device, load: Load
) -> None:
    constants = load("ext_constants", CONSTANTS)
    user = load("ext_constants_user", CONSTANTS_USER)
    np.testing.assert_array_equal(run(user.k, device), NUMBERS * 2 + 0.5 + 2)
    with lp.trace() as trace:
        found = run(user.k, device, {constants.FACTOR: 3.0, user.OWN: 4})
    np.testing.assert_array_equal(found, NUMBERS * 3 + 0.5 + 12)
    assert trace.count("module") == 0
    # Only the other module reads it.
    np.testing.assert_array_equal(run(user.k, device, {constants.OFFSET: 100.0}), NUMBERS * 2 + 102)


@pytest.mark.behaviour("EXT-09", "RT-07")
@pytest.mark.filterwarnings("ignore::lapilli.AspectWarning")
def test_what_a_linked_function_uses_counts(device: lp.Device, load: Load) -> None:
    load(
        "ext_wide",
        "@lp.external\ndef third(x: lp.f32) -> lp.f32:\n    return lp.f32(lp.f64(x) / lp.f64(3.0))\n",
    )
    user = load(
        "ext_wide_user",
        "import ext_wide\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        "    y[i] = ext_wide.third(y[i])\n",
    )
    if device.has(lp.Aspect.FP64):
        expected = (NUMBERS.astype(np.float64) / 3).astype(np.float32)
        np.testing.assert_array_max_ulp(run(user.k, device), expected, maxulp=1)  # division: 2.5 ulp of f64
    with pytest.raises(lp.KernelNotSupportedError, match="fp64"):
        run(user.k, device.masked(without=[lp.Aspect.FP64]))


@pytest.mark.behaviour("EXT-10", "CLB-14")
def test_unresolved_symbols_end_the_launch(device: lp.Device, load: Load) -> None:
    user = load(
        "ext_alone",
        "@lp.extern('nowhere')\ndef f(x: lp.f32) -> lp.f32: ...\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n"
        "    i = lp.global_id(0)\n    if y[i] < 0.0:\n        y[i] = f(y[i])\n",
    )
    with pytest.raises(lp.LinkError, match="unresolved symbol 'nowhere', called by kernel 'k'"):
        run(user.k, device)
    load("ext_nowhere", "@lp.external('nowhere')\ndef g(x: lp.f32) -> lp.f32:\n    return -x\n")
    np.testing.assert_array_equal(run(user.k, device), NUMBERS)


@pytest.mark.behaviour("CLB-14")
def test_every_unresolved_symbol_is_named_at_once(device: lp.Device, load: Load) -> None:
    user = load(
        "ext_none_of_two",
        "@lp.extern('one')\ndef f(x: lp.f32) -> lp.f32: ...\n@lp.extern('two')\ndef g(x: lp.f32) -> lp.f32: ...\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    y[lp.global_id(0)] = f(1.0) + g(2.0)\n",
    )
    with pytest.raises(lp.LinkError, match=r"^unresolved symbols 'one', 'two', called by kernel 'k'"):
        run(user.k, device)
    context = lp.Context([device])
    objects = lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, kernel=user.k)
    with pytest.raises(lp.LinkError, match=r"^unresolved symbols 'one', 'two', called by kernel 'k'"):
        lp.link(objects)


def test_a_changed_name_of_the_other_module_is_seen(device: lp.Device, load: Load) -> None:
    library = load("ext_changing", "K = 2.0\n@lp.external\ndef f(x: lp.f32) -> lp.f32:\n    return x * K\n")
    user = load(
        "ext_changing_user",
        "import ext_changing\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n"
        "    y[i] = ext_changing.f(y[i])\n",
    )
    np.testing.assert_array_equal(run(user.k, device), NUMBERS * 2)
    library.K = 5.0
    np.testing.assert_array_equal(run(user.k, device), NUMBERS * 5)


def test_a_kernel_with_a_barrier_calls_another_module(device: lp.Device, load: Load) -> None:
    load("ext_library", LIBRARY)
    user = load(
        "ext_group",
        "import ext_library\n@lp.kernel(local_size=4)\ndef k(y: lp.Array[lp.f32]):\n"
        "    shared = lp.local.array(4, lp.f32)\n    i = lp.local_id(0)\n    shared[i] = y[lp.global_id(0)]\n"
        "    lp.barrier()\n    y[lp.global_id(0)] = ext_library.scaled(shared[3 - i])\n",
    )
    expected = NUMBERS.reshape(2, 4)[:, ::-1].reshape(-1) * 2 + 1
    np.testing.assert_array_equal(run(user.k, device), expected)


def test_nan_survives_a_linked_function(device: lp.Device, load: Load) -> None:
    load("ext_nan", "@lp.external\ndef times(x: lp.f32, y: lp.f32) -> lp.f32:\n    return x * y\n")
    user = load(
        "ext_nan_user",
        "import ext_nan\n@lp.kernel\ndef k(y: lp.Array[lp.f32], z: lp.f32):\n    i = lp.global_id(0)\n"
        "    y[i] = ext_nan.times(y[i], z)\n",
    )
    y = lp.asarray(np.array([np.nan, np.inf, -1.0], np.float32), device=device)
    user.k[3](y, 0.0)
    found = y.numpy()
    assert np.isnan(found[:2]).all()
    assert np.signbit(found[2])


LOOPS = """
@lp.external
def short(x: lp.f32) -> lp.f32:
    for _ in range(3):
        x += 1.0
    return x

@lp.external
def long(x: lp.f32, rounds: lp.i32) -> lp.f32:
    for k in range(rounds):
        x = 0.5 * x + lp.f32(k & 1)
    return x
"""
LOOPS_USER = """
import ext_loops

@lp.kernel
def once(y: lp.Array[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    y[i] = ext_loops.long(y[i], n)

@lp.kernel
def again(y: lp.Array[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    for _ in range(n // 100):
        y[i] = ext_loops.long(y[i], 100)

@lp.kernel
def in_arms(y: lp.Array[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    if i % 2 == 0:
        y[i] = ext_loops.long(y[i], n)
    else:
        y[i] = ext_loops.long(y[i], n)

@lp.kernel
def beside(y: lp.Array[lp.f32], n: lp.i32):
    i = lp.global_id(0)
    for k in range(n):
        y[i] = 0.5 * y[i] + lp.f32(k & 1)
    y[i] = ext_loops.short(y[i]) - 3.0
"""


def _halved(rounds: int) -> np.ndarray:
    found = NUMBERS.copy()
    for k in range(rounds):
        found = np.float32(0.5) * found + np.float32(k & 1)
    return found


def test_short_loops_of_exported_functions(device: lp.Device, load: Load) -> None:
    load("ext_loops", LOOPS)
    user = load("ext_short_user", "import ext_loops\n" + _caller("ext_loops.short"))
    assert np.array_equal(run(user.k, device), NUMBERS + 3)


@pytest.mark.native_only("drivers end loops early")
@pytest.mark.parametrize("name", ["once", "again", "in_arms", "beside"])
def test_long_loops_of_exported_functions_are_right_or_trap(device: lp.Device, load: Load, name: str) -> None:
    """Up to a million rounds: where a driver ends loops, those of the function and of the kernel are one count."""
    library, user = load("ext_loops", LOOPS), load("ext_loops_user", LOOPS_USER)
    cap = device.target_env.loop_iteration_cap
    for rounds in (100, 10_000, 200_000, 1_000_000):
        y = lp.asarray(NUMBERS, device=device)
        getattr(user, name)[y.size](y, rounds)
        if cap is None or rounds < cap:
            np.testing.assert_allclose(y.numpy(), _halved(min(rounds, 100)), rtol=1e-6)
            continue
        with pytest.raises(lp.KernelTrap, match="65,535 rounds") as caught:
            y.numpy()
        assert caught.value.kernel == name
        assert caught.value.location is not None
        source = user if name == "beside" else library
        assert caught.value.location.file == source.__file__
        lines = Path(source.__file__ or "").read_text().splitlines()
        assert "for " in lines[caught.value.location.line - 1]


NEST = """
def counted(n: lp.i32) -> lp.i32:
    c = 0
    while c < n:
        c += 1
    return c

@lp.external
def nest(i: lp.i32, n: lp.i32, m: lp.i32) -> lp.i32:
    t = counted(n >> 3)
    k2 = 0
    while k2 < n:
        k2 += 1
        t += 1
        for k3 in range(i, 3 * n, 7):
            k4 = 0
            while True:
                k4 += 1
                if k4 > n + i % 3:
                    break
                t += 1
            k5 = 0
            while k5 < m:
                k5 += 1
                t += 1
    return t
"""


@pytest.mark.native_only("drivers end loops early")
@pytest.mark.parametrize(("n", "m"), [(7, 60), (7, 9000), (60, 900), (60, 9000)])
def test_nests_that_a_driver_ends_in_the_middle_of_a_round_trap(
    device: lp.Device, load: Load, n: int, m: int
) -> None:
    """What inner loops did since the last header of an outer one is not lost."""
    load("ext_nest", NEST)
    user = load(
        "ext_nest_user",
        "import ext_nest\n@lp.kernel\ndef k(y: lp.Out[lp.i32], n: lp.i32, m: lp.i32):\n"
        "    i = lp.global_id(0)\n    y[i] = ext_nest.nest(i, n, m)\n",
    )
    y = lp.zeros(9, lp.i32, device=device)
    user.k[9](y, n, m)
    expected = [(n >> 3) + n * (1 + len(range(i, 3 * n, 7)) * (n + i % 3 + m)) for i in range(9)]
    if device.target_env.loop_iteration_cap is None or max(expected) < 10_000:
        assert y.numpy().tolist() == expected
        return
    with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
        y.numpy()


@pytest.mark.native_only("drivers end loops early")
def test_a_million_rounds_at_level_2(device: lp.Device, load: Load) -> None:
    """Unrolled in the function's own module, with which its kernel is linked."""
    load(
        "ext_unrolled",
        "lp.compile_options(opt_level=2)\n@lp.external\ndef mixed(n: lp.i32, step: lp.i32) -> lp.i32:\n"
        "    total = 0\n    for k in range(n):\n        total = (total ^ k) + step\n    return total\n",
    )
    user = load(
        "ext_unrolled_user",
        "import ext_unrolled\n@lp.kernel\ndef k(y: lp.Out[lp.i32], n: lp.i32):\n"
        "    y[lp.global_id(0)] = ext_unrolled.mixed(n, 3)\n",
    )
    y = lp.zeros(2, lp.i32, device=device)
    user.k[2](y, 1_000_000)
    total = 0
    for k in range(1_000_000):
        total = ((total ^ k) + 3 + 2**31) % 2**32 - 2**31
    assert y.numpy().tolist() == [total] * 2


@pytest.mark.native_only("drivers end loops early")
def test_rounds_are_counted_in_linked_bundles(device: lp.Device, load: Load) -> None:
    load("ext_loops", LOOPS)
    user = load("ext_loops_user", LOOPS_USER)
    context = lp.Context([device])
    queue = lp.Queue(device, context=context)
    bundle = lp.get_kernel_bundle(
        context, state=lp.BundleState.EXECUTABLE, kernel_ids=[user.once, user.again]
    )
    for kernel in (user.once, user.again):
        y = lp.asarray(NUMBERS, device=device)
        queue.parallel_for(y.size, bundle.get_kernel(kernel), y, 1000).wait()
        np.testing.assert_allclose(y.numpy(), _halved(100), rtol=1e-6)
        event = queue.parallel_for(y.size, bundle.get_kernel(kernel), y, 300_000)
        if device.target_env.loop_iteration_cap is None:
            event.wait()
        else:
            with pytest.raises(lp.KernelTrap, match="65,535 rounds"):
                event.wait()


@pytest.mark.native_only("drivers end loops early")
def test_the_trap_names_the_work_item_of_a_range_in_pieces(device: lp.Device, load: Load) -> None:
    if device.target_env.loop_iteration_cap is None:
        pytest.skip("the driver has no cap on loops")
    load("ext_loops", LOOPS)
    text = "    y[i] = ext_loops.long(y[i], 100_000 if i == 77 else 1)\n"
    user = load(
        "ext_pieces",
        "import ext_loops\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n" + text,
    )
    limited = device.masked(limits={"maxComputeWorkGroupCount": (3, 1, 1)})
    y = lp.ones(100, device=limited)
    user.k[lp.NdRange(100, 10)](y)
    with pytest.raises(lp.KernelTrap) as caught:
        y.numpy()
    assert caught.value.work_item[0] // 8 == 77 // 8 or caught.value.work_item[0] // 10 == 7


CHECKED = """
@lp.external
def divided(k: lp.i32, by: lp.i32) -> lp.i32:
    return k // by

@lp.external
def component(k: lp.i32, by: lp.i32) -> lp.i32:
    v = lp.i32x4(1, 2, 3, 4)
    return v[k + by]

@lp.external
def positive(k: lp.i32, by: lp.i32) -> lp.i32:
    assert by > 0, f"{k} by {by}"
    return k + by
"""


@pytest.mark.parametrize(
    ("function", "by", "is_debug", "text"),
    [
        ("divided", 0, True, "integer division of 1 by zero"),
        ("component", 4, True, r"index 5 is out of range of a vector, whose extent is 4"),
        ("positive", 0, True, r"assert by > 0: 1 by 0"),
        ("positive", 0, False, r"assert by > 0: 1 by 0"),
        ("divided", 1, True, None),
        ("positive", 1, False, None),
    ],
)
def test_functions_of_other_modules_are_checked(
    device: lp.Device, load: Load, function: str, by: int, is_debug: bool, text: str | None
) -> None:
    """With the line of the function; in a launch and in a bundle."""
    library = load("ext_checked", CHECKED)
    user = load(
        "ext_checked_user",
        "import ext_checked\n@lp.kernel\ndef k(y: lp.Array[lp.i32], by: lp.i32):\n"
        f"    y[0] = ext_checked.{function}(y[0], by)\n",
    )
    y = lp.ones(1, lp.i32, device=device)
    context = lp.Context([device])
    queue = lp.Queue(device, context=context)
    with lp.config.override(debug=is_debug):
        bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=user.k)
        launches = (lambda: user.k[1](y, by), lambda: queue.parallel_for(1, bundle.get_kernel(user.k), y, by))
        for launch in launches:
            if text is None:
                launch().wait()
                continue
            y.copy_from(np.ones(1, np.int32))
            with pytest.raises(lp.KernelTrap, match=text) as caught:
                launch().wait()
            assert caught.value.location is not None
            assert caught.value.location.file == library.__file__


@pytest.mark.native_only("what is interpreted is checked wherever it comes from")
def test_what_is_called_by_its_symbol_leaves_asserts_out(device: lp.Device, load: Load) -> None:
    load("ext_checked", CHECKED)
    user = load(
        "ext_symbol_user",
        '@lp.extern("positive")\ndef positive(k: lp.i32, by: lp.i32) -> lp.i32: ...\n'
        "@lp.kernel\ndef k(y: lp.Array[lp.i32], by: lp.i32):\n    y[0] = positive(y[0], by)\n",
    )
    y = lp.ones(1, lp.i32, device=device)
    user.k[1](y, -3)
    assert y.numpy().tolist() == [-2]


def _caller(function: str) -> str:
    return f"@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    i = lp.global_id(0)\n    y[i] = {function}(y[i])\n"


HIDDEN_LIBRARY = """
@lp.external
def of_low_bits(x: lp.i64, y: lp.i16) -> lp.i32:
    return lp.i32(lp.i64(-y)) * 2 + lp.i32((x % -3 & 1) == 1)
"""

HIDDEN_USER = """
import hidden_library

@lp.kernel
def k(x: lp.In[lp.i64], y: lp.In[lp.i16], found: lp.Out[lp.i32]):
    i = lp.global_id(0)
    found[i] = hidden_library.of_low_bits(x[i], y[i])
"""


@pytest.mark.parametrize("as_elsewhere", [False, True], ids=["", "as elsewhere"])
def test_numbers_hidden_in_functions_that_read_no_inputs(
    device: lp.Device, load: Load, monkeypatch: pytest.MonkeyPatch, as_elsewhere: bool
) -> None:
    if not device.has(lp.Aspect.VK_INT64) or not device.has(lp.Aspect.VK_STORAGE_16BIT):
        pytest.skip("the device lacks i64 or i16")
    if as_elsewhere:
        changed = replace(device.target_env, misjudges_low_bits=True, widens_negations=True)
        monkeypatch.setitem(vars(device), "target_env", changed)
    load("hidden_library", HIDDEN_LIBRARY)
    user = load("hidden_user", HIDDEN_USER)
    x = np.array([2, -3, 4294967295, 19, -5, -13, 7, 64], np.int64)
    y = np.array([-32768, 32767, 0, 5, -1, -32767, 3, -32768], np.int16)
    found = lp.zeros(len(x), lp.i32, device=device)
    user.k[len(x)](lp.asarray(x, device=device), lp.asarray(y, device=device), found)
    with np.errstate(all="ignore"):
        negated = (-y).astype(np.int32)
    np.testing.assert_array_equal(found.numpy(), negated * 2 + (x % -3 & 1))
