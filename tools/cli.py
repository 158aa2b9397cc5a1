"""`xrelay`: run, compile, explain, tune and cache models from the command line; list operators and passes."""

import argparse
import sys
from collections.abc import Sequence

from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, check_words, run_command
from xrelay.tools.interruption import until_interrupted
from xrelay.tools.options import engines, lists, models
from xrelay.tools.parser import Parser

EXAMPLES = """\
examples:
  xrelay run resnet50.onnx                              seeded random inputs
  xrelay run model.onnx --input x=image.npy --output-dir results
  xrelay compile model.onnx -o model.so                 shared library and C header
  xrelay compile model.onnx -o fused.mlir --emit-after fuse-ops
  xrelay explain model.onnx --limit 5                   what is fused, and what stops fusion
  xrelay view model.onnx -o graph.html                  the same as a picture to look around in
  xrelay tune model.onnx -o tuning.json                 measure what computes it fastest here
  xrelay cache --clear                                  forget compiled models
  xrelay partition model.onnx --backend onnxruntime     what a backend takes, and what blocks it
  xrelay place model.onnx --backend onnxruntime         which part runs fastest where
  xrelay ops                                            the operators, and what is done with each
  xrelay passes fuse-ops                                what a pass does, and its options

exit codes: 0 fine, 1 wrong result or failed compile, 2 bad usage or input
"""

COMMANDS = {**models.COMMANDS, **engines.COMMANDS, **lists.COMMANDS}
"""In the order of the help."""


class VersionAction(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"xrelay {version('xrelay')}")
        parser.exit()


def build_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="xrelay",
        description="Neural networks through xDSL: from ONNX to running machine code.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=VersionAction, help="show the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        its_parser = commands.add_parser(
            name,
            help=command.text,
            description=command.text,
            epilog=command.examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(its_parser)
    return parser


def run_deep(args: argparse.Namespace) -> int:
    """Runs a command, with room for programs, in which regions nest as deep as anyone likes."""
    command = COMMANDS[args.command]
    if getattr(args, "model", None) is None:
        return command.run(args)
    from xrelay.deep import TooDeepError, with_room

    try:
        return with_room(lambda: command.run(args))
    except TooDeepError as error:
        raise CommandFailed(str(error), FAILED) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command `xrelay`."""

    def command() -> int:
        args = build_parser().parse(argv)

        def chosen() -> int:
            check_words(argv)
            if getattr(args, "model", None) == "":
                raise CommandFailed("the path of the model is empty", BAD_INPUT)
            return run_deep(args)

        return run_command(f"xrelay {args.command}", chosen)

    return run_command("xrelay", command)


if __name__ == "__main__":
    sys.exit(until_interrupted(main))
