"""`xrelay cache`: what the cache of compiled models holds."""

import argparse
import time

from rich.console import Console
from rich.table import Table

from xrelay.runtime.cache import cache_or_reason
from xrelay.tools.errors import BAD_INPUT, failing_with


def show_cache(args: argparse.Namespace) -> int:
    """Runs the command."""
    with failing_with(BAD_INPUT):
        cache = cache_or_reason()
        if isinstance(cache, str):
            print(cache)
            return 0
        if args.clear:
            print(f"removed {cache.clear() / 1e6:.1f} MB from {cache.folder}")
            return 0
        entries = cache.entries()
        described = [(entry, cache.describe(entry)) for entry in entries]
    console = Console(soft_wrap=True, highlight=False)
    if entries:
        table = Table("model", "threads", "target", "MB", "last used")
        for entry, signature in reversed(described):
            shown = ["(damaged)", "", ""]
            if signature is not None:
                shown = [signature.name, str(signature.threads), signature.target]
            used = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.used))
            table.add_row(*shown, f"{entry.size / 1e6:.1f}", used)
        console.print(table)
    total = sum(entry.size for entry in entries)
    console.print(
        f"{cache.folder}: {len(entries)} {'entry' if len(entries) == 1 else 'entries'}, "
        f"{total / 1e6:.1f} MB of at most {cache.limit / 1e6:.0f} MB"
    )
    return 0
