"""
Collects the files that lit runs, as tests: `run_lines` runs them in this process. Which files these are, and in what
environment they run, is in lit.cfg.py.
"""

import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from run_lines import RunLineFailed, run_file

HERE = Path(__file__).parent


@cache
def settings() -> SimpleNamespace:
    """What lit.cfg.py says."""
    config = SimpleNamespace(environment={})
    runpy.run_path(str(HERE / "lit.cfg.py"), {"config": config})
    return config


class RunLines(pytest.Item):
    """The RUN lines of a file."""

    def runtest(self) -> None:
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            for name, value in settings().environment.items():
                patch.setenv(name, value)
            patch.chdir(self.path.parent)
            run_file(self.path, Path(folder, self.path.name))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, RunLineFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.path.name


class LitFile(pytest.File):
    """A file with RUN lines."""

    def collect(self) -> Iterator[pytest.Item]:
        yield RunLines.from_parent(self, name="run")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """The files that lit would run."""
    is_excluded = set(settings().excludes) & set(file_path.relative_to(HERE).parts)
    if file_path.suffix not in settings().suffixes or is_excluded:
        return None
    return LitFile.from_parent(parent, path=file_path)
