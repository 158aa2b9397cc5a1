"""Relay text nests as deep as it likes: neither reading nor printing recurses in Python."""

import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.deep import with_deep_stack
from xrelay.dialects.functional import LetOp
from xrelay.frontends.relay_text import RelayTextError, print_relay_text, read_relay_text

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


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["lets", "calls", "parentheses", "branches", "functions", "curried functions"]
)
def test_deep_nesting(name: str):
    limit = sys.getrecursionlimit()
    print_relay_text(read_relay_text(main(nested(DEPTH)[name])))
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("name", nested(1))
def test_nesting_prints_and_reads_again(name: str):
    printed = print_relay_text(read_relay_text(main(nested(1500)[name])))
    assert print_relay_text(read_relay_text(printed)) == printed


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


def test_tuples_in_tuples_have_code(tmp_path: Path):
    # Deeper than calls go in the caller's thread.
    model = xrelay.compile(tuples(tmp_path, 140), cache=False, target="x86-64")
    x = np.arange(2, dtype=np.float32)
    (result,) = model.run({"x": x, "c": np.array(True)}).values()
    np.testing.assert_array_equal(result, x)


def test_tuples_nest_too_deeply_for_code(tmp_path: Path):
    with pytest.raises(DiagnosticException, match="has tuples in tuples, more than 256 levels"):
        xrelay.compile(tuples(tmp_path, 300), cache=False)


@pytest.mark.slow
def test_branches_nest_deeply_in_the_compiler(tmp_path: Path):
    path = tmp_path / "branches.relay"
    path.write_text(main("if (%c) {" * 1100 + "%x" + "} else { %x }" * 1100))
    with pytest.raises(DiagnosticException, match="the code generator takes no control flow"):
        xrelay.compile(path, cache=False)


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
