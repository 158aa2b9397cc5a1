"""Records of TVM's passes, of which `make conformance` checks more."""

import json
import lzma
import re
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
        line for line in LINES if '"pass": "FuseOps"' in line.text and '"max_depth": 3' in line.text
    ]
    check = golden.Check(roundtrip=False, only=frozenset())
    assert check.outcomes([line])[0].problem is None
    other = line.text.replace('"max_depth": 3', '"max_depth": 256')
    changed = check.outcomes([line._replace(text=other)])
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
    texts = [line.text for line in LINES]
    fused = next(text for text in texts if '"pass": "FuseOps"' in text)
    absent = next(text for text in texts if '"pass": "PartialEvaluate"' in text)
    path = tmp_path / "records.jsonl"
    path.write_text(f"\n{fused}  \n{absent}\n")

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
    path.write_text(absent)
    monkeypatch.setattr(sys, "argv", ["golden.py", str(path)])
    assert golden.main() == 1
    assert "'PartialEvaluate'" in capsys.readouterr().err


RECORD = {"pass": "InferType", "source": "random:1", "options": {}, "before": ONE, "after": ONE}


def without(key: str) -> bytes:
    return json.dumps({name: value for name, value in RECORD.items() if name != key}).encode()


def changed(**fields: object) -> bytes:
    return json.dumps(RECORD | fields).encode()


GOOD = changed() + b"\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.xz", lzma.compress(GOOD * 3)[:-30], "a.jsonl.xz:4: cannot decompress: "),
        ("a.jsonl.xz", lzma.compress(GOOD)[:20], r"a\.jsonl\.xz:1: cannot decompress: "),
        ("a.jsonl.xz", GOOD, "a.jsonl.xz:1: cannot decompress: "),
        ("a.jsonl.xz", b"", "a.jsonl.xz:1: cannot decompress: "),
        ("a.jsonl", b"", "a.jsonl: there are no records in it"),
        ("a.jsonl", b"\n \n", "a.jsonl: there are no records in it"),
        ("a.jsonl", GOOD + b"\n" + bytes(range(128, 200)), "a.jsonl:3: not text in UTF-8"),
        ("a.jsonl", GOOD + GOOD[:30], "a.jsonl:2: not JSON: "),
        ("a.jsonl", GOOD + b"[" * 100_000, "a.jsonl:2: not JSON: "),
        ("a.jsonl", b"[1]", "a.jsonl:1: a record is a list, expected an object"),
        ("a.jsonl", b"7", "a.jsonl:1: a record is a number, expected an object"),
        ("a.jsonl", without("pass"), "a.jsonl:1: the record has no 'pass'"),
        ("a.jsonl", without("source"), "a.jsonl:1: the record has no 'source'"),
        ("a.jsonl", without("before"), "a.jsonl:1: the record has no 'before'"),
        ("a.jsonl", changed(**{"pass": ["A"]}), "'pass' is a list, expected a string"),
        ("a.jsonl", changed(**{"pass": "FuseOps"}), "'options' of FuseOps has no 'fuse_opt_level'"),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damaged_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    message: str,
    jobs: str,
):
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["golden.py", name, "--jobs", jobs])
    assert golden.main() == 2
    found = capsys.readouterr()
    assert (found.out, found.err.count("\n")) == ("", 1)
    assert found.err.startswith(name)
    assert re.search(message, found.err)


def test_a_flipped_byte_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    packed = bytearray(lzma.compress(GOOD * 9))
    packed[len(packed) // 2] ^= 0x55
    (tmp_path / "a.jsonl.xz").write_bytes(packed)
    monkeypatch.setattr(sys, "argv", ["golden.py", str(tmp_path / "a.jsonl.xz")])
    assert golden.main() == 2
    assert "a.jsonl.xz:1: cannot decompress: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonl", "--pass", "bogus"], "there are no records of 'bogus' in the files"),
        (["a.jsonl", "--jobs", "0"], "--jobs is 0, expected at least 1"),
        (["a.jsonl", "--jobs", "-1"], "--jobs is -1, expected at least 1"),
        (["."], "'.' is a directory"),
        (["absent.jsonl"], "there is no file 'absent.jsonl'"),
    ],
)
def test_wrong_arguments(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
):
    (tmp_path / "a.jsonl").write_bytes(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["golden.py", *arguments])
    try:
        code = golden.main()
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert message in capsys.readouterr().err
