"""`xrelay test-backend`: the contract tests of a backend."""

import argparse

from rich.markup import escape

from xrelay.backends.discovery import find_backend
from xrelay.contract import ContractBroken, check, contract_cases, patterns_without_example
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.progress import stage_progress
from xrelay.tools.tables import table_console


def test_backend(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.threads < 1:
        raise CommandFailed(f"--threads is {args.threads}, expected at least 1", BAD_INPUT)
    with failing_with(BAD_INPUT):
        backend = find_backend(args.backend)
    console = table_console()
    broken: list[str] = []
    count = 0
    with stage_progress() as progress:
        for case in contract_cases(backend):
            if args.case not in case.name:
                continue
            count += 1
            if args.list:
                console.print(escape(case.name))
                continue
            progress(case.name)
            try:
                check(case, backend, args.threads)
            except ContractBroken as error:
                broken.append(str(error))
                console.print(f"[red]broken[/red] {escape(str(error))}")
    if not count:
        raise CommandFailed(
            f"backend '{backend.name}' supports no operator of the {'chosen ' if args.case else ''}"
            "cases",
            BAD_INPUT,
        )
    for name, reason in patterns_without_example(backend).items():
        console.print(escape(f"no case for pattern {name}: {reason}"))
    if args.list:
        return 0
    console.print(f"{count - len(broken)} of {count} cases hold for backend '{backend.name}'")
    return FAILED if broken else 0
