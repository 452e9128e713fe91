"""The source language GLSL: compute shaders, compiled by glslang where it is installed.

Looked for on PATH: ``glslangValidator``, then ``glslang``, then ``glslc``.  The compiler runs as a process of its own
in an empty folder; ``#include`` reads what ``-I`` names.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from ..ir.errors import BuildError, Diagnostic, InvalidError, Location, RuntimeFailure
from ..ir.kernel_info import Site
from ..spirv.device_image import DeviceImage
from ..vk_runtime.source_language import CompiledSource, SourceRequest
from .spirv_source import compiled_spirv

LABEL = "<GLSL>"
COMPILERS = ("glslangValidator", "glslang", "glslc")
SHADER = "main.comp"
BINARY = "main.spv"
"""Named from the compiler's own folder: debug information holds the name, and equal sources make equal images."""
TIMEOUT_S = 120

_FINDING = re.compile(
    r"(?:(?P<word1>ERROR|WARNING): )?(?P<file>[^:\n]*):(?P<line>\d+): (?:(?P<word2>error|warning): )?(?P<text>.*)"
)
"""``ERROR: main.comp:3: 'x' : undeclared identifier`` of glslang, ``main.comp:3: error: …`` of glslc."""


def compiler_path() -> str | None:
    """Returns the first compiler that is installed, None where there is none."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernel of a shader, which is called ``main``.

    Raises:
        BuildError: the shader is wrong; with the lines that the compiler names.
        InvalidError: a definition or folder that cannot be.
        RuntimeFailure: the compiler cannot be run.
    """
    assert isinstance(request.code, str), "create_bundle checked it"
    path = compiler_path()
    if path is None:
        raise RuntimeFailure(f"GLSL needs one of {', '.join(COMPILERS)} on PATH, which are gone")
    with tempfile.TemporaryDirectory(prefix="lapilli-glsl-") as folder:
        binary = Path(folder) / BINARY
        (Path(folder) / SHADER).write_text(request.code, encoding="utf-8", errors="surrogatepass")
        done = _run([path, *_arguments(path, request)], folder)
        findings = _findings(done.stdout + done.stderr, request.code)
        if done.returncode != 0 or not binary.is_file():
            raise _error(findings, _without_paths(done.stdout + done.stderr))
        made = compiled_spirv(binary.read_bytes(), request, LABEL)
    warnings = tuple(str(found) for found in findings if found.severity == "warning")
    images = tuple(_with_label(image) for image in made.images)
    return CompiledSource(images=images, warnings=(*warnings, *made.warnings), left_out=made.left_out)


def _with_label(image: DeviceImage) -> DeviceImage:
    """Returns an image whose loops are not in a temporary file."""

    def labelled(site: Site) -> Site:
        place = site.location
        if place is None or place.file != SHADER:
            return site
        return replace(site, location=replace(place, file=LABEL))

    kernels = (replace(k, sites=tuple(map(labelled, k.sites))) for k in image.kernels)
    return replace(image, kernels=tuple(kernels))


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            cwd=folder,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{LABEL}: error: the compiler did not end within {TIMEOUT_S} s") from error
    except OSError as error:
        raise RuntimeFailure(f"{command[0]} cannot be run: {error.strerror}") from error


def _arguments(path: str, request: SourceRequest) -> list[str]:
    version = ".".join(map(str, min(max(request.env.vulkan_version, (1, 1)), (1, 3))))
    options = [*_definitions(request), *_folders(request)]
    # Loops that a driver ends are told by their lines.
    debug = ["-g"] if request.options.debug or request.env.loop_iteration_cap is not None else []
    if Path(path).stem == "glslc":
        level = ["-O0"] if request.options.opt_level == 0 else ["-O"]
        target = f"--target-env=vulkan{version}"
        return [target, "-fshader-stage=compute", *level, *debug, *options, SHADER, "-o", BINARY]
    return ["-V", "--target-env", f"vulkan{version}", *debug, *options, SHADER, "-o", BINARY]


def _definitions(request: SourceRequest) -> list[str]:
    found: list[str] = []
    for text in request.options.of_prefix("-D"):
        name = text.partition("=")[0]
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or not text.isprintable():
            raise InvalidError(f"build option -D{text!r:.80}: expected -DNAME or -DNAME=VALUE, on one line")
        found.append(f"-D{text}")
    return found


def _folders(request: SourceRequest) -> list[str]:
    folders = [Path(text).absolute() for text in request.options.of_prefix("-I")]
    for folder in folders:
        if not folder.is_dir():
            raise InvalidError(f"build option -I{folder}: expected a folder")
    return [f"-I{folder}" for folder in folders]


def _findings(output: str, code: str) -> list[Diagnostic]:
    lines = code.splitlines()
    found: list[Diagnostic] = []
    for match in map(_FINDING.fullmatch, output.splitlines()):
        word = match and (match["word1"] or match["word2"])
        if match is None or not word:
            continue
        line = int(match["line"])
        is_main = match["file"] == SHADER
        file = LABEL if is_main else match["file"]
        source_line = lines[line - 1] if is_main and 0 < line <= len(lines) else None
        # glslang names no column: the caret stands under the whole line.
        column = 1 + len(source_line) - len(source_line.lstrip()) if source_line else 1
        end = len(source_line.rstrip()) + 1 if source_line else None
        found.append(
            Diagnostic(match["text"].strip(), Location(file, line, column), word.lower(), source_line, end)
        )
    return found


def _without_paths(output: str) -> str:
    """Returns what the compiler said, without the temporary file: glslang first names it in a line of its own."""
    lines = (line.replace(SHADER, LABEL) for line in output.splitlines())
    return "\n".join(line for line in lines if line.strip() not in ("", LABEL))


def _error(findings: list[Diagnostic], output: str) -> BuildError:
    text = "\n".join(map(str, findings)) or f"{LABEL}: error: {output.strip() or 'the compiler said nothing'}"
    return BuildError(text, code="LP2104", diagnostics=findings or [Diagnostic(text)])
