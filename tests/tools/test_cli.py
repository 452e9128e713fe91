"""The command line as a whole: help, version, unknown commands, errors, and what it does not load."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types

import click
import pytest
from click.testing import CliRunner

import lapilli
from lapilli.ir.errors import InvalidError
from lapilli.tools import cli


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "lapilli", *args)
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | env)


@pytest.fixture
def failing_command(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def command() -> None:
        raise InvalidError("the range is [bold]negative[/]")

    module = types.ModuleType("lapilli.tools.fails")
    module.command = command
    monkeypatch.setitem(sys.modules, "lapilli.tools.fails", module)
    monkeypatch.setitem(cli.COMMANDS, "fails", "Fails.")


def test_version() -> None:
    assert CliRunner().invoke(cli.group, ["--version"]).output == f"lapilli, version {lapilli.__version__}\n"


def test_help_lists_every_command_with_its_line() -> None:
    result = CliRunner().invoke(cli.group, ["--help"])
    assert result.exit_code == 0
    for name, line in cli.COMMANDS.items():
        assert name in result.output
        assert line.split(",")[0] in result.output


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_of_the_table_exists_and_has_help(name: str) -> None:
    assert importlib.util.find_spec(f"lapilli.tools.{name}") is not None
    result = CliRunner().invoke(cli.group, [name, "--help"])
    assert result.exit_code == 0
    assert f"{name} [OPTIONS]" in result.output


def test_unknown_command_suggests_the_nearest() -> None:
    result = CliRunner().invoke(cli.group, ["docter"])
    assert result.exit_code == 2
    assert "no command 'docter'; did you mean doctor?" in result.output


def test_unknown_command_without_a_neighbour_lists_what_there_is() -> None:
    result = CliRunner().invoke(cli.group, ["xyzzy"])
    assert result.exit_code == 2
    assert "there are " + ", ".join(sorted(cli.COMMANDS)) in result.output


@pytest.mark.usefixtures("failing_command")
def test_an_error_of_lapilli_is_its_message_and_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAPILLI_LOG", raising=False)
    with pytest.raises(SystemExit) as caught:
        cli.main(["fails"])
    assert caught.value.code == 1
    assert capsys.readouterr().err == "lapilli: the range is [bold]negative[/]\n"


@pytest.mark.usefixtures("failing_command")
def test_with_debug_log_an_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAPILLI_LOG", "debug")
    with pytest.raises(InvalidError, match="negative"):
        cli.main(["fails"])


def test_help_says_how_to_complete_and_that_completes() -> None:
    line = 'eval "$(_LAPILLI_COMPLETE=bash_source lapilli)"'
    assert line in CliRunner().invoke(cli.group, ["--help"]).output
    environment = {"_LAPILLI_COMPLETE": "bash_complete", "COMP_WORDS": "lapilli du", "COMP_CWORD": "1"}
    done = CliRunner().invoke(
        cli.group, prog_name="lapilli", env=environment, complete_var="_LAPILLI_COMPLETE"
    )
    assert done.output == "plain,dump\n"


def test_help_in_a_process_loads_neither_the_compiler_nor_a_driver() -> None:
    program = (
        "import sys\nfrom lapilli.tools import cli\n"
        "try: cli.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'xdsl', 'numpy', 'cffi', 'rich'}\n"
        "print('loaded:', *sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_python_dash_m_runs_it() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"lapilli, version {lapilli.__version__}\n")
