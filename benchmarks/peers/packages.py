"""Which packages there are to compare with, and the environment that their processes have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from .cases import ITEMS
from .glsl_shaders import SHADERS, compile_glsl
from .measure import LAPILLI
from .processes import Peer, PeerError

PACKAGES = ("taichi", "quadrants", "wgpu", "vkdispatch", "kp", "compushady")
GIVEN = "kp, SPIR-V given"
"""Kompute with its shaders compiled beforehand: as a program that ships them."""
Caches = Literal["none", "warm"]
_MANIFESTS = ("/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d")
_HERE = Path(__file__).resolve().parent


def parse_peers(texts: Iterable[str]) -> dict[str, str]:
    """Reads ``NAME=PYTHON``; returns paths of interpreters by package.

    Raises:
        PeerError: a name that no driver has, or no such interpreter.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, python = text.partition("=")
        if name not in PACKAGES:
            raise PeerError(f"no package '{name}'; there are {', '.join(PACKAGES)}, given as NAME=PYTHON")
        path = shutil.which(python)
        if path is None:
            raise PeerError(f"{name}: no interpreter at '{python}'")
        found[name] = os.path.abspath(path)  # not resolved: the link is what makes it a virtual environment
    return found


def peer_of(name: str, python: str) -> Peer:
    """Returns a package's side; lapilli's too."""
    program = str(_HERE / "cold" / f"cold_{name}.py")
    return Peer(
        name=name,
        command=(python, "-m", "benchmarks.peers.serve", f"benchmarks.peers.drivers.{name}"),
        cold=(python, program),
    )


def sides(peers: Mapping[str, str]) -> list[Peer]:
    """Returns lapilli and the packages, in that order."""
    return [peer_of(LAPILLI, sys.executable), *(peer_of(name, python) for name, python in peers.items())]


def with_shaders_given(peers: Mapping[str, str], folder: Path) -> list[Peer]:
    """Returns Kompute's side that has its SPIR-V already; empty without Kompute."""
    if "kp" not in peers:
        return []
    plain = peer_of("kp", peers["kp"])
    return [
        Peer(
            name=GIVEN,
            command=(*plain.command, "--given"),
            cold=(*plain.cold, str(folder / "saxpy.spv")),
        )
    ]


def build_floor(folder: Path) -> Peer:
    """Returns the side in C.

    Raises:
        PeerError: a compiler, glslangValidator or Vulkan's headers are not there; the text says which.
    """
    compiler = shutil.which("cc")
    if compiler is None or shutil.which("glslangValidator") is None:
        missing = "cc (Debian: gcc)" if compiler is None else "glslangValidator (Debian: glslang-tools)"
        raise PeerError(f"C floor not measured: {missing} not found")
    shader, program = folder / "increment.spv", folder / "floor"
    shader.write_bytes(compile_glsl(SHADERS["increment"], [np.zeros(ITEMS, np.float32)]))
    command = [compiler, "-O2", str(_HERE / "floor.c"), "-o", str(program), "-lvulkan"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerError(f"C floor not measured (Debian: libvulkan-dev): {done.stderr.strip()[:300]}")
    return Peer(name="C floor", command=(str(program), str(shader)))


def environment(selector: str, caches: Caches, folder: Path) -> dict[str, str]:
    """Returns what all sides run in: one driver, and every disk cache on or off.

    Args:
        selector: lapilli's, of the device.
        caches: ``warm``: on, and empty at the beginning of a run; ``none``: off, the driver's too.
        folder: for the caches.
    """
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    off, on = ("true", "0") if caches == "none" else ("false", "1")
    return {
        **kept,
        **_manifest(selector),
        "LAPILLI_DEVICE": selector,
        "LAPILLI_CACHE": on,
        "LAPILLI_CACHE_DIR": str(folder / "lapilli"),
        "MESA_SHADER_CACHE_DISABLE": off,
        "MESA_GLSL_CACHE_DISABLE": off,  # its name before Mesa 22.1
        "MESA_SHADER_CACHE_DIR": str(folder / "mesa"),
        "TI_OFFLINE_CACHE": on,
        "TI_OFFLINE_CACHE_FILE_PATH": str(folder / "taichi"),
        "QD_OFFLINE_CACHE": on,
        "QD_OFFLINE_CACHE_FILE_PATH": str(folder / "quadrants"),
        "XDG_CACHE_HOME": str(folder),
    }


def _manifest(selector: str) -> dict[str, str]:
    """Returns what makes the Vulkan loader show lavapipe alone; packages choose their device differently."""
    if selector != "lavapipe" or "VK_DRIVER_FILES" in os.environ or "VK_ICD_FILENAMES" in os.environ:
        return {}
    found = [path for folder in _MANIFESTS for path in sorted(Path(folder).glob("lvp_icd*.json"))]
    names = os.pathsep.join(map(str, found[:1]))
    return {"VK_DRIVER_FILES": names, "VK_ICD_FILENAMES": names} if found else {}
