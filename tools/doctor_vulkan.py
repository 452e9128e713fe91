"""The part of `lapilli doctor` that looks at Vulkan: loader, each driver, SwiftShader, validation layer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..vk_runtime.driver_report import DriverManifest, driver_manifests, shadowed_manifests
from ..vk_runtime.headers import NULL, ffi, text_of, version_tuple
from ..vk_runtime.instance import VALIDATION_LAYER, enumerate_all
from ..vk_runtime.loader import (
    EMBEDDED_VARIABLE,
    INSTALL_EMBEDDED,
    EntryPoint,
    EntryPointError,
    Functions,
    embedded_library,
    is_file,
    open_loader,
)
from . import swiftshader
from .doctor_findings import Finding, Section, missing, note, ok
from .driver_probe import Answer, probe_apart

_REPLACING_VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Replace the search for driver files; the second is the old name."""
_VARIABLES = (
    *_REPLACING_VARIABLES,
    "VK_ADD_DRIVER_FILES",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_DRIVERS_DISABLE",
)
"""What changes the drivers that the loader takes; shown where set."""


def apt_command(*packages: str) -> str:
    """Returns what installs Debian packages; elsewhere the names are a hint what to look for."""
    if shutil.which("apt-get") is None:
        return f"install the equivalents of Debian's {', '.join(packages)}"
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y --no-install-recommends {' '.join(packages)}"


def vulkan_section() -> Section:
    """Returns loader, each driver that the loader considers, the embedded SwiftShader, validation layer."""
    variables = tuple(note(name, value) for name in _VARIABLES if (value := os.environ.get(name)))
    try:
        entry = open_loader()
    except EntryPointError as error:
        absent = missing("loader", str(error), apt_command("libvulkan1", "mesa-vulkan-drivers"))
        return Section(heading="Vulkan", findings=(absent, *variables, _embedded()))
    findings = (_loader(entry), *variables, *_drivers(), _embedded(), _validation_layer(entry))
    return Section(heading="Vulkan", findings=findings)


def _functions(entry: EntryPoint) -> Functions:
    return Functions(lambda name: entry.get_instance_proc_addr(NULL, name), entry.library)


def _loader(entry: EntryPoint) -> Finding:
    version = ffi.new("uint32_t*")
    _functions(entry).vkEnumerateInstanceVersion(version)
    return ok("loader", f"{_dotted(version_tuple(version[0]))}, {_mapped_path(entry.library)}")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _mapped_path(library: str) -> str:
    """The file that the linker took for the name `library`; the name itself where /proc does not tell."""
    try:
        lines = Path("/proc/self/maps").read_text("utf-8").splitlines()
    except OSError:
        return library
    paths = (line.split()[-1] for line in lines)
    return next((path for path in paths if Path(path).name.startswith(library)), library)


def _validation_layer(entry: EntryPoint) -> Finding:
    layers = enumerate_all(
        _functions(entry).vkEnumerateInstanceLayerProperties,
        "vkEnumerateInstanceLayerProperties",
        "VkLayerProperties",
        read=lambda layer: (text_of(layer.layerName), version_tuple(layer.specVersion)),
    )
    version = dict(layers).get(VALIDATION_LAYER)
    if version is not None:
        return ok("validation layer", _dotted(version))
    # Nothing needs it to run kernels, so its absence is no fault.
    return Finding(
        status="note",
        subject="validation layer",
        text="is not installed; LAPILLI_VALIDATE=1 needs it",
        repair=apt_command("vulkan-validationlayers"),
    )


def _drivers() -> tuple[Finding, ...]:
    # A second wrong variable is found now, not when the first one is unset.
    findings = tuple(map(_driver, (*driver_manifests(), *shadowed_manifests())))
    has_replaced_search = any(os.environ.get(name) for name in _REPLACING_VARIABLES)
    if has_replaced_search or any(finding.status == "ok" for finding in findings):
        return findings
    none = missing("drivers", "none that the loader finds has a device", apt_command("mesa-vulkan-drivers"))
    return (*findings, none)


def _driver(manifest: DriverManifest) -> Finding:
    subject = f"driver {manifest.path}"
    if manifest.problem:
        repair = f"unset {manifest.origin}" if manifest.origin in _VARIABLES else None
        return missing(subject, manifest.problem, repair)
    alone = dict.fromkeys(_VARIABLES, "") | {"VK_DRIVER_FILES": str(manifest.path)}
    return _judge(subject, probe_apart(("--loader", manifest.library_path), alone))


def _embedded() -> Finding:
    path = embedded_library()
    if path is None:
        return note("SwiftShader", "is switched off: LAPILLI_SWIFTSHADER is empty")
    repair = f"unset {EMBEDDED_VARIABLE}" if EMBEDDED_VARIABLE in os.environ else None
    if not is_file(path):
        install = INSTALL_EMBEDDED if repair is None else f"{repair}; {INSTALL_EMBEDDED}"
        return missing("SwiftShader", f"there is no file {path}", install)
    origin = swiftshader.installed_origin(path.parent)
    source = f"from {origin.package} {origin.version}" if origin else "of unknown origin"
    return _judge(f"SwiftShader {path} ({source})", probe_apart((str(path),), {}), repair)


def _judge(subject: str, answer: Answer, repair: str | None = None) -> Finding:
    if answer["devices"]:
        refused = f"; not usable: {'; '.join(answer['refused'])}" if answer["refused"] else ""
        return ok(subject, f"{', '.join(answer['devices'])}{refused}")
    if answer["refused"]:
        return missing(subject, "; ".join(answer["refused"]), repair)
    # Normal for drivers of hardware that this machine does not have: nothing to repair.
    return note(subject, "has no device on this machine")
