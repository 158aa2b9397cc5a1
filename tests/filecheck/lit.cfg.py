"""lit configuration: `lit tests/filecheck` runs every .mlir and .relay file with the tools of this Python."""

# lit runs this file with `config` in scope.
# ruff: noqa: F821

import os
import sys

import lit.formats

config.name = "xrelay"
config.test_format = lit.formats.ShTest()
config.test_source_root = os.path.dirname(__file__)
config.suffixes = [".mlir", ".relay"]
config.excludes = ["Output", "inputs"]

# `xdsl-opt`, `filecheck` and `xrelay` are those installed beside the Python that runs lit.
tools = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join((tools, os.environ["PATH"]))
# Every run compiles anew.
config.environment["XRELAY_CACHE_SIZE"] = "0"
for variable in ("PYTHONHASHSEED", "PYTHONPATH", "XDG_CACHE_HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
