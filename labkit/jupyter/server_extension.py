"""A Jupyter server of the course ends when it has stopped, whatever it was answering at that moment.

jupyter_server stops its event loop and leaves what is still pending where it stands. A thread that works for a request
(anyio's: they list folders, save notebooks, look for the formats that a notebook can be saved as) ends with the
request's task; that task never goes on, and Python waits for the thread for ever. So what asyncio.run does at its end
is done here, too: pending tasks are cancelled, and the loop runs until they have ended. tools/lab_settings/ lets every
server load this, a Lab's and a hub's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

LIMIT_S = 5.0  # for tasks that clean up after themselves when they are cancelled
ROUND_S = 0.02


def _jupyter_server_extension_points() -> list[dict]:
    return [{"module": "labkit.jupyter.server_extension"}]


def _load_jupyter_server_extension(server) -> None:
    run_loop = server.start_ioloop

    def run_loop_and_end_its_tasks() -> None:
        try:
            run_loop()
        finally:
            end_tasks(server.io_loop.asyncio_loop)

    server.start_ioloop = run_loop_and_end_its_tasks


def end_tasks(loop: asyncio.AbstractEventLoop, limit: float = LIMIT_S) -> None:
    """Cancel what is pending in a loop that has been stopped and run it until that has ended, or for `limit` seconds.
    The loop stays open: threads that end later still report to it.

    In short rounds, not by one run_until_complete: the loop may be stopped once more, by a second signal.
    """
    cancelled: set[asyncio.Task] = set()
    deadline = time.monotonic() + limit
    with failures_unsaid(loop):
        while True:
            pending = asyncio.all_tasks(loop)
            for task in pending - cancelled:
                task.cancel()
            cancelled |= pending
            loop.call_later(ROUND_S, loop.stop)
            # Also when nothing is pending: callbacks of a task that ended in the loop's last round are still to come.
            # A Ctrl-C that hit a task is raised once more by who asks for its result.
            with contextlib.suppress(KeyboardInterrupt):
                loop.run_forever()
            if not pending or time.monotonic() > deadline:
                return


@contextlib.contextmanager
def failures_unsaid(loop: asyncio.AbstractEventLoop):
    """For tornado and asyncio a cancelled request is an error; nobody wants to read of it after a Ctrl-C."""
    loop.set_exception_handler(lambda *_: None)  # for good: of some it hears only when Python ends
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(level)
