"""The program of a worker process: `python -m xrelay.placement.costs.serve NUMBER`, of the pipe to whoever started it."""

import sys
from contextlib import suppress
from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Runs tasks until nobody sends any."""
    with suppress(EOFError, ConnectionError, KeyboardInterrupt):
        while True:
            try:
                function, args, kwargs = connection.recv()
                answer: tuple[bool, object] = True, function(*args, **kwargs)
            except (EOFError, ConnectionError):
                raise
            except Exception as error:  # noqa: BLE001 it is raised where the task was given
                answer = False, error
            connection.send(answer)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
