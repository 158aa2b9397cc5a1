"""Which tests can notice a change, and in which order they are run."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.mutants.blocks import Block, block_at, blocks
from tests.mutants.coverage import Known, Test
from tests.mutants.mutant import Mutant
from tests.mutants.source import Source

FIRST_STAGE, GROWTH = 4.0, 4
"""The seconds of the first group of tests, and how much longer each further group is."""
OPENING = 0.5
"""The seconds that the first test of a file takes longer, as its file is imported."""
NAMED = 0.1
"""
How much more likely a test notices a change whose file speaks of what changes, again one that is named like it, and one
in the folder of tests for its folder.
"""
LEAST = 0.02
"""The seconds that any test takes at least."""


class Selector:
    """Finds the tests of changes."""

    def __init__(
        self, root: Path, known: Known, sources: Sequence[Source], modules: Mapping[str, str]
    ):
        self.root = root
        self.known = known
        self.sources = sources
        self.modules = modules
        """The name of the module of each file."""
        self._blocks: dict[str, list[Block]] = {}
        self._importers: dict[str, list[str]] | None = None
        self._texts: dict[str, str] = {}

    def stages(self, mutant: Mutant) -> list[dict[str, float]]:
        """The tests that can notice a change, likely and cheap ones first, in groups."""
        return staged(self.ordered(mutant))

    def ordered(self, mutant: Mutant) -> list[Test]:
        """The tests that can notice a change, likely and cheap ones first."""
        block = self.block(mutant)
        words = re.compile(
            "|".join(rf"(?<!\w){re.escape(each)}(?!\w)" for each in self.words(mutant))
        )
        files = {test.file for test in self.known.tests}
        speaking = {file for file in files if words.search(self.text(file))}
        named = np.array([test.file in speaking for test in self.known.tests], bool)
        stem = stem_of(mutant.source.path)
        alike = np.array([stem_of(test.file) == stem for test in self.known.tests], bool)
        folder = f"tests/unit/{mutant.folder}/"
        near = np.array([test.file.startswith(folder) for test in self.known.tests], bool)
        able = np.zeros(len(named), bool) if block is None else self.running(block)
        if block is None or self.known.is_imported(block.name):
            able |= self.known.runs_any(*self.around(mutant.source.path)) | named
        seconds = np.array([test.seconds for test in self.known.tests]) + LEAST
        cost = seconds * self.known.sizes
        for likely in (named, alike, near):
            cost = cost * np.where(likely, NAMED, 1)
        chosen = [int(number) for number in np.argsort(cost, kind="stable") if able[number]]
        return [self.known.tests[number] for number in chosen]

    def running(self, block: Block) -> npt.NDArray[np.bool_]:
        """
        Whether each test runs a block. Where the function has changed since that was noted, whether it ran the
        function as it was; where that is new, the file.
        """
        if block.name in self.known.numbers:
            return self.known.runs(block.name)
        able = self.known.runs_any(f"{block.file}:{block.function}")
        return able if able.any() else self.known.runs_any(block.file)

    def text(self, file: str) -> str:
        """What a file of tests says."""
        if file not in self._texts:
            self._texts[file] = (self.root / file).read_text()
        return self._texts[file]

    def block(self, mutant: Mutant) -> Block | None:
        """The block that changes; None when that runs as the file is imported."""
        path = mutant.source.path
        if path not in self._blocks:
            self._blocks[path] = blocks(mutant.source)
        return block_at(self._blocks[path], mutant.edit.start)

    def around(self, path: str) -> list[str]:
        """A file and those that import it: whose code sees what is computed on import."""
        if self._importers is None:
            self._importers = {}
            for source in self.sources:
                for module in imported(source.tree):
                    self._importers.setdefault(module, []).append(source.path)
        return [path, *self._importers.get(self.modules.get(path, ""), [])]

    def words(self, mutant: Mutant) -> list[str]:
        """What a file of tests speaks of that is about the place of a change."""
        path = Path(mutant.source.path)
        words = [self.modules.get(mutant.source.path, path.stem), path.stem.replace("_", "-")]
        for statement in mutant.source.tree.body:
            start, end = mutant.source.start(statement), mutant.source.end(statement)
            if start <= mutant.edit.start < end:
                words.extend(defined(statement))
        return words


def stem_of(path: str) -> str:
    """What a file is about, by its name."""
    return Path(path).stem.removeprefix("test_").replace("-", "_")


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def defined(statement: ast.stmt) -> Iterator[str]:
    """What a statement defines, by the name in Python, and by that in programs if it has one."""
    match statement:
        case ast.FunctionDef(name=name):
            yield name
        case ast.ClassDef(name=name, body=body):
            yield name
            for each in body:
                match each:
                    case ast.Assign([ast.Name("name")], ast.Constant(str(value))):
                        yield value
                    case _:
                        pass
        case ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(target=ast.Name(name)):
            yield name
        case _:
            pass


def staged(tests: Sequence[Test]) -> list[dict[str, float]]:
    """
    The seconds of tests, in groups that take longer and longer; in each group, the tests of a file together.
    """
    groups: list[dict[str, list[Test]]] = []
    spent = room = 0.0
    for test in tests:
        if spent >= room:
            room = FIRST_STAGE * GROWTH ** len(groups)
            groups.append({})
            spent = 0.0
        spent += test.seconds if test.file in groups[-1] else test.seconds + OPENING
        groups[-1].setdefault(test.file, []).append(test)
    return [
        {test.name: test.seconds for part in group.values() for test in part} for group in groups
    ]
