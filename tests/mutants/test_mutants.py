"""What the mutants are, that those which a test notices are caught, and that the tree stays as it is."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import Any

import pytest

from tests.mutants import __main__ as command
from tests.mutants import served, worker
from tests.mutants.blocks import block_at, blocks, noting_code
from tests.mutants.coverage import Coverage, Test, batches, digest, files_of_tests
from tests.mutants.engine import Engine, Pool, Verdict, record
from tests.mutants.mutant import Equivalent, draw, equivalents, find, mutants
from tests.mutants.project import Project
from tests.mutants.report import Report
from tests.mutants.selection import Selector, staged, stem_of
from tests.mutants.source import Source

ROOT = Path(__file__).parents[2]


def source_of(text: str) -> Source:
    return Source("toy/file.py", dedent(text).encode())


def changes(text: str) -> list[str]:
    """All changes of a text: what is done, and the text afterwards."""
    found = [mutant for place in mutants(source_of(text)) for mutant in place]
    return sorted(f"{each.edit.operator}: {each.data.decode().strip()}" for each in found)


CHANGES = {
    "a <= b": ["compare: a < b"],
    "(a) == (b)": ["compare: (a) != (b)"],
    "a is not None": ["compare: a is None"],
    "a not in b": ["compare: a in b"],
    "a < b < c": ["compare: a < b <= c", "compare: a <= b < c"],
    "f(7)": ["drop-call: pass", "int+1: f(8)", "int-1: f(6)"],
    "x = -2": ["int+1: x = -1", "int-1: x = -3"],
    "x = y[0]": ["int+1: x = y[1]", "int-1: x = y[-1]", "other-end: x = y[-1]"],
    "x = y.results[0]": ["int+1: x = y.results[1]"],
    "x = f(axis=-1)": [
        "int+1: x = f(axis=0)",
        "int-1: x = f(axis=-2)",
        "other-end: x = f(axis=0)",
    ],
    "x = True": ["bool: x = False"],
    "a and (b or c)": [
        "and-or: a or (b or c)",
        "drop-and: (b or c)",
        "drop-and: a",
        "drop-or: a and (b)",
        "drop-or: a and (c)",
        "or-and: a and (b and c)",
    ],
    "x = not (a)": ["drop-not: x = (a)"],
    "x = a if f(b) else c": ["negate: x = a if not (f(b)) else c"],
    "x = [a for a in b if (a)]": [
        "drop-if: x = [a for a in b if (True)]",
        "negate: x = [a for a in b if (not (a))]",
    ],
    "while a < b: break": ["compare: while a <= b: break"],
    "def f(a):\n if a: return": [
        "drop-return: def f(a):\n if a: pass",
        "negate: def f(a):\n if not (a): return",
    ],
    "def f(a):\n return a": [],
    "def f(a):\n if a: raise g(1, 'é' + 2)": [
        "drop-raise: def f(a):\n if a: pass",
        "negate: def f(a):\n if not (a): raise g(1, 'é' + 2)",
    ],
    "for a in b:\n if a: continue": [
        "continue-break: for a in b:\n if a: break",
        "drop-continue: for a in b:\n if a: pass",
        "negate: for a in b:\n if not (a): continue",
    ],
    "x = np.minimum(a, b[k])": ["other-name: x = np.maximum(a, b[k])"],
    "x = max(a, b)": ["other-name: x = min(a, b)"],
    "x = f(a, (b), c.d)": ["swap-arguments: x = f(b, (a), c.d)"],
    "x = v.add(a, b)": [],
    "x = add(v, a)": [],
    "x = add(v, 1, b, c)": [
        "int+1: x = add(v, 2, b, c)",
        "int-1: x = add(v, 0, b, c)",
        "swap-arguments: x = add(v, 1, c, b)",
    ],
    "x = range(a, b)": ["range-1: x = range(a, b - 1)", "swap-arguments: x = range(b, a)"],
    "x = (a + b) // c": [
        "arithmetic: x = (a + b) * c",
        "arithmetic: x = (a - b) // c",
        "swap-operands: x = c // (a + b)",
    ],
    "x = [a] + b": ["swap-operands: x = b + [a]"],
    "x = isinstance(a, B | C)": [
        "drop-or: x = isinstance(a, B)",
        "drop-or: x = isinstance(a, C)",
    ],
    "x -= y": ["arithmetic: x += y"],
    "x = y[a:]": ["bound+1: x = y[a + 1:]", "drop-bound: x = y[:]"],
    "RULES = (a, b, c)": [
        "drop-element: RULES = (a, b)",
        "drop-element: RULES = (a, c)",
        "drop-element: RULES = (b, c)",
    ],
    "RULES = {a: b, c: d}": ["drop-element: RULES = {a: b}", "drop-element: RULES = {c: d}"],
    "def f():\n x = a, b": [],
    "match x:\n case A() | B(): y": [
        "drop-element: match x:\n case A(): y",
        "drop-element: match x:\n case B(): y",
    ],
}
"""All changes of each text."""


@pytest.mark.parametrize("text", CHANGES)
def test_changes(text: str) -> None:
    assert changes(text) == CHANGES[text]


def test_what_means_nothing_stays() -> None:
    text = '''
    """Not 1 < 2."""
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        x = 1
    Pair = tuple[int, str] | None
    __all__ = ["a", "b"]

    @decorated(1, True)
    class A(B[1, 2]):
        """Nor 1 < 2."""
        number: Literal[1, 2]

        def __repr__(self):
            return 1 + 2

    def f(a: "1 < 2", *, b: Literal[1, 2]) -> Literal[1, 2]:
        assert a < 1, 2
        warn(1, 2)
        g = ValueError(f"{a + 1}")
        x = zip(a, strict=True)
        raise ValueError(1 + 2)
    '''
    without = dedent(text).replace("warn(1, 2)", "pass").strip()
    assert changes(text) == [f"drop-call: {without}"]


def test_a_mutant_is_found_by_its_identity(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 'é' if b < c else\\\n d\n")
    mutant = find(tmp_path, "a.py:1:14:compare")
    assert mutant.data.decode() == "x = 'é' if b <= c else\\\n d\n"
    assert mutant.lines == ("x = 'é' if b < c else\\", "x = 'é' if b <= c else\\")
    assert "-x = 'é' if b < c else\\\n+x = 'é' if b <= c else\\" in mutant.diff
    for wrong in ("a.py:1:13:compare", "b.py:1:1:compare"):
        with pytest.raises(LookupError, match=wrong):
            find(tmp_path, wrong)


def test_a_sample_depends_on_its_seed_only() -> None:
    sources = [source_of("\n".join(f"x = y[{n}] < {n}" for n in range(50))) for _ in "12"]
    drawn = draw(sources, 10, 3)
    names = [(sources.index(each.source), each.identity) for each in drawn]
    again = draw(sources, 10, 3)
    assert names == [(sources.index(each.source), each.identity) for each in again]
    assert names != [(sources.index(each.source), each.identity) for each in draw(sources, 10, 4)]
    assert [number for number, _ in names] == [0] * 5 + [1] * 5, "each place has the same chance"
    code = (
        "from tests.mutants.mutant import Source, draw\n"
        "source = Source('toy.py', b'x = {a, b, c}; y = f(a, b) and (d < e)')\n"
        "print([each.identity for each in draw([source], 4, 1)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1


def test_a_sample_has_other_programs_only() -> None:
    """Neither what is no Python nor what is the same, and nothing twice."""
    drawn = draw([source_of("x = f(a)[: b]\nf(*a, 1)")], 100, 0)
    assert {each.identity.split(":", 1)[1] for each in drawn} <= {
        "1:12:drop-bound",
        "1:12:bound+1",
        "2:1:drop-call",
        "2:7:int+1",
        "2:7:int-1",
    }
    assert len({each.identity for each in drawn}) == len(drawn) == 3


# -- what runs ----------------------------------------------------------------------------------

BRANCHES = """
def f(a):
    "Says what it does."
    if a:
        return 1
    g = lambda: a + 2
    for _ in range(3):
        g()
    return 3
class A:
    def f(self): pass
def told():
    "Does nothing."
x = 4
"""


def short(name: str) -> str:
    """The name of a block without file and digest."""
    _, function, _, number = name.split(":")
    return f"{function}:{number}"


def test_code_notes_which_blocks_run() -> None:
    source = source_of(BRANCHES)
    numbers: dict[str, int] = {}
    code = noting_code(source, lambda name: numbers.setdefault(name, len(numbers)), "toy")
    assert list(numbers) == [block.name for block in blocks(source)]
    names: dict[str, Any] = {served.TABLE: bytearray(len(numbers))}
    FunctionType(code, names)()

    def ran(function: Callable[..., object], *arguments: object) -> set[str]:
        table = names[served.TABLE] = bytearray(len(numbers))
        function(*arguments)
        return {short(name) for name, number in numbers.items() if table[number]}

    assert ran(names["f"], 1) == {"f:0", "f:1"}
    assert ran(names["f"], 0) == {"f:0", "f:2", "f.<lambda>:0", "f:3"}
    assert ran(names["A"]().f) == {"A.f:0"}
    assert not ran(names["told"])
    assert [names[each].__doc__ for each in ("f", "told")] == [
        "Says what it does.",
        "Does nothing.",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("if a", "f:0"),
        ("1", "f:1"),
        ("lambda", "f:2"),
        ("a + 2", "f.<lambda>:0"),
        ("range", "f:2"),
        ("g()", "f:3"),
        ("return 3", "f:2"),
        ("pass", "A.f:0"),
        ("4", None),
    ],
)
def test_the_block_of_a_place(text: str, name: str | None) -> None:
    found = block_at(blocks(source_of(BRANCHES)), BRANCHES.index(text))
    assert name == (found and short(found.name))


def test_a_block_has_its_name_as_long_as_the_function_is_the_same() -> None:
    names = [block.name for block in blocks(source_of(BRANCHES))]
    assert [block.name for block in blocks(source_of(f"y = 1\n{BRANCHES}"))] == names
    others = [block.name for block in blocks(source_of(BRANCHES.replace("return 3", "return 4")))]
    assert [short(name) for name in others] == [short(name) for name in names]
    assert {short(name) for name in set(others) & set(names)} == {"f.<lambda>:0", "A.f:0"}


USED = {
    "tests/unit/test_a.py": "from helper import (\n    one,\n)\nfrom tests.fuzz import runs\n",
    "tests/support/helper.py": 'import further\nDATA = Path(__file__).parents[1] / "records" / "data"\n',
    "tests/support/further.py": 'import_module("late")\n',
    "tests/support/late.py": "",
    "tests/fuzz/__init__.py": "",
    "tests/fuzz/runs.py": "",
    "tests/records/data/all.txt": "",
    "tests/unit/data/own.txt": "",
    "tests/conftest.py": "",
}
"""Files that a test uses."""
UNUSED = (
    "tests/records/other.py",
    "tests/support/nobody.py",
    "tests/unit/test_b.py",
    "tests/b.txt",
)


def test_a_digest_stands_for_all_that_a_test_uses(tmp_path: Path) -> None:
    for name in (*USED, *UNUSED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(USED.get(name, ""))
    seen = [digest(tmp_path, "tests/unit/test_a.py")]
    for name, text in USED.items():
        (tmp_path / name).write_text(f"{text}# changed")
        seen.append(digest(tmp_path, "tests/unit/test_a.py"))
    assert len(set(seen)) == len(USED) + 1
    for name in UNUSED:
        (tmp_path / name).write_text("changed")
        assert digest(tmp_path, "tests/unit/test_a.py") == seen[-1], name


def test_only_whole_names_are_silent() -> None:
    assert changes("x = field(1)") == changes("raise ReaderError(1)") == []
    assert changes("x = second_field(1)") == [
        "int+1: x = second_field(2)",
        "int-1: x = second_field(0)",
    ]


# -- a tree of its own --------------------------------------------------------------------------

FILES = {
    "pyproject.toml": """
        [tool.setuptools.package-dir]
        "toy" = "toy"
        [tool.pytest.ini_options]
        addopts = ["--import-mode=importlib"]
        pythonpath = ["."]
        """,
    "toy/__init__.py": "",
    "toy/sums.py": """
        import os
        LIMIT = 3
        def total(numbers):
            result = 0
            for number in numbers:
                result += number
            return result
        def in_a_process(a, b): return a - b
        def nobody(a): "Adds one."; return a + 1
        def poorly(a):
            if a > 5: return 5
            return a
        def down(a):
            while a > 0: a -= 1
            return a
        def abort(a):
            if a < 8: return
            os.abort()
        def at_random(a): return a * 2
        """,
    "toy/later.py": """
        def made(): return 4
        FOUR = made()
        """,
    "checks/test_sums.py": """
        import os, subprocess, sys
        import pytest
        from toy import sums
        seen = []
        @pytest.fixture(scope="module")
        def shared(): return sums.total([1, 2])
        def test_first(shared): seen.append(1)
        def test_total(shared): assert shared == 3
        def test_limit(): assert sums.LIMIT == 3
        def test_process():
            code = "from toy.sums import *; print(in_a_process(3, 2))"
            assert subprocess.check_output([sys.executable, "-c", code]) == b"1\\n"
        def test_poorly(): assert (sums.poorly(1), sums.poorly(9)) == (1, 5)
        def test_temporary(tmp_path):
            folder = os.environ["XDG_CACHE_HOME"]
            assert str(tmp_path).startswith(folder) and os.path.basename(folder) == "tmp"
            assert sums.nobody is not None
        def test_addresses_are_no_memory():
            import mmap
            size = 16 * 2**30
            mmap.mmap(-1, size, mmap.MAP_PRIVATE, mmap.PROT_READ).close()
            with pytest.raises(OSError): mmap.mmap(-1, size, mmap.MAP_PRIVATE)
            assert sums.nobody.__doc__ == "Adds one."
        def test_later():
            assert sums.total([]) == 0
            from toy import later
            assert later.FOUR == 4
        def test_down(): assert sums.down(2) == 0
        def test_abort(): sums.abort(7)
        def test_needs_the_first(): assert seen and sums.at_random(2)
        def test_broken(): assert sums.total([]) == 7
        """,
}

VERDICTS = {
    "toy/later.py:1:20:int+1": ("failed", "test_later"),
    "toy/sums.py:2:9:int+1": ("failed", "test_limit"),
    "toy/sums.py:6:16:arithmetic": ("failed", "test_total"),
    "toy/sums.py:8:34:arithmetic": ("failed", "test_process"),
    "toy/sums.py:9:38:arithmetic": ("survived", ""),
    "toy/sums.py:11:10:compare": ("survived", ""),
    "toy/sums.py:14:20:arithmetic": ("timeout", "test_down"),
    "toy/sums.py:17:10:compare": ("equivalent", ""),
    "toy/sums.py:17:15:drop-return": ("crashed", "test_abort"),
    "toy/sums.py:19:30:int+1": ("survived", ""),
}
"""What becomes of the mutants of the tree, and the test that catches each."""


@dataclass
class Toy:
    """The tree, and what its tests run."""

    project: Project
    coverage: Coverage


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    root = tmp_path_factory.mktemp("toy")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(dedent(text).lstrip())
    coverage = Coverage(root / "build" / "coverage.sqlite")
    yield Toy(Project(root), coverage)
    coverage.close()


def files_of(toy: Toy) -> list[str]:
    return files_of_tests(toy.project.root, ["checks"])


def recorded(toy: Toy) -> list[str]:
    """Notes what the tests run, and gives the files for which that was done."""
    done: list[str] = []
    stale = toy.coverage.stale(toy.project.root, files_of(toy))
    with Pool(1) as pool:
        record(toy.project, toy.coverage, stale, pool, done.extend)
    return done


@pytest.fixture(scope="module")
def noted(toy: Toy) -> list[str]:
    """The files whose tests are noted first."""
    return recorded(toy)


def test_verdicts(toy: Toy, noted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SPARE", 1.0)
    root = toy.project.root
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    assert noted == ["checks/test_sums.py"]
    assert recorded(toy) == [], "what has not changed is noted once"
    known = toy.coverage.known(files_of(toy))
    assert known.broken == ["checks/test_sums.py::test_broken"]
    imported = {name.rpartition(":")[0] for name in known.numbers if known.is_imported(name)}
    assert {name.rpartition(":")[0] for name in imported} == {"toy/later.py:made"}

    report = Report()
    listed = Equivalent("toy/sums.py", " if a < 8: return", "if a <= 8: return", "8 is not used")
    drawn = [find(root, identity) for identity in VERDICTS]
    selector = Selector(root, known, toy.project.sources, toy.project.modules)
    with Pool(2) as pool:
        engine = Engine(toy.project, selector, [listed], report.add)
        engine.run(drawn, pool, lambda: None)
    ends = {
        each.mutant.identity: (each.ending.kind, each.test.partition("::")[2])
        for each in report.verdicts
    }
    assert ends == VERDICTS
    assert engine.unreliable == {"checks/test_sums.py::test_needs_the_first"}
    assert {path: path.read_bytes() for path in root.rglob("*.py")} == before

    assert "toy/sums.py:9:38:arithmetic: survived, no test runs it\n--- " in report.survivors()
    assert "toy/sums.py:11:10:compare: survived, 1 tests run it\n--- " in report.survivors()
    assert "-    if a > 5: return 5\n+    if a >= 5: return 5" in report.survivors()
    cells = [list(column.cells) for column in report.table().columns]
    numbers = ["10", "6", "1", "0", "3", "0", "1"]
    assert [column[0] for column in cells] == ["toy", *numbers, "67 %"]
    report.write(root / "build" / "report.json", {})


@pytest.mark.usefixtures("noted")
def test_what_has_no_time_is_not_caught(toy: Toy) -> None:
    verdicts: list[Verdict] = []
    known = toy.coverage.known(files_of(toy))
    selector = Selector(toy.project.root, known, toy.project.sources, toy.project.modules)
    with Pool(1) as pool:
        engine = Engine(toy.project, selector, [], verdicts.append, budget=0.0)
        drawn = [find(toy.project.root, "toy/sums.py:6:16:arithmetic")]
        engine.run(drawn, pool, lambda: None)
    assert [(each.ending.kind, each.is_caught) for each in verdicts] == [("budget", False)]


@pytest.mark.usefixtures("noted")
def test_likely_and_cheap_tests_are_first(toy: Toy) -> None:
    known = toy.coverage.known(files_of(toy))
    selector = Selector(toy.project.root, known, toy.project.sources, toy.project.modules)
    (total,) = selector.stages(find(toy.project.root, "toy/sums.py:6:16:arithmetic"))
    assert {name.partition("::")[2] for name in total} == {"test_first", "test_total"}
    (limit,) = selector.stages(find(toy.project.root, "toy/sums.py:2:9:int+1"))
    assert len(limit) == len(known.tests), "what is computed on import can be seen anywhere"


def test_files_are_about_what_their_names_say() -> None:
    tests = ("tests/unit/runtime/test_elf.py", "tests/filecheck/transforms/sink-reshape.mlir")
    assert [*map(stem_of, tests)] == ["elf", "sink_reshape"]
    assert stem_of("transforms/sink_reshape.py") == "sink_reshape"


@pytest.mark.usefixtures("noted")
def test_tests_of_functions_that_have_changed(toy: Toy) -> None:
    known = toy.coverage.known(files_of(toy))
    text = toy.project.sources[-1].data.decode()

    def running(changed: str) -> set[str]:
        (mutant,) = (
            mutant
            for place in mutants(Source("toy/sums.py", changed.encode()))
            for mutant in place
            if mutant.edit.operator == "arithmetic" and "+ 7" in mutant.lines[0]
        )
        selector = Selector(toy.project.root, known, toy.project.sources, toy.project.modules)
        return {test.name.partition("::")[2] for test in selector.ordered(mutant)}

    assert running(text.replace("return result", "return result + 7")) == {
        "test_first",
        "test_total",
        "test_later",
    }
    assert len(running(f"{text}\ndef new(a): return a + 7\n")) == len(known.tests) - 3


# -- lists of tests and of mutants ------------------------------------------------------------------


def test_what_files_hold_tests() -> None:
    files = files_of_tests(ROOT, ["tests"])
    is_collected = (ROOT / "tests/filecheck/conftest.py").is_file()
    assert ("tests/filecheck/transforms/fuse-ops.mlir" in files) == is_collected
    assert "tests/unit/analysis/test_dominance.py" in files
    assert not [file for file in files if "/inputs/" in file or file.startswith("tests/mutants/")]
    assert "tests/unit/data/view.mlir" not in files
    together = list(batches(files))
    assert sorted(file for batch in together for file in batch) == files
    assert all(len(batch) == 1 for batch in together if batch[0].endswith(".py"))
    with pytest.raises(LookupError, match="no 'tests/nothing'"):
        files_of_tests(ROOT, ["tests/nothing"])


def test_groups_of_tests_grow() -> None:
    known = [
        Test(f"{number % 2}.py::{number}", f"{number % 2}.py", 1.0, b"") for number in range(40)
    ]
    groups = staged(known)
    assert [len(group) for group in groups] == [3, 15, 22]
    assert list(groups[0]) == ["0.py::0", "0.py::2", "1.py::1"]


def test_equivalents_are_mutants_of_the_tree() -> None:
    listed = equivalents(command.EQUIVALENTS)
    for file in {each.file for each in listed}:
        found = [mutant for place in mutants(Source.read(ROOT, file)) for mutant in place]
        for each in listed:
            assert each.reason
            if each.file == file:
                assert any(each.is_of(mutant) for mutant in found), f"{file}: {each.original}"


def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    assert command.main(["--list", "--count", "3", "--paths", "analysis/facts/dominance.py"]) == 0
    shown = capsys.readouterr().out
    assert (
        shown.count("\n--- analysis/facts/dominance.py\n+++ analysis/facts/dominance.py\n@@ ") == 3
    )
    assert command.main(["--list", "--paths", "tests"]) == 2
    assert "'tests' has no files of " in capsys.readouterr().err
