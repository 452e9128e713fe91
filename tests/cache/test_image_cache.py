"""Compiled kernels on disk: hits need no compiler, and every change around a kernel is noticed."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.captures import Captures
from lapilli.frontend.image_cache import VARIANTS, cached_kernel
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.target_env import TargetEnv
from lapilli.vk_runtime.device import Device
from lapilli.vk_runtime.runtime import runtime

from .conftest import Run

PROGRAM = """
import json, sys
import numpy as np
import lapilli as lp
import settings
{header}
FACTOR = {factor}
T = lp.{type}
COEFF = lp.SpecializationId(lp.f32, {default})

def helper(v):
    return v * settings.SCALE + {inner}

@lp.kernel
def scale(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = T(helper(x[i]) * FACTOR) + COEFF + float(settings.Table.ROW[1])

x = lp.asarray(np.full(4, 2.75, np.float32))
with lp.trace() as trace:
    scale[x.size](x)
result = float(np.asarray(x)[1])
(built,) = [e for k, e in scale.compiled.items() if not isinstance(k, str)]
location = built.kernel.location
print(json.dumps(dict(
    result=result, compiles=trace.count("compile"), hits=trace.count("cache_hit"), xdsl="xdsl" in sys.modules,
    line=location.line, file=location.file, real=scale.function.__code__.co_firstlineno,
    watched=sorted(n for _, n in built.captures._seen),
)))
"""

SETTINGS = "SCALE = {scale}\nclass Table:\n    ROW = ({row}, {row})\n"
PLAIN = {
    "header": "",
    "factor": "2.0",
    "type": "f32",
    "default": "0.0",
    "inner": "1.0",
    "scale": "1.0",
    "row": "0",
}


def write(folder: Path, name: str = "program.py", **changes: str) -> Path:
    values = {**PLAIN, **changes}
    (folder / "settings.py").write_text(SETTINGS.format(**values))
    program = folder / name
    program.write_text(
        f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(folder)!r})"
        + PROGRAM.format(**values)
    )
    return program


class Memory:
    """A cache that others may read, and that is not on disk."""

    outlives_process = True

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}

    def load(self, name: str) -> bytes | None:
        return self.entries.get(name)

    def store(self, name: str, payload: bytes) -> bool:
        self.entries[name] = payload
        return True

    def remove(self, name: str) -> None:
        self.entries.pop(name, None)


def kernel_of_one() -> KernelFunction:
    return lp.kernel_from_source("@lp.kernel\ndef one(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] = 1.0\n")


def results(run: Run, program: Path) -> dict[str, object]:
    return json.loads(run(program))


@pytest.fixture
def first(tmp_path: Path, run: Run) -> dict[str, object]:
    """Fills the cache with the plain program, on the default device: entries know no device."""
    if not runtime().devices:
        pytest.skip("no Vulkan device")
    found = results(run, write(tmp_path))
    assert (found["compiles"], found["hits"], found["result"]) == (1, 0, 7.5)
    return found


def test_the_second_process_needs_no_compiler(first: dict[str, object], tmp_path: Path, run: Run) -> None:
    second = results(run, write(tmp_path))
    assert (second["compiles"], second["hits"], second["xdsl"]) == (0, 1, False)
    assert {**second, "compiles": 1, "hits": 0, "xdsl": True} == first


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ({"factor": "3.0"}, 11.25),
        ({"type": "i32"}, 7.0),
        ({"default": "0.5"}, 8.0),
        ({"inner": "2.0"}, 9.5),
        ({"scale": "2.0"}, 13.0),
        ({"row": "4"}, 11.5),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_change_around_the_kernel_compiles_it_again(
    first: dict[str, object], tmp_path: Path, run: Run, changes: dict[str, str], result: float
) -> None:
    changed = results(run, write(tmp_path, **changes))
    assert (changed["compiles"], changed["result"]) == (1, result)


def test_several_surroundings_of_one_kernel_are_kept(
    first: dict[str, object], tmp_path: Path, run: Run
) -> None:
    assert results(run, write(tmp_path, factor="2"))["compiles"] == 1  # an int is no float
    assert results(run, write(tmp_path, factor="2"))["hits"] == 1
    assert results(run, write(tmp_path))["hits"] == 1


def test_locations_follow_the_function_to_other_lines_and_files(
    first: dict[str, object], tmp_path: Path, run: Run
) -> None:
    moved = results(run, write(tmp_path, "elsewhere.py", header="\n\n# three lines more\n"))
    assert moved["hits"] == 1
    assert moved["real"] == 3 + int(str(first["real"]))
    assert int(str(moved["line"])) - int(str(moved["real"])) == int(str(first["line"])) - int(
        str(first["real"])
    )
    assert str(moved["file"]).endswith("elsewhere.py")


def test_a_damaged_or_hostile_entry_is_compiled_again(
    first: dict[str, object], tmp_path: Path, run: Run
) -> None:
    from lapilli.vk_runtime.disk_cache import DiskCache

    cache = DiskCache(tmp_path / "cache" / "v1", 1 << 20)
    (name,) = [entry.name for entry in cache.entries() if entry.name.startswith("image-")]
    whole = cache.load(name)
    assert whole is not None
    for hostile in (b"", b"\4\0\0\0[[[[" * 99_999, whole[:-4], b"\2\0\0\0[]"):
        cache.store(name, hostile)
        found = results(run, write(tmp_path))
        assert (found["result"], found["compiles"]) == (7.5, 1)
    assert results(run, write(tmp_path))["hits"] == 1


def test_a_rebound_name_is_noticed_after_a_hit(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("LAPILLI_CACHE", "1")
    text = textwrap.dedent(
        """
        K = 2.0
        def more(v):
            return v + K
        @lp.kernel
        def add(x: lp.Array[lp.f32]):
            x[lp.global_id(0)] = more(x[lp.global_id(0)])
        """
    )
    with lp.trace() as trace:
        for _ in range(2):
            add = lp.kernel_from_source(text)
            x = lp.zeros(4, device=device)
            add[4](x)
        assert (trace.count("compile"), trace.count("cache_hit")) == (1, 1)
        add.function.__globals__["K"] = 5.0
        add[4](x)
    assert trace.count("compile") == 2
    assert np.asarray(x).tolist() == [7.0] * 4


def test_a_function_that_makes_kernels_hits_for_each_of_its_values(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPILLI_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("LAPILLI_CACHE", "1")

    def kernel_that_adds(number: float):
        @lp.kernel
        def add(x: lp.Array[lp.f32]):
            x[lp.global_id(0)] += number

        return add

    x = lp.zeros(2, device=device)
    values = [float(number) for number in range(VARIANTS + 2)]
    for counts in ((len(values), 0), (0, len(values))):
        with lp.trace() as trace:
            for value in values:
                kernel_that_adds(value)[2](x)
        assert (trace.count("compile"), trace.count("cache_hit")) == counts
    assert x.numpy().tolist() == [2 * sum(values)] * 2


@pytest.mark.parametrize(
    "hostile", [b"", b"[" * 99_999, b"{}", b"[{}]", b'[[[0, ["x"]]]]', b"[[[-1, [], null]]]"]
)
def test_what_is_no_list_of_names_is_removed(hostile: bytes) -> None:
    store = Memory()
    cached = cached_kernel(store, kernel_of_one(), 1, TargetEnv())
    assert cached is not None
    store.entries[f"names-{cached.key}"] = hostile
    assert cached.find() is None
    assert not store.entries


def test_which_names_are_read_may_depend_on_what_they_mean() -> None:
    store, one = Memory(), kernel_of_one()
    cached = cached_kernel(store, one, 1, TargetEnv())
    assert cached is not None
    scope = one.function.__globals__

    def keep(image: bytes, **names: int) -> None:
        scope.update(names)
        captures = Captures()
        for name, value in names.items():
            captures.used.name(one.function, name, value)
        cached.keep(captures, lambda _: image)

    def find(**names: int) -> bytes | None:
        scope.update(names)
        hit = cached.find()
        return None if hit is None else hit.image

    keep(b"plain", A=1)
    keep(b"other", A=2, B=3)
    assert [find(A=1, B=4), find(A=2, B=3), find(A=2, B=4)] == [b"plain", b"other", None]


def test_two_environments_do_not_share_entries(device: Device, tmp_path: Path) -> None:
    from dataclasses import replace

    from lapilli.vk_runtime.disk_cache import DiskCache

    @lp.kernel
    def one(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 1.0

    store = DiskCache(tmp_path, 1 << 20)
    env = device.target_env
    keys = [
        cached_kernel(store, one, rank, target)
        for rank, target in (
            (1, env),
            (2, env),
            (1, replace(env, optimisation_level=0)),
            (1, replace(env, debug_info=True)),
        )
    ]
    assert len({key.key for key in keys if key is not None}) == 4


def test_locations_of_library_functions_are_those_of_their_calls() -> None:
    from lapilli.frontend.image_cache import absolute_locations, relative_locations
    from lapilli.ir.errors import Location
    from lapilli.ir.kernel_info import AspectUse, KernelInfo, LaunchAbi

    code = runtime.__code__
    inside = Location(code.co_filename, code.co_firstlineno + 1, 5, "sin_f64")
    beyond = Location(code.co_filename, code.co_firstlineno + 100_000, 5, "sin_f64")

    def kernel(location: Location) -> KernelInfo:
        use = AspectUse(aspect=1, location=location, what="64-bit integer")
        abi = LaunchAbi(rank=1)
        return KernelInfo(name="k", entry_point="k", parameters=(), abi=abi, aspects=(1,), aspect_uses=(use,))

    stored = relative_locations([kernel(inside)], [runtime])
    assert stored is not None
    (found,) = absolute_locations(stored, [runtime])
    assert found.aspect_uses[0].location == Location(code.co_filename, inside.line, 5, "runtime")
    assert relative_locations([kernel(beyond)], [runtime]) is None


def test_every_location_of_a_kernel_moves_with_it() -> None:
    from lapilli.ir.errors import Location
    from lapilli.ir.kernel_info import AspectUse, KernelInfo, LaunchAbi, LocalArrayInfo, Site

    here, there = Location("here.py", 3, 5, "k"), Location("there.py", 8, 5, "k")
    kernel = KernelInfo(
        name="k",
        entry_point="k",
        parameters=(),
        abi=LaunchAbi(rank=1),
        aspect_uses=(AspectUse(aspect=1, location=here), AspectUse(aspect=2, location=None)),
        location=here,
        local_arrays=(LocalArrayInfo(is_shared=True, element_bytes=4, lengths=(), location=here),),
        sites=(Site(kind="assert", text="", location=here),),
    )
    moved = kernel.with_locations(lambda location: there if location == here else location)
    assert repr(moved) == repr(kernel).replace(repr(here), repr(there))
    assert repr(here) not in repr(moved)
