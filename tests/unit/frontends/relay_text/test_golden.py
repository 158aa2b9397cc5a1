"""The checker of TVM's records, and the comparison of modules that it uses."""

import json
import lzma
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import recorded_passes
from isomorphism import difference
from recorded_passes import Family
from records import DATA, families, records

from tests.conformance import golden
from xrelay.frontends.relay_text import read_relay_text

FUSED = DATA / "FuseOps.tests.jsonl.xz"


def lines(path: Path, count: int) -> str:
    """The first lines of a file of records."""
    with lzma.open(path, "rt") as file:
        return "".join(file.readline() for _ in range(count))


def test_checker_notices_another_depth():
    found = next(record for record in records(FUSED) if record.options["max_depth"] == 10)
    assert Family([found]).pass_difference(found) is None
    changed = replace(found, options=found.options | {"max_depth": 256})
    assert Family([changed]).pass_difference(changed) is not None


def test_families_share_texts():
    one, two, three, *_ = records(FUSED)
    apart = replace(three, before="a", after="b")
    joined = replace(three, before=one.before, after=two.after)
    assert families([one, two, apart]) == [[one], [two], [apart]]
    assert [len(family) for family in families([one, two, apart, joined])] == [3, 1]


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


def run(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str]]:
    """The exit code of the checker and what it printed."""
    monkeypatch.setattr(sys, "argv", ["golden.py", str(path), *arguments])
    return golden.main(), capsys.readouterr().out.splitlines()


def test_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    fused, absent = lines(FUSED, 1), changed(**{"pass": "Absent"}).decode()
    path = tmp_path / "records.jsonl"
    path.write_text(f"\n{fused.rstrip()}  \n{absent}\n")
    assert run(path, monkeypatch, capsys) == (
        1,
        ["FuseOps: 1 of 1 agree", "Absent: no such pass yet (1 records)", "1 of 1 agree"],
    )
    assert run(path, monkeypatch, capsys, "--known")[0] == 1
    assert run(path, monkeypatch, capsys, "--pass", "Absent")[0] == 1
    assert run(path, monkeypatch, capsys, "--pass", "FuseOps") == (
        0,
        ["FuseOps: 1 of 1 agree", "1 of 1 agree"],
    )
    assert run(path, monkeypatch, capsys, "--roundtrip")[1][-1] == "2 of 2 agree"
    path.write_text(absent)
    monkeypatch.setattr(sys, "argv", ["golden.py", str(path)])
    assert golden.main() == 1
    assert "'Absent'" in capsys.readouterr().err


def test_known_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    known, path = tmp_path / "known.txt", tmp_path / "records.jsonl"
    known.write_text("# Why.\nother.jsonl:7 net:x\n")
    monkeypatch.setattr(recorded_passes, "KNOWN", known)
    monkeypatch.setattr(golden, "KNOWN", known)
    path.write_bytes(changed(**{"pass": "DefuseOps", "after": ONE.replace("exp", "log")}))
    assert run(path, monkeypatch, capsys, "--known")[0] == 1
    assert run(path, monkeypatch, capsys, "--known", "--update")[0] == 0
    assert known.read_text() == "# Why.\nother.jsonl:7 net:x\nrecords.jsonl:1 random:1\n"
    assert run(path, monkeypatch, capsys)[0] == 1
    code, printed = run(path, monkeypatch, capsys, "--known")
    assert (code, printed[1:]) == (0, ["DefuseOps: 0 of 1 agree", "0 of 1 agree"])
    path.write_bytes(changed(**{"pass": "DefuseOps"}))
    code, printed = run(path, monkeypatch, capsys, "--known")
    assert (code, printed[0]) == (
        1,
        "records.jsonl:1 random:1: agrees now, remove it from known.txt",
    )
    assert run(path, monkeypatch, capsys, "--known", "--update")[0] == 0
    assert known.read_text() == "# Why.\nother.jsonl:7 net:x\n"


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
        (["a.jsonl", "--update", "--roundtrip"], "--update needs the passes of all records"),
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
