"""Relay text nests as deep as it likes: neither reading nor printing recurses in Python."""

import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

import xrelay
from xrelay.analysis.facts.program_size import expanded_size
from xrelay.compiler import context, parse_program
from xrelay.deep import MOST_CALLS, with_deep_stack, with_room
from xrelay.dialects.core.functional import LetOp
from xrelay.errors import CompileError
from xrelay.frontends.relay_text import RelayTextError, print_relay_text, read_relay_text
from xrelay.tools import cli, opt

DEPTH = 10_000
TENSOR = "Tensor[(2), float32]"


def main(body: str) -> str:
    return f"def @main(%x: {TENSOR}, %c: bool) {{\n{body}\n}}\n"


def nested(depth: int) -> dict[str, str]:
    """Bodies of functions in which something nests."""
    return {
        "lets": "".join(f"let %v{i} = exp(%{f'v{i - 1}' if i else 'x'});\n" for i in range(depth))
        + f"%v{depth - 1}",
        "calls": "exp(" * depth + "%x" + ")" * depth,
        "parentheses": "(" * depth + "%x" + ")" * depth,
        "branches": "if (%c) {" * depth + "%x" + "} else {exp(%x)}" * depth,
        "functions": f"fn (%y: {TENSOR}) {{" * depth + "exp(%y)" + "}(%x)" * depth,
        "lets as values": "let %a = " * depth + "%x" + "; %a" * depth,
        "braces": "{" * depth + "%x" + "}" * depth,
        "tuples": "(" * depth + "%x" + ",)" * depth + ".0" * depth,
        "conditions": "if (" * depth + "%c" + ") {%c} else {%c}" * depth,
        "untyped functions": "fn (%y) {" * depth + "%y" + "}(%x)" * depth,
        "curried functions": "fn () {" * depth + "%x" + "}" * depth,
        "curried calls": "fn () {" * depth + "%x" + "}" * depth + "()" * depth,
        "operators": "%x" + " + %x" * depth,
        "operators to the right": "%x + (" * depth + "%x" + ")" * depth,
        "comments": "/*" * depth + "*/" * depth + "%x",
    }


@pytest.mark.extensive
@pytest.mark.parametrize(
    "name", ["lets", "calls", "parentheses", "branches", "functions", "curried functions"]
)
def test_deep_nesting(name: str):
    print_relay_text(read_relay_text(main(nested(DEPTH)[name])))


@pytest.mark.parametrize("name", nested(1))
def test_nesting_prints_and_reads_again(name: str):
    """Deeper than Python's limit, which stays as it is."""
    limit = sys.getrecursionlimit()
    assert limit < 1100
    printed = print_relay_text(read_relay_text(main(nested(1100)[name])))
    assert print_relay_text(read_relay_text(printed)) == printed
    assert sys.getrecursionlimit() == limit


def test_matches_nest():
    text = f"type L {{ C({TENSOR}) }}\ndef @main(%l: L, %x: {TENSOR}) {{\n"
    text += "match (%l) { C(%y) => {" * 1500 + "%x" + "},}" * 1500 + "}\n"
    printed = print_relay_text(read_relay_text(text))
    assert printed.count("match (%l)") == 1500


def test_a_missing_end_is_found_below_everything():
    with pytest.raises(RelayTextError, match="found '}', expected ',' or '\\)'"):
        read_relay_text(main("(" * DEPTH + "%x"))


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("nn.pad(%x, 0f, pad_width=" + "[" * DEPTH + "]" * DEPTH + ")", "lists"),
        ("fn (A=" + "[" * DEPTH + "]" * DEPTH + ") { %x }", "lists"),
        ("match? (%x) { " + "(" * DEPTH + "%y" + ",)" * DEPTH + " => %y }", "patterns"),
    ],
)
def test_what_attributes_hold_nests_a_little(body: str, what: str):
    with pytest.raises(RelayTextError, match=f"{what} nest more than 64 deep"):
        read_relay_text(main(body))


def lets(module: ModuleOp) -> int:
    return sum(isinstance(op, LetOp) for op in module.walk())


def test_lets_stay_lets():
    assert lets(read_relay_text(main(nested(100)["lets"]))) == 100


def test_tuples_of_shared_tuples_verify():
    depth = 100  # A walk over all paths would not end.
    bindings = "".join(f"%{i + 1} = (%{i}, %{i});\n" for i in range(1, depth))
    module = read_relay_text(main(f"%1 = (%x, %x);\n{bindings}let %t = %{depth}; %t.0"))
    module.verify()


def tuples(folder: Path, depth: int) -> Path:
    """A file of a program that puts its input into tuples in tuples."""
    path = folder / "tuples.relay"
    path.write_text(main("(" * depth + "%x" + ",)" * depth))
    return path


@pytest.mark.slow
def test_tuples_in_tuples_have_code(tmp_path: Path):
    # Deeper than calls go in the caller's thread, which tries first.
    model = xrelay.compile(tuples(tmp_path, 1000), cache=False, target="x86-64")
    x = np.arange(2, dtype=np.float32)
    (result,) = model.run({"x": x, "c": np.array(True)}).values()
    np.testing.assert_array_equal(result, x)


def test_parameters_and_results_are_tuples_in_tuples(tmp_path: Path):
    depth = 500
    type_ = "(" * depth + TENSOR + ",)" * depth
    path = tmp_path / "signature.relay"
    path.write_text(f"def @main(%t: {type_}) {{ (exp(%t{'.0' * depth}), %t) }}")
    model = xrelay.compile(path, cache=False, target="x86-64")
    x = np.arange(2, dtype=np.float32)
    power, same = model.run({"t.0": x}).values()
    np.testing.assert_allclose(power, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(same, x)


def test_tuples_nest_too_deeply_for_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("xrelay.deep.MOST_CALLS", 8000)
    with pytest.raises(
        DiagnosticException, match="tuples in tuples, 1500 levels deep, the limit is 1000"
    ):
        xrelay.compile(tuples(tmp_path, 1500), cache=False)


@pytest.mark.slow
def test_tuples_nest_too_deeply_for_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """MLIR spells the type of each operand and result, with all types within it."""
    message = "the text of the program would spell {} types in tuples in tuples, the limit is {}"
    for options in ([], ["--print-between-passes", "-p", "infer-type", "-t", "relay-text"]):
        assert opt.main([str(tuples(tmp_path, 5000)), *options]) == 1
        assert message.format(5000 * 4999, 1 << 20) in capsys.readouterr().err
    monkeypatch.setattr("xrelay.analysis.facts.program_size.MOST_TYPE_PARTS", 10 * 9)
    output = str(tmp_path / "output.mlir")
    assert cli.main(["compile", str(tuples(tmp_path, 10)), "-o", output]) == 0
    assert cli.main(["compile", str(tuples(tmp_path, 11)), "-o", output]) == 2
    assert message.format(11 * 10, 10 * 9) in capsys.readouterr().err


@pytest.mark.slow
def test_branches_nest_deeply_in_the_compiler(tmp_path: Path):
    path = tmp_path / "branches.relay"
    path.write_text(main("if (%c) {" * 150 + "%x" + "} else { %x }" * 150))
    model = xrelay.compile(path, cache=False)
    x = np.array([1, -2], np.float32)
    for condition in (True, False):
        inputs = {
            spec.name: condition if spec.shape == () else x for spec in model.signature.inputs
        }
        (result,) = model.run(inputs).values()
        assert (result == x).all()


def mlir(depth: int, inside: str = "%x") -> str:
    """Conditionals in conditionals in MLIR's syntax, each with values of its own."""
    lines = ["func.func @main(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {"]
    for i in range(depth):
        lines.append(f"%e{i} = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>")
        lines.append(f"%r{i} = scf.if %c -> (tensor<2xf32>) {{")
    lines.append(f"scf.yield {inside} : tensor<2xf32>")
    for i in reversed(range(depth)):
        lines.append(f"}} else {{ scf.yield %e{i} : tensor<2xf32> }}")
        lines.append(f"{'scf.yield' if i else 'func.return'} %r{i} : tensor<2xf32>")
    return "\n".join([*lines, "}"])


def test_programs_nest_deeply_in_mlir_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, output = tmp_path / "deep.mlir", tmp_path / "output.mlir"
    path.write_text(mlir(100))
    assert opt.main([str(path), "-p", "infer-type", "-o", str(output)]) == 0
    assert output.read_text().count("scf.if") == 100
    assert cli.main(["compile", str(output), "-o", str(tmp_path / "model.so")]) == 1
    assert "'c' is i1, which is no tensor" in capsys.readouterr().err
    module = with_deep_stack(lambda: parse_program(path.read_bytes(), "deep", context()))
    with pytest.raises(DiagnosticException, match="'c' is i1, which is no tensor"):
        xrelay.compile(module)


def test_programs_that_nest_deeply_are_printed_by_xrelay_opt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Printing them takes more calls than there are, as reading them does."""
    path = tmp_path / "deep.mlir"
    path.write_text(mlir(300))
    assert opt.main([str(path), "-p", "infer-type"]) == 0
    printed = capsys.readouterr()
    assert (printed.out.count("scf.if"), printed.err) == (300, "")


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch):
    """Nothing may start a thread with a deep stack, or raise the limit of calls."""

    def refuse(*_: object) -> None:
        raise AssertionError("an ordinary program was given a deep stack")

    monkeypatch.setattr("xrelay.deep._run", refuse)
    monkeypatch.setattr("sys.setrecursionlimit", refuse)


@pytest.mark.usefixtures("no_threads")
def test_ordinary_programs_need_no_deep_stack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    x = np.arange(2, dtype=np.float32)
    path = tuples(tmp_path, 20)
    model = xrelay.compile(path, cache=False, target="x86-64")
    (result,) = model.run({"x": x, "c": np.array(True)}).values()
    np.testing.assert_array_equal(result, x)
    text = mlir(10)
    (tmp_path / "branches.mlir").write_text(text)
    module = parse_program(text.encode(), "text", context())
    for program in (module, tmp_path / "branches.mlir"):
        with pytest.raises(DiagnosticException, match="'c' is i1, which is no tensor"):
            xrelay.compile(program)
    assert opt.main([str(tmp_path / "branches.mlir"), "-p", "infer-type"]) == 0
    assert capsys.readouterr().out.count("scf.if") == 10


def test_a_program_is_begun_once_more_on_a_deep_stack():
    limit, limits = sys.getrecursionlimit(), list[int]()

    def levels(count: int) -> int:
        return 1 + levels(count - 1) if count else 0

    def work() -> int:
        limits.append(sys.getrecursionlimit())
        return levels(5 * limit)

    assert with_room(work) == 5 * limit
    assert limits == [limit, MOST_CALLS]
    assert sys.getrecursionlimit() == limit


def test_calls_become_nesting():
    """Each function has the call of the next one in a branch; inlined they nest."""
    functions = [
        f"func.func @f{i}(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {{\n"
        "%r = scf.if %c -> (tensor<2xf32>) {\n"
        f"%y = func.call @f{i + 1}(%x, %c) : (tensor<2xf32>, i1) -> tensor<2xf32>\n"
        "scf.yield %y : tensor<2xf32>\n} else { scf.yield %x : tensor<2xf32> }\n"
        "func.return %r : tensor<2xf32>\n}"
        for i in range(100)
    ]
    text = "\n".join([*functions, mlir(1).replace("@main", "@f100")])
    size = expanded_size(parse_program(text.encode(), "text", context()))
    assert size.levels == 102


def test_text_that_nests_too_deeply_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("xrelay.deep.MOST_CALLS", 2000)
    path = tmp_path / "deep.mlir"
    path.write_text(mlir(500))
    message = "the program nests too deeply: xDSL needs more than 2000 calls"
    assert opt.main([str(path)]) == 1
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "model.so")]) == 1
    assert capsys.readouterr().err.count(message) == 2
    with pytest.raises(CompileError, match=message):
        xrelay.compile(path)


def test_values_end_with_their_region():
    program = parse_program(mlir(3).replace("%e2", "%e").encode(), "text", context())
    assert sum(op.name == "relay.exp" for op in program.walk()) == 3
    # %e1 is a value of the outermost branch.
    text = mlir(3).replace("func.return %r0", "func.return %e1")
    with pytest.raises(ParseError, match="values used but not defined: \\[%e1\\]"):
        parse_program(text.encode(), "text", context())


def test_threads_share_the_limit_of_calls():
    entered, leave = Event(), Event()
    limit = sys.getrecursionlimit()

    def wait() -> None:
        entered.set()
        leave.wait()

    other = Thread(target=with_deep_stack, args=(wait,))
    other.start()
    entered.wait()
    try:
        assert with_deep_stack(sys.getrecursionlimit) > limit
        assert sys.getrecursionlimit() > limit
    finally:
        leave.set()
        other.join()
    assert sys.getrecursionlimit() == limit
