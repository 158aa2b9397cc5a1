"""Records of TVM's passes, of which `make conformance` checks more."""

import sys
from pathlib import Path

import pytest

CONFORMANCE = Path(__file__).parents[1] / "conformance"
sys.path.insert(0, str(CONFORMANCE))
import golden
from isomorphism import difference

from xrelay.frontends.relay_text import read_relay_text

LINES = list(golden.records(CONFORMANCE / "data" / "golden.jsonl.xz"))


def test_records_print_and_read_again():
    check = golden.Check(roundtrip=True, only=frozenset())
    outcomes = check.outcomes(LINES[::6])
    assert len(outcomes) > 80
    assert [(o.name, o.source, o.problem) for o in outcomes if o.problem] == []


def test_passes_agree_with_records():
    check = golden.Check(roundtrip=False, only=frozenset())
    outcomes = [o for o in check.outcomes(LINES[::3]) if not o.missing]
    assert len({o.name for o in outcomes}) > 10
    assert [(o.name, o.source, o.problem) for o in outcomes if o.problem] == []


def test_checker_notices_another_depth():
    (line, *_) = [
        line for line in LINES if '"pass": "FuseOps"' in line and '"max_depth": 3' in line
    ]
    check = golden.Check(roundtrip=False, only=frozenset())
    assert check.outcomes([line])[0].problem is None
    changed = check.outcomes([line.replace('"max_depth": 3', '"max_depth": 256')])
    assert changed[0].problem is not None


ONE = "def @main(%x: float32) { let %y = exp(%x); %0 = exp(%y); (%0, %0) }"


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ("def @main(%a: float32) { let %b = exp(%a); %7 = exp(%b); (%7, %7) }", None),
        ("def @main(%x: float32) { let %y = exp(%x); (exp(%y), exp(%y)) }", "used by others"),
        ("def @main(%x: float32) { %0 = exp(exp(%x)); (%0, %0) }", "order of effects"),
        ("def @main(%x: float64) { let %y = exp(%x); %0 = exp(%y); (%0, %0) }", "type of %x"),
        ("def @main(%x: float32) { let %y = exp(%x); %0 = log(%y); (%0, %0) }", "relay.log"),
        ("def @f(%x: float32) { let %y = exp(%x); %0 = exp(%y); (%0, %0) }", "main"),
        ("def @main(%x: float32, A=1) { let %y = exp(%x); %0 = exp(%y); (%0, %0) }", "attributes"),
    ],
)
def test_isomorphism(other: str, problem: str | None):
    found = difference(read_relay_text(ONE), read_relay_text(other))
    assert (found is None) == (problem is None)
    assert problem is None or problem in (found or "")


def test_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    fused = next(line for line in LINES if '"pass": "FuseOps"' in line)
    absent = next(line for line in LINES if '"pass": "PartialEvaluate"' in line)
    path = tmp_path / "records.jsonl"
    path.write_text(fused + absent)

    def run(*arguments: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["golden.py", str(path), *arguments])
        return golden.main(), capsys.readouterr().out.splitlines()

    assert run() == (
        0,
        ["FuseOps: 1 of 1 agree", "PartialEvaluate: no such pass yet (1 records)", "1 of 1 agree"],
    )
    assert run("--pass", "PartialEvaluate")[0] == 1
    assert run("--pass", "FuseOps") == (0, ["FuseOps: 1 of 1 agree", "1 of 1 agree"])
    assert run("--roundtrip")[1][-1] == "2 of 2 agree"
