"""`xrelay-opt`: xDSL's opt tool with ONNX models and Relay text as input, and errors without tracebacks."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib.metadata import version
from inspect import signature
from io import BytesIO
from pathlib import Path
from types import NoneType
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.diagnostic import Diagnostic
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from xrelay.analysis.facts.suggestions import PassOptionError, did_you_mean
from xrelay.collector import collector_paused
from xrelay.deep import TooDeepError, nests_deeply, with_deep_stack, with_room
from xrelay.runtime.files import whole_file
from xrelay.runtime.reading import read_source
from xrelay.tools.errors import (
    BAD_INPUT,
    FAILED,
    CommandFailed,
    check_words,
    failing_with,
    run_command,
)
from xrelay.tools.interruption import until_interrupted
from xrelay.tools.options.shared import add_backend_option, add_shape_option
from xrelay.tools.parser import fail_where_full
from xrelay.tools.weights import keep_weights

if TYPE_CHECKING:
    from xrelay.analysis.partition.compilers import Compiler

T = TypeVar("T")

STANDARD_STREAM = "-"
"""What stands for standard input and output among names of files, as where none is given."""


class XRelayOptMain(xDSLOptMain):
    """The stock tool; dialects, passes and targets come from the `xdsl.universe` entry points."""

    version_format = f"xrelay-opt {version('xrelay')}, built on xdsl {{xdsl_version}}"

    def __init__(self, args: Sequence[str] | None = None):
        self.weights: dict[str, bytes | memoryview] = {}
        """The bytes of the large constants that the output names."""
        self.places: dict[Operation, Span[str]] = {}
        """Where the operations of the input stand in it."""
        self.running: ModulePass | None = None
        """The pass that runs."""
        self.verifies = True
        """Whether programs are verified, after they are read and after each pass."""
        self.compilers: list[Compiler] = []
        """What passes know of the backends that are asked for."""
        self.is_deep = False
        """Whether the present program nests so deeply that it needs a deep stack."""
        try:
            super().__init__("xDSL's optimiser with relay passes, ONNX and Relay text input", args)
        except ArgSpecParseError as error:
            raise CommandFailed(f"-t is '{self.args.target}': {error}", BAD_INPUT) from error

    def register_all_arguments(self, arg_parser: ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        fail_where_full(arg_parser)
        add_shape_option(arg_parser)
        add_backend_option(
            arg_parser,
            "installed backends, whose names passes such as merge-composite and annotate-target take as targets",
            required=False,
        )
        add_instruments(arg_parser)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()
        self.available_frontends.update(
            mlir=self.read_mlir, onnx=self.read_onnx, relay=self.read_relay
        )

    def register_all_targets(self) -> None:
        super().register_all_targets()
        self.available_targets["mlir"] = text_target

    def read_mlir(self, stream: IO[bytes]) -> ModuleOp:
        """The module in a text, with the weights in the file beside that of the text."""
        from xrelay.compiler import parse_program
        from xrelay.program_weights import attach_side_file

        module = parse_program(
            stream.read(),
            self.get_input_name(),
            self.ctx,
            implicit_module=not self.args.no_implicit_module,
            places=self.places,
        )
        if self.args.input_file is not None:
            attach_side_file(module, Path(self.args.input_file))
        return module

    @collector_paused()
    def read_relay(self, stream: IO[bytes]) -> ModuleOp:
        """The module in a Relay text."""
        from xrelay.compiler import parse_relay

        return parse_relay(stream.read(), self.get_input_name())

    def read_onnx(self, stream: IO[bytes]) -> ModuleOp:
        """The ONNX model in the input file. (External data need a folder to be looked up in.)"""
        from xrelay.frontends.onnx import import_model
        from xrelay.tools.arguments import shapes

        return import_model(
            self.args.input_file,
            shapes=shapes(self.args.shape),
            unrolled=parse_spec(self.args.target).name == "relay-text",
        )

    def setup_pipeline(self) -> None:
        from xrelay.transforms.rules.pass_sequence import single_passes

        try:
            self.check_passes()
            super().setup_pipeline()
        except (ValueError, ArgSpecParseError) as error:
            raise CommandFailed(f"-p is '{self.args.passes}': {error}", BAD_INPUT) from error
        # What is printed, timed and verified between passes is so between the steps of a sequence.
        self.pipeline = replace(self.pipeline, passes=single_passes(self.pipeline.passes))
        if self.pipeline.callback is not None:
            self.check = self.pipeline.callback
            self.pipeline = replace(self.pipeline, callback=self.between_passes)
        # The stock tool's own verifier takes quadratic time where regions nest.
        self.verifies = not self.args.disable_verify
        self.args.disable_verify = True
        self.check_target()
        self.compilers = compilers_of(self.args.backend)

    def between_passes(
        self, previous: ModulePass | None, module: ModuleOp, following: ModulePass | None
    ) -> None:
        """The stock tool's callback, and what makes a program invalid is named."""
        if previous is not None and self.verifies:
            self.verify_after(previous, module)
        self.running = following
        if self.args.print_between_passes:
            from xrelay.analysis.facts.program_size import check_text

            check_text(module)
        self.check(previous, module, following)

    def verify_after(self, previous: ModulePass, module: ModuleOp) -> None:
        """Raises CommandFailed that names the pass if it made the program invalid."""
        from xrelay.analysis.facts.verification import verify

        try:
            verify(module)
        except DiagnosticException as error:
            if self.args.verify_diagnostics:
                raise
            from xrelay.places import verify_failure

            reason = verify_failure(module, error)
            message = f"pass '{previous.name}' leaves a program that is not valid: {reason}"
            raise CommandFailed(message, FAILED) from error

    def check_passes(self) -> None:
        """Raises ValueError that names the first pass, or option of one, that there is not."""
        for spec in parse_pipeline(self.args.passes):
            if spec.name not in self.available_passes:
                suggestion = did_you_mean(spec.name, self.available_passes)
                raise ValueError(f"there is no pass '{spec.name}'{suggestion}")
            check_options(spec, self.available_passes[spec.name]())

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
        if self.args.input_file == STANDARD_STREAM:
            self.args.input_file = None
        path = self.args.input_file
        if path is None:
            return super().get_input_stream()
        return BytesIO(read_source(path)), Path(path).suffix.removeprefix(".")

    def prepare_input(self) -> tuple[list[tuple[IO[bytes], int]], str]:
        try:
            chunks, extension = super().prepare_input()
        except ValueError as error:
            known = ", ".join(self.available_frontends)
            message = f"cannot read '{self.args.input_file}': {error}, expected {known}"
            raise CommandFailed(message, BAD_INPUT) from error
        if extension == "onnx" and (self.args.input_file is None or self.args.split_input_file):
            raise CommandFailed("an ONNX model is read from a file, in one piece", BAD_INPUT)
        if extension != "onnx" and self.args.shape:
            raise CommandFailed("--shape goes with ONNX models", BAD_INPUT)
        return chunks, extension

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        content = chunk.read()

        def parsed() -> ModuleOp | None:
            return self.parse_whole(BytesIO(content), file_extension, start_offset)

        self.is_deep = False
        module = self.in_room(lambda: with_room(parsed))
        if module is not None:
            from xrelay.analysis.facts.program_size import expanded_size

            size = expanded_size(module)
            self.is_deep = nests_deeply(size.levels, size.tuples)
        return module

    def in_room(self, step: Callable[[], T]) -> T:
        """
        What a step returns. It is not tried without a deep stack first, as in `with_room`, once the program is
        known: a pass changes it, and what is printed is printed.
        """
        try:
            return with_deep_stack(step) if self.is_deep else step()
        except TooDeepError as error:
            raise CommandFailed(str(error), FAILED) from error

    def parse_whole(
        self, chunk: IO[bytes], file_extension: str, start_offset: int
    ) -> ModuleOp | None:
        """The verified module in a piece of the input."""
        module = super().parse_chunk(chunk, file_extension, start_offset)
        if module is not None and self.verifies:
            from xrelay.analysis.facts.verification import verify_program

            try:
                verify_program(module)
            except VerifyException as error:
                if self.args.verify_diagnostics:
                    raise
                from xrelay.places import verify_failure

                message = verify_failure(module, error, self.places, start_offset)
                raise CommandFailed(message, BAD_INPUT) from error
        return module

    @property
    def is_watched(self) -> bool:
        """Whether any instrument is asked for."""
        args = self.args
        return args.timing or args.statistics or args.verify_semantics or args.bisect is not None

    def apply_passes(self, prog: ModuleOp) -> None:
        from xrelay.analysis.partition.compilers import REGISTRY

        def apply() -> None:  # In a thread of its own the compilers have to be in use there.
            with REGISTRY.using(self.compilers):
                self.apply_passes_here(prog)

        self.in_room(apply)

    def apply_passes_here(self, prog: ModuleOp) -> None:
        """Runs the passes, or has them watched."""
        if self.args.verify_diagnostics:
            super().apply_passes(prog)
            return
        with failing_with(FAILED):
            try:
                if self.is_watched:
                    from xrelay.tools.instruments import run_watched

                    run_watched(self.ctx, prog, self.pipeline, self.args)
                else:
                    super().apply_passes(prog)
            except DiagnosticException as error:
                if self.running is None:
                    raise
                reason = str(error).strip()
                code = BAD_INPUT if isinstance(error, PassOptionError) else FAILED
                raise CommandFailed(f"pass '{self.running.name}': {reason}", code) from error

    def output_resulting_program(self, prog: ModuleOp) -> str:
        return self.in_room(lambda: self.text_of(prog))

    def text_of(self, prog: ModuleOp) -> str:
        """What the target makes of a program."""
        with failing_with(FAILED):
            if parse_spec(self.args.target).name == "mlir":
                from xrelay.analysis.facts.program_size import check_text
                from xrelay.program_weights import missing_weights, supplied_weights

                check_text(prog)
                self.weights.update(supplied_weights(prog))
                missing = missing_weights(prog)
                if missing:
                    keys = len({blob.key for _, blob in missing})
                    print(
                        f"large constants lack their bytes, as the input did: {keys}",
                        file=sys.stderr,
                    )
            try:
                return super().output_resulting_program(prog)
            except NotImplementedError as error:
                message = f"-t {self.args.target} does not take this program: {error}"
                raise CommandFailed(message, FAILED) from error

    def run(self) -> None:
        """Runs the tool. An output file is written whole or not at all."""
        if self.args.output_file in (None, STANDARD_STREAM):
            self.args.output_file = None
            super().run()
            keep_weights(self.weights, None)
            return
        output = Path(self.args.output_file)
        with whole_file(output) as temporary:
            self.args.output_file = str(temporary)
            super().run()
            keep_weights(self.weights, output)


def text_target() -> type[Target]:
    """The target `mlir`, loaded when something is printed."""
    from xrelay.tools.module_file import TextTarget

    return TextTarget


def compilers_of(backends: Sequence[str]) -> list[Compiler]:
    """The compilers of the backends that are given with --backend. Raises CommandFailed for those that there are not."""
    if not backends:  # They are a lot to import.
        return []
    from xrelay.partitioned import find_backends
    from xrelay.tools.arguments import backends as names_in

    with failing_with(BAD_INPUT):
        return [each.compiler() for each in find_backends(names_in(backends))]


WANTED: dict[Any, str] = {
    bool: "true or false",
    bool | None: "true or false",
    int: "a whole number",
    str: "one text",
    str | None: "one text",
    tuple[int, ...]: "whole numbers",
    tuple[str, ...]: "texts",
}
"""What is expected of an option of a type."""


def check_options(spec: ArgSpec, pass_type: type[ModulePass]) -> None:
    """Raises ValueError for an option that a pass does not have, as one writes it, or a value of another type."""
    types = get_type_hints(pass_type)
    known = {field.name.replace("_", "-"): types[field.name] for field in fields(pass_type)}
    for name, values in spec.parameters.items():
        option = name.replace("_", "-")
        if option not in known:
            suggestion = did_you_mean(option, known)
            raise ValueError(f"pass '{spec.name}' has no option '{option}'{suggestion}")
        wanted = WANTED.get(known[option])
        if wanted and not _has_type(values, known[option]):
            found = f"'{','.join(map(str, values))}'" if values else "given without a value"
            raise ValueError(f"option '{option}' is {found}, expected {wanted}")


def _has_type(values: Sequence[object], type_: Any) -> bool:
    if get_origin(type_) is tuple:
        return all(isinstance(value, get_args(type_)[0]) for value in values)
    alternatives = get_args(type_) or (type_,)
    if not values:
        return NoneType in alternatives
    return len(values) == 1 and type(values[0]) in alternatives


def add_instruments(parser: ArgumentParser) -> None:
    """The options that ask for the instruments of `xrelay.tools.instruments`."""
    parser.add_argument(
        "--timing",
        action="store_true",
        help="print the time of each pass, and the operations before and after it, on stderr",
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help="print how many relay.fused there are of each size and kind, on stderr",
    )
    parser.add_argument(
        "--verify-semantics",
        action="store_true",
        help="interpret the program before and after each pass, on random and on awkward inputs, "
        "and fail at the first pass that changes a result",
    )
    parser.add_argument(
        "--bisect",
        metavar="FILE.mlir",
        help="as --verify-semantics; when a pass changes a result, also say which passes are needed "
        "for that, and write a small program on which it does so alone",
    )


@contextmanager
def settings_kept() -> Generator[None]:
    """Sets back what the stock tool sets for the whole process: `--disable-verify`, `--syntax-highlight`."""
    check, colored = Attribute.__post_init__, Diagnostic.colored
    try:
        yield
    finally:
        Attribute.__post_init__, Diagnostic.colored = check, colored


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command `xrelay-opt`."""

    def command() -> int:
        check_words(argv)
        with settings_kept(), failing_with(BAD_INPUT):
            XRelayOptMain(argv).run()
        return 0

    return run_command("xrelay-opt", command)


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
