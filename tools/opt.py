"""`xrelay-opt`: xDSL's opt tool with ONNX models and Relay text as input, and errors without tracebacks."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from inspect import signature
from io import BytesIO
from pathlib import Path
from typing import IO, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipelineCallbackType
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, VerifyException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from xrelay.analysis.verification import verify_program
from xrelay.collector import collector_paused
from xrelay.compiler import parse_program, parse_relay, supplied_weights
from xrelay.runtime.files import whole_file
from xrelay.runtime.reading import read_source
from xrelay.tools import instruments
from xrelay.tools.deep import with_deep_stack
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with, run_command


class XRelayOptMain(xDSLOptMain):
    """The stock tool; dialects, passes and targets come from the `xdsl.universe` entry points."""

    version_format = f"xrelay-opt {version('xrelay')}, built on xdsl {{xdsl_version}}"

    def __init__(self, args: Sequence[str] | None = None):
        self.weights: dict[str, bytes | memoryview] = {}
        """The bytes of the large constants that the output file names."""
        try:
            super().__init__("xDSL's optimiser with relay passes, ONNX and Relay text input", args)
        except ArgSpecParseError as error:
            raise CommandFailed(f"-t is '{self.args.target}': {error}", BAD_INPUT) from error

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        instruments.add_arguments(arg_parser)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends.update(
            mlir=self.read_mlir, onnx=self.read_onnx, relay=self.read_relay
        )

    def read_mlir(self, stream: IO[bytes]) -> ModuleOp:
        """The module in a text."""
        return parse_program(
            stream.read(),
            self.get_input_name(),
            self.ctx,
            implicit_module=not self.args.no_implicit_module,
        )

    @collector_paused()
    def read_relay(self, stream: IO[bytes]) -> ModuleOp:
        """The module in a Relay text."""
        return parse_relay(stream.read(), self.get_input_name())

    def read_onnx(self, stream: IO[bytes]) -> ModuleOp:
        """The ONNX model in the input file. (External data need a folder to be looked up in.)"""
        from xrelay.frontends.onnx import import_model

        if self.args.input_file is None or self.args.split_input_file:
            raise CommandFailed("an ONNX model is read from a file, in one piece", BAD_INPUT)
        return import_model(self.args.input_file)

    def setup_pipeline(self) -> None:
        try:
            super().setup_pipeline()
        except (ValueError, ArgSpecParseError) as error:
            raise CommandFailed(f"-p is '{self.args.passes}': {error}", BAD_INPUT) from error
        if not self.args.verify_diagnostics:
            self.pipeline = replace(self.pipeline, callback=naming_passes(self.pipeline.callback))
        self.check_target()

    def check_target(self) -> None:
        """Finds wrong options of the target before anything is read."""
        spec = parse_spec(self.args.target)
        entry = self.available_targets[spec.name]
        if signature(entry).parameters:
            return  # a function, which takes no options
        try:
            cast(Callable[[], type[Target]], entry)().from_spec(spec)
        except ValueError as error:
            raise CommandFailed(f"-t is '{self.args.target}': {error}", BAD_INPUT) from error

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        path = self.args.input_file
        if path is None:
            return super().get_input_stream()
        return BytesIO(read_source(path)), Path(path).suffix.removeprefix(".")

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            return super().prepare_input()
        except ValueError as error:
            known = ", ".join(self.available_frontends)
            message = f"cannot read '{self.args.input_file}': {error}, expected {known}"
            raise CommandFailed(message, BAD_INPUT) from error

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        module = super().parse_chunk(chunk, file_extension, start_offset)
        if module is not None and not self.args.disable_verify:
            verify_program(module)
        return module

    def apply_passes(self, prog: ModuleOp) -> None:
        if self.args.verify_diagnostics:
            super().apply_passes(prog)
            return
        with failing_with(FAILED):
            if instruments.is_watched(self.args):
                instruments.run_watched(self.ctx, prog, self.pipeline, self.args)
            else:
                super().apply_passes(prog)

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if self.args.output_file is not None and parse_spec(self.args.target).name == "mlir":
            self.weights.update(supplied_weights(prog))
        with failing_with(FAILED):
            try:
                return super().output_resulting_program(prog)
            except NotImplementedError as error:
                message = f"-t {self.args.target} does not take this program: {error}"
                raise CommandFailed(message, FAILED) from error

    def run(self) -> None:
        """Runs the tool. An output file is written whole or not at all."""
        try:
            # In Relay text regions nest as deep as expressions do.
            if Path(self.get_input_name()).suffix == ".relay":
                with_deep_stack(self.run_whole)
            else:
                self.run_whole()
        except RecursionError as error:
            raise CommandFailed("the program nests too deeply for xDSL", FAILED) from error

    def run_whole(self) -> None:
        """Runs the tool, whose output file is written whole or not at all."""
        if self.args.output_file is None:
            super().run()
            return
        output = Path(self.args.output_file)
        with whole_file(output) as temporary:
            self.args.output_file = str(temporary)
            super().run()
            if self.weights:
                from xrelay.runtime.weights import weights_path, write_weights

                write_weights(weights_path(output), self.weights)


def naming_passes(check: PassPipelineCallbackType | None) -> PassPipelineCallbackType:
    """A callback between passes whose diagnostics name the pass that made the program invalid."""

    def callback(
        previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        if check is None:
            return
        try:
            check(previous, module, following)
        except (DiagnosticException, VerifyException) as error:
            if previous is None:
                raise
            raise CommandFailed(
                f"pass '{previous.name}' leaves a program that is not valid: {str(error).strip()}",
                FAILED,
            ) from error

    return callback


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `xrelay-opt`."""

    def command() -> int:
        with failing_with(BAD_INPUT):
            XRelayOptMain(argv).run()
        return 0

    return run_command("xrelay-opt", command)


if __name__ == "__main__":
    sys.exit(main())
