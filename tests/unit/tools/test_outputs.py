"""The command line tools print and write what the texts in `outputs` say."""

import platform
from difflib import unified_diff

import pytest
from code_records import outputs

pytestmark = pytest.mark.slow


def known(name: str) -> dict[str, str]:
    """What is on record: the lines under each command line."""
    found: dict[str, str] = {}
    command = ""
    for line in (outputs.FOLDER / f"{name}.txt").read_text().splitlines(keepends=True):
        if line.startswith("xrelay"):
            command = line.rstrip("\n")
            found[command] = ""
        elif command:
            found[command] += line
    return found


def skip_what_differs(name: str) -> None:
    """Skips what is on record of another machine, or of another version of igraph."""
    if name == outputs.RUN and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the record is of machine code of x86-64")
    if name == outputs.PICTURES:
        pytest.importorskip("igraph")
        version = (outputs.FOLDER / f"{name}.txt").read_text().partition("\n")[0]
        if version != f"igraph {outputs.version_of_layout()}":
            pytest.skip(f"the record is of the layouts of {version}")


def test_all_commands_are_on_record() -> None:
    assert {path.stem for path in outputs.FOLDER.iterdir()} == set(outputs.COMMANDS)
    for name, commands in outputs.COMMANDS.items():
        assert list(known(name)) == list(commands), "run `make pages`"


@pytest.mark.parametrize("name", outputs.COMMANDS)
def test_commands_print_what_is_on_record(name: str) -> None:
    """Where the new lines are better, `make pages` writes them."""
    skip_what_differs(name)
    before = known(name)
    found = [
        "\n".join([command, *unified_diff(before[command].splitlines(), now.splitlines(), n=1)])
        for command, now in outputs.entries(name).items()
        if now != before[command]
    ]
    assert not found, "\n".join(found)
