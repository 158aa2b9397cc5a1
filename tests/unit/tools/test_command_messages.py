"""What commands say: guesses at wrong words, and lines that can be read."""

from pathlib import Path

import pytest
from commands.runs import Command

from tests.fuzz.__main__ import main as fuzz
from xrelay.tools.errors import BAD_INPUT, shortened


@pytest.mark.parametrize(
    ("words", "guess"),
    [
        ("rnu", "'run'"),
        ("run model.onnx --verfy", "'--verify'"),
        ("run model.onnx --sed=3", "'--seed'"),
        ("compile model.onnx -o x.so --emit-aftr import", "'--emit-after'"),
        ("ops --jkl", None),
    ],
)
def test_wrong_words(cmd: Command, words: str, guess: str | None) -> None:
    result = cmd(*words.split())
    assert result.code == BAD_INPUT
    *_, last = result.err.splitlines()
    assert last.endswith(f"; did you mean {guess}?" if guess else "unrecognized arguments: --jkl")


def test_long_paths_are_shortened(cmd: Command) -> None:
    path = "/".join(["d" * 200] * 25) + "/model.onnx"
    error = cmd("run", path).err
    assert "model.onnx" in error
    assert len(error) < 500
    assert shortened("a word of " + "x" * 400) == "a word of " + "x" * 400


def test_long_lines_are_cut_around_the_place(
    cmd: Command, opt_cmd: Command, tmp_path: Path
) -> None:
    path = tmp_path / "long.mlir"
    many = ' "test.op"() : () -> () ' * 300
    path.write_text(f"{many}]{many}")
    for run in (lambda: opt_cmd(path), lambda: cmd("compile", path, "-o", tmp_path / "m.so")):
        lines = run().err.splitlines()
        assert max(map(len, lines)) < 500
        place = next(i for i, line in enumerate(lines) if line.strip().startswith("^"))
        column = lines[place].index("^")
        assert lines[place - 1][column] == "]"


def test_cut_lines_keep_the_place() -> None:
    line = "a" * 300 + "HERE" + "b" * 300
    whole, carets = f"file:1:301\n{line}\n{' ' * 300}^^^^\n{' ' * 300}why", None
    _, cut, carets, why = shortened(whole).split("\n")
    assert len(cut) == 160
    assert cut[carets.index("^") :].startswith("HERE")
    assert why.index("why") == carets.index("^")
    # What stands above, and a line below that does not begin beneath the carets, stay as they are.
    above = " " * 310 + "above"
    found = shortened(f"{above}\n{whole}\nnext").split("\n")
    assert (found[0], found[-1]) == (above, "next")


def test_replay_needs_a_fuzzer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"")
    with pytest.raises(SystemExit) as end:
        fuzz(["--replay", str(path)])
    assert end.value.code == BAD_INPUT
    assert (
        "lies in the folder of no fuzzer, --fuzzer says of which it is" in capsys.readouterr().err
    )


def test_short_names_of_options_come_first(cmd: Command) -> None:
    """In the help, and where one is missing."""
    assert "  -o FILE, --output FILE" in cmd("compile", "--help").out.splitlines()
    error = cmd("compile", "model.onnx").err
    assert "the following arguments are required: -o/--output" in error


@pytest.mark.parametrize(
    "command",
    [
        "tune -o tuning.json",
        "place --backend onnxruntime -o plan.json",
        "partition --backend numpy -o regions.mlir",
    ],
)
def test_programs_in_stages_are_neither_tuned_nor_placed_nor_cut_into_regions(
    cmd: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The message does not ask for shapes of inputs, which are known."""
    monkeypatch.chdir(tmp_path)
    Path("found.relay").write_text(
        "def @main(%x: Tensor[(4), float32]) -> Tensor[(?, 1), int32] { argwhere(greater(%x, 0f)) }"
    )
    cmd(*command.split(), "found.relay").refused(
        "sizes depend on data, which xrelay.compile", code=1
    )
    assert [each.name for each in tmp_path.iterdir()] == ["found.relay"]
