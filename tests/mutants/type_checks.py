"""What pyright says of changed files: `make test` runs it as it runs the tests."""

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.mutant import Mutant

PATIENCE = 600.0
"""The seconds by the clock that a check may take."""


@dataclass(frozen=True)
class TypeChecker:
    """A copy of the files that pyright looks at, in which one after the other is changed."""

    copy: Path
    settings: dict[str, Any]

    @staticmethod
    @contextmanager
    def of(root: Path) -> Generator["TypeChecker"]:
        """One for a tree with settings of pyright in its pyproject.toml."""
        settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["pyright"]
        with tempfile.TemporaryDirectory(prefix="types-") as folder:
            for name in (*settings["include"], settings["stubPath"]):
                ignored = shutil.ignore_patterns("__pycache__")
                # The stubs are links to the packages, which lead to those of the copy.
                shutil.copytree(root / name, Path(folder, name), symlinks=True, ignore=ignored)
            yield TypeChecker(Path(folder), settings)

    def error(self, mutant: Mutant) -> str:
        """The first error in the changed file; empty if there is none."""
        file = self.copy / mutant.source.path
        config = {**self.settings, "include": [mutant.source.path]}
        (self.copy / "pyrightconfig.json").write_text(json.dumps(config))
        file.write_bytes(mutant.data)
        try:
            return first_error(self.copy)
        finally:
            file.write_bytes(mutant.source.data)


def first_error(folder: Path) -> str:
    """What pyright finds first with the settings in a folder; raises LookupError where it does not run."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "-p", str(folder)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except (ValueError, KeyError) as error:
        raise LookupError(f"pyright does not run: {done.stderr or done.stdout}") from error
    errors = [each for each in found if each["severity"] == "error"]
    return str(errors[0]["message"]) if errors else ""
