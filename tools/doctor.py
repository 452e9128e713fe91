"""``lapilli doctor``: what of Vulkan is here, why each driver is or is not used, and what repairs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click
from rich.console import Console
from rich.text import Text

from ..ir.errors import Error, InvalidError
from . import swiftshader
from .console import make_console
from .doctor_findings import Finding, Section, Status, missing, note, repairs

if TYPE_CHECKING:
    from ..vk_runtime.driver_report import DriverRecord

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
    from .doctor_software import software_section, variables_section
    from .doctor_vulkan import vulkan_section

    sections: list[Section] = []
    for find in (software_section, variables_section, vulkan_section):
        sections.append(find())
        if sections[-1].findings:
            _print_section(console, sections[-1])
    # Last, because it loads the drivers into this process: whatever they do, the findings are printed.
    if in_full:
        _print_in_full(console)
    records, of_devices = _find_devices()
    has_device = any(record.devices for record in records)
    _print_devices(console, records, of_devices)
    if in_full:
        _print_devices_in_full(console, records)
    _print_repairs(console, (*sections, of_devices), has_device=has_device)
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


def _print_devices_in_full(console: Console, records: tuple[DriverRecord, ...]) -> None:
    from .doctor_report import device_section

    for record in records:
        for device in record.devices:
            _print_section(console, device_section(device))


def _line(finding: Finding) -> Text:
    mark, style = _MARKS[finding.status]
    return Text.assemble("  ", (mark, style), f"  {finding.subject}: {finding.text}")


def _find_devices() -> tuple[tuple[DriverRecord, ...], Section]:
    """Returns the drivers with their devices, and what is wrong or to be known about them."""
    from ..vk_runtime.runtime import driver_report

    try:
        records = driver_report()
    except Error as error:  # an option that names devices or aspects which do not exist
        variable = str(error).partition(":")[0]
        repair = f"unset {variable}" if variable in os.environ else None
        return (), Section(heading="Devices", findings=(missing("devices", str(error), repair),))
    findings = [missing(record.library, record.reason) for record in records if record.status == "failed"]
    if any(record.devices for record in records):
        findings += _choice()
    else:
        findings.append(missing("devices", "no usable Vulkan device"))
    return records, Section(heading="Devices", findings=tuple(findings))


def _print_devices(console: Console, records: tuple[DriverRecord, ...], section: Section) -> None:
    from .devices import print_devices

    devices = tuple(device for record in records for device in record.devices)
    console.print(Text(section.heading, style="bold"))
    if devices:
        print_devices(console, devices)
    for finding in section.findings:
        console.print(_line(finding), soft_wrap=True)
    console.print()


def _choice() -> Iterable[Finding]:
    """Yields which device LAPILLI_DEVICE chooses, where it is set, or why it chooses none."""
    from ..vk_runtime.device_list import device

    if not os.environ.get("LAPILLI_DEVICE"):
        return
    try:
        yield note("LAPILLI_DEVICE", f"chooses {device().selector}")
    except InvalidError as error:
        yield missing("LAPILLI_DEVICE", str(error), "unset LAPILLI_DEVICE")


def _print_repairs(console: Console, sections: tuple[Section, ...], *, has_device: bool) -> None:
    commands = repairs(sections)
    if not commands:
        is_well = all(finding.status != "missing" for section in sections for finding in section.findings)
        console.print("Nothing to repair." if is_well else "No command is known that repairs this.")
        return
    console.print(Text("To put right what is marked" if has_device else "To repair this", style="bold"))
    for text in commands:
        console.print(Text(f"  {text}"), soft_wrap=True)
