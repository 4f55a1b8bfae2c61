"""Is the README true? Its code runs, its commands parse, its help and its file map are those of today."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from domaingate.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(?:echo .*\| )?domaingate ([^#\n$]+)", README, re.M)


def test_the_ten_lines_of_python_run(tmp_path, monkeypatch, capsys):
    """Does a newcomer who pastes the README's Python get predictions and a model folder?"""
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "my-model" / "config.json").is_file()
    assert "negative" in capsys.readouterr().out


def test_there_are_commands():
    """Does the pattern below find the README's commands at all?"""
    assert len(COMMANDS) >= 6


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_parses(line):
    """Does each command of the README have the options that it uses?"""
    context = typer.main.get_command(app).make_context("domaingate", shlex.split(line))
    command, rest = context.command, [*context._protected_args, *context.args]
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    command.make_context(name, rest)
