"""Command lines that say what a wrong word was probably meant to be, and fail where their help cannot be written."""

import sys
from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from typing import IO, Any, cast


class Parser(ArgumentParser):
    """A parser with suggestions."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        fail_where_full(self)

    def parse(self, words: Sequence[str] | None) -> Namespace:
        """What the words of a command line mean; ends the command when some mean nothing."""
        found, rest = self.parse_known_args(words)
        if rest:
            parser = self.command(found)
            wrong = next((word for word in rest if word.startswith("-")), "").partition("=")[0]
            guess = suggestion(wrong, parser._option_string_actions)
            parser.error(f"unrecognized arguments: {' '.join(rest)}{guess}")
        return found

    def command(self, found: Namespace) -> "Parser":
        """The parser of the command that was chosen, which knows its options."""
        for action in self._actions:
            commands = cast(object, action.choices)
            if isinstance(commands, dict):
                return cast("dict[str, Parser]", commands)[getattr(found, action.dest)]
        return self

    def _check_value(self, action: Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except ArgumentError as error:
            known = map(str, action.choices or ())
            raise ArgumentError(action, error.message + suggestion(str(value), known)) from error


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word. What finds it is loaded only then."""
    from xrelay.analysis.facts.suggestions import did_you_mean

    return did_you_mean(word, known)


def fail_where_full(parser: ArgumentParser) -> None:
    """Lets the help of a parser raise the OSError of writing it, of which argparse is silent."""

    def write(message: str, file: IO[str] | None = None) -> None:
        stream = sys.stderr if file is None else file
        if message and stream is not None:
            stream.write(message)

    vars(parser)["_print_message"] = write
