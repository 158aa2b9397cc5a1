"""`xrelay-opt`: xDSL's opt tool with ONNX models as input and errors without tracebacks."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import BytesIO
from typing import IO

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException
from xdsl.xdsl_opt_main import xDSLOptMain

from xrelay.tools.errors import BAD_INPUT, CommandFailed, failing_with, run_command


class XRelayOptMain(xDSLOptMain):
    """The stock tool; dialects, passes and targets come from the `xdsl.universe` entry points."""

    version_format = f"xrelay-opt {version('xrelay')}, built on xdsl {{xdsl_version}}"

    def __init__(self, args: Sequence[str] | None = None):
        super().__init__("xDSL's optimiser with relay passes and ONNX input", args)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends["onnx"] = self.read_onnx

    def read_onnx(self, stream: IO[bytes]) -> ModuleOp:
        """An ONNX model from a file, or from standard input."""
        from onnx import ModelProto

        from xrelay.frontends.onnx import import_model

        if isinstance(stream, BytesIO) or self.args.input_file is None:
            return import_model(ModelProto.FromString(stream.read()))
        return import_model(self.args.input_file)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `xrelay-opt`."""

    def command() -> int:
        with failing_with(BAD_INPUT):
            try:
                XRelayOptMain(argv).run()
            except PassFailedException as error:
                raise CommandFailed(str(error), BAD_INPUT) from error
        return 0

    return run_command("xrelay-opt", command)


if __name__ == "__main__":
    sys.exit(main())
