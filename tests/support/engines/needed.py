"""What engines and files of models need that may not be there: tests are skipped without it."""

import shutil
from importlib.util import find_spec

import pytest

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
needs_openblas = pytest.mark.skipif(
    find_spec("scipy_openblas64") is None, reason="scipy-openblas64 is not installed"
)
