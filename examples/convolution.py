"""A 3x3 convolution whose coefficients are one specialization constant, on every Vulkan device present.

The kernel is that of the SYCL Modules proposal.  Its coefficients are not an argument: they are set when
the pipeline is made, so the driver compiles them into the code like literals, while the SPIR-V module stays
the same.  The table proves it: one VkShaderModule and three VkPipelines per device for blur, sharpen and
edge.

The photograph is Grace Hopper's, ``mpl-data/sample_data/grace_hopper.jpg`` of the Python package matplotlib.

    python examples/convolution.py [--output DIR] [--dump DIR] [--device SELECTOR]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.frontend.kernel import Stage

COEFF = lp.SpecializationId(lp.FixedArray[lp.f32, 3, 3])

COEFFICIENTS = {
    "blur": np.full((3, 3), 1 / 9, np.float32),
    "sharpen": np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32),
    "edge": np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]], np.float32),
}
WHITE = 255.0
PLAIN_WIDTH = 120
"""Columns of the table where the output is no terminal."""
TOLERANCE = 1e-5
"""Largest error relative to WHITE: nine products and sums in f32, contracted as the driver likes."""
STAGES: tuple[tuple[Stage, str], ...] = (
    ("python", "kernel.py"),
    ("ir", "kernel.mlir"),
    ("split", "split.mlir"),
    ("spirv-dialect", "spirv-dialect.mlir"),
    ("spirv", "kernel.spvasm"),
    ("metadata", "metadata.json"),
)
"""What ``kernel.inspect`` calls each stage, and the file that ``--dump`` writes."""


@lp.kernel
def convolve(source: lp.In[lp.f32, 2], result: lp.Out[lp.f32, 2]):
    row, column = lp.global_id(0), lp.global_id(1)
    rows, columns = source.shape
    acc = 0.0
    for i in range(-1, 2):
        if row + i < 0 or row + i >= rows:
            continue
        for j in range(-1, 2):
            if column + j < 0 or column + j >= columns:
                continue
            acc += COEFF[i + 1, j + 1] * source[row + i, column + j]
    result[row, column] = acc


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One picture computed on one device."""

    coefficients: str
    kernel_ms: float
    error: float
    """Largest difference from NumPy, in grey levels of WHITE."""
    modules: int
    """VkShaderModules created on the device so far."""
    pipelines: int
    """VkPipelines created on the device so far."""


def load_photograph() -> NDArray[np.float32]:
    """Returns the photograph in grey levels, (rows, columns), 0 to WHITE, without importing matplotlib."""
    package = metadata.distribution("matplotlib")
    path = Path(str(package.locate_file("matplotlib/mpl-data/sample_data/grace_hopper.jpg")))
    with Image.open(path) as image:
        return np.asarray(image.convert("L"), np.float32)


def convolve_numpy(source: NDArray[np.float32], coefficients: NDArray[np.float32]) -> NDArray[np.float64]:
    """The reference, in float64: zero beyond the border, as the kernel's border tests mean."""
    rows, columns = source.shape
    padded = np.pad(source.astype(np.float64), 1)
    windows = (coefficients[i, j] * padded[i : i + rows, j : j + columns] for i in range(3) for j in range(3))
    return np.asarray(sum(windows), np.float64)


def save_picture(path: Path, levels: NDArray[Any]) -> None:
    """Writes grey levels as a PNG; what lies outside 0 … WHITE is clipped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(np.rint(levels), 0, WHITE).astype(np.uint8)).save(path)


def run_on(device: lp.Device, photograph: NDArray[np.float32], output: Path) -> list[Row]:
    """Convolves with all coefficients on `device`; saves the pictures."""
    rows: list[Row] = []
    with lp.trace() as trace:
        queue = lp.Queue(device, profiling=True)
        source = lp.asarray(photograph, device=device)
        for name, coefficients in COEFFICIENTS.items():
            result = lp.zeros(photograph.shape, device=device)
            launch = convolve[photograph.shape].on(queue).spec({COEFF: coefficients})
            launch(source, result).wait()  # the first launch of a pipeline: lavapipe compiles in it
            event = launch(source, result).wait()
            levels = result.numpy()
            error = float(np.abs(levels - convolve_numpy(photograph, coefficients)).max())
            rows.append(
                Row(
                    coefficients=name,
                    kernel_ms=event.elapsed_ns / 1e6,
                    error=error,
                    modules=trace.count("module"),
                    pipelines=trace.count("pipeline"),
                )
            )
            save_picture(output / f"{file_name(device)}-{name}.png", levels)
    return rows


def file_name(device: lp.Device) -> str:
    """The device's selector with only what every file system takes."""
    return "".join(c if c.isalnum() else "-" for c in device.selector).strip("-")


def dump_stages(directory: Path) -> None:
    """Writes every stage that the kernel went through, from Python to SPIR-V."""
    directory.mkdir(parents=True, exist_ok=True)
    for stage, name in STAGES:
        (directory / name).write_text(convolve.inspect(stage), "utf-8")
    binary = inspect(cast(Any, convolve), "binary")
    assert isinstance(binary, bytes), "the stage called binary is bytes, all others are text"
    (directory / "kernel.spv").write_bytes(binary)


def report(
    console: Console, table: Table, device: lp.Device, photograph: NDArray[np.float32], output: Path
) -> bool:
    """Adds `device`'s rows to the table; returns whether they are as they must be."""
    driver = f"{device.platform.name} {device.platform.version}"
    try:
        rows = run_on(device, photograph, output)
    except lp.Error as error:
        table.add_row(device.selector, driver, "[red]failed", "", "", "", "", end_section=True)
        console.print(f"[red]{device.name}:[/] {escape(str(error))}", highlight=False)
        return False
    for row in rows:
        table.add_row(
            device.selector,
            driver,
            row.coefficients,
            f"{row.kernel_ms:.3f}",
            f"{row.error:.2g}",
            str(row.modules),
            str(row.pipelines),
            end_section=row is rows[-1],
        )
    return (rows[-1].modules, rows[-1].pipelines) == (1, len(COEFFICIENTS)) and all(
        row.error <= TOLERANCE * WHITE for row in rows
    )


def main(args: list[str] | None = None) -> int:
    """Runs the example; returns 1 where a device failed, erred too much or was not specialised natively."""
    parser = argparse.ArgumentParser(description="Convolves a photograph on every Vulkan device.")
    parser.add_argument(
        "--output", type=Path, default=Path("out"), help="folder for the pictures (default: out)"
    )
    parser.add_argument(
        "--dump", type=Path, metavar="DIR", help="also write every stage of the kernel to DIR"
    )
    parser.add_argument("--device", metavar="SELECTOR", help="only this device; `lapilli devices` lists them")
    options = parser.parse_args(args)

    console = Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)
    photograph = load_photograph()
    save_picture(options.output / "original.png", photograph)
    title = f"3x3 convolution of matplotlib's grace_hopper.jpg, {photograph.shape[0]}x{photograph.shape[1]} pixels"
    table = Table(title=title, box=SIMPLE)
    for heading in ("device", "driver", "coefficients"):
        table.add_column(heading)
    for heading in ("kernel ms", "max error", "modules", "pipelines"):
        table.add_column(heading, justify="right")
    try:
        devices = [lp.device(options.device)] if options.device else lp.devices()
    except lp.Error as error:
        console.print(f"[red]no device:[/] {escape(str(error))}", highlight=False)
        return 1
    are_right = [report(console, table, device, photograph, options.output) for device in devices]
    console.print(table)
    console.print(
        f"modules, pipelines: created on the device so far; {len(COEFFICIENTS)} pipelines of 1 module are native "
        f"specialization.\nPictures are in {options.output}/."
    )
    if options.dump:
        dump_stages(options.dump)
        console.print(f"Every stage of the kernel is in {options.dump}/.")
    return 0 if all(are_right) else 1


if __name__ == "__main__":
    sys.exit(main())
