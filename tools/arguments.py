"""Arguments that several commands read in the same way."""

from collections.abc import Sequence

from xrelay.tools.errors import BAD_INPUT, CommandFailed


def named_values(arguments: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Repeated NAME=VALUE arguments."""
    result: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not (name and equals and value):
            raise CommandFailed(f"{option} is '{argument}', expected {example}", BAD_INPUT)
        if name in result:
            raise CommandFailed(f"{option} names '{name}' twice", BAD_INPUT)
        result[name] = value
    return result


def shapes(arguments: Sequence[str]) -> dict[str, list[int]]:
    """The shapes given with --shape."""
    result: dict[str, list[int]] = {}
    for name, text in named_values(arguments, "--shape", "NAME=1,3,224,224").items():
        try:
            result[name] = [int(number) for number in text.split(",")]
        except ValueError:
            raise CommandFailed(
                f"--shape of '{name}' is '{text}', expected numbers as in 1,3,224,224", BAD_INPUT
            ) from None
    return result
