"""``lapilli doctor``: what of Vulkan is here, why each driver is or is not used, and what repairs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, cast

import click
from rich.console import Console
from rich.text import Text

from ..ir.errors import InvalidError
from . import swiftshader
from .console import make_console
from .doctor_findings import Finding, Section, Status, missing, note, repairs

_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "missing": ("!!", "red"),
    "note": ("--", "dim"),
}


@click.command()
@click.option(
    "--install-swiftshader", is_flag=True, help="Download SwiftShader, a driver without a loader; no report."
)
@click.option("--force", is_flag=True, help="With --install-swiftshader: also where it is installed.")
@click.option(
    "--deb",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --install-swiftshader: take it from this Debian package instead of downloading one.",
)
@click.option("--report", is_flag=True, help="Everything that a bug report should say; no secrets.")
def command(install_swiftshader: bool, force: bool, deb: Path | None, report: bool) -> None:
    """Report what of Vulkan is installed, why each driver is or is not used, and what repairs it.

    The exit status is 0 if at least one device is usable, else 1.
    """
    if install_swiftshader:
        if report:
            raise click.UsageError("--report and --install-swiftshader exclude each other")
        _install(force=force, deb=deb)
        return
    if force or deb:
        raise click.UsageError("--force and --deb belong to --install-swiftshader")
    if report:
        from .doctor_report import WithoutHome

        console = make_console(cast("IO[str]", WithoutHome(sys.stdout)))
    else:
        console = make_console()
    sys.exit(0 if diagnose(console, in_full=report) else 1)


def diagnose(console: Console, *, in_full: bool = False) -> bool:
    """Prints the report, all that a bug report should say if `in_full`; returns whether a device is usable."""
    # Imported here: --install-swiftshader must work on a machine where these cannot be loaded.
    from .doctor_software import software_section
    from .doctor_vulkan import vulkan_section

    sections = [software_section()]
    _print_section(console, sections[0])
    sections.append(vulkan_section())
    _print_section(console, sections[1])
    # Last, because it loads the drivers into this process: whatever they do, the findings are printed.
    if in_full:
        _print_in_full(console)
    has_device = _print_devices(console)
    if in_full:
        _print_devices_in_full(console)
    _print_repairs(console, repairs(tuple(sections)), has_device=has_device)
    return has_device


def _install(*, force: bool, deb: Path | None) -> None:
    directory = swiftshader.default_directory()
    origin, was_installed = swiftshader.install(directory, archive=deb, force=force)
    verb = "installed" if was_installed else "is installed already:"
    library = directory / swiftshader.LIBRARY_NAME
    click.echo(f"SwiftShader {verb} {library} (from {origin.package} {origin.version}, {origin.licence})")


def _print_section(console: Console, section: Section) -> None:
    console.print(Text(section.heading, style="bold"))
    for finding in section.findings:
        console.print(_line(finding), soft_wrap=True)
    console.print()


def _print_in_full(console: Console) -> None:
    from .doctor_report import report_sections

    for section in report_sections():
        _print_section(console, section)


def _print_devices_in_full(console: Console) -> None:
    from ..vk_runtime.runtime import driver_report
    from .doctor_report import device_section

    for record in driver_report():
        for device in record.devices:
            _print_section(console, device_section(device))


def _line(finding: Finding) -> Text:
    mark, style = _MARKS[finding.status]
    return Text.assemble("  ", (mark, style), f"  {finding.subject}: {finding.text}")


def _print_devices(console: Console) -> bool:
    from ..vk_runtime.runtime import driver_report
    from .devices import print_devices

    records = driver_report()
    devices = tuple(device for record in records for device in record.devices)
    console.print(Text("Devices", style="bold"))
    if devices:
        print_devices(console, devices)
    for record in records:
        if record.status == "failed":
            console.print(_line(missing(record.library, record.reason)), soft_wrap=True)
    if devices:
        _print_choice(console)
    if not devices:
        console.print(_line(missing("devices", "no usable Vulkan device")), soft_wrap=True)
    console.print()
    return bool(devices)


def _print_choice(console: Console) -> None:
    """Prints which device LAPILLI_DEVICE chooses, where it is set, or why it chooses none."""
    from ..vk_runtime.device import device

    if not os.environ.get("LAPILLI_DEVICE"):
        return
    try:
        console.print(_line(note("LAPILLI_DEVICE", f"chooses {device().selector}")), soft_wrap=True)
    except InvalidError as error:
        console.print(_line(missing("LAPILLI_DEVICE", str(error))), soft_wrap=True)


def _print_repairs(console: Console, commands: tuple[str, ...], *, has_device: bool) -> None:
    if not commands:
        console.print("Nothing to repair." if has_device else "No command is known that repairs this.")
        return
    console.print(Text("To add what is missing" if has_device else "To repair this", style="bold"))
    for text in commands:
        console.print(Text(f"  {text}"), soft_wrap=True)
