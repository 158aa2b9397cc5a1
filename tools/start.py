"""
The commands as they are installed. Loading the modules of a command takes most of the time of a
short one: who interrupts it then, or at any other time, sees nothing of its insides either. Only of Python's own
start, before it comes to this module, a traceback remains.
"""

from xrelay.tools.interruption import until_interrupted


def xrelay() -> int:
    """Entry point of `xrelay`."""

    def command() -> int:
        from xrelay.tools.cli import main

        return main()

    return until_interrupted(command)


def xrelay_opt() -> int:
    """Entry point of `xrelay-opt`."""

    def command() -> int:
        from xrelay.tools.opt import main

        return main()

    return until_interrupted(command)
