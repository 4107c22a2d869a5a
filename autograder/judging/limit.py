"""A limit to the judge's own work: what ranks sent, printed or returned may be far more than the comparison is made
for."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

CPU_S = 10.0  # a verdict takes milliseconds; a verdict on the largest case a second
AGAIN_S = 1.0  # then it is told once more, should a destructor have swallowed it


class TakesTooLong(BaseException):
    """The judge's work has used up its processor time. No `except Exception` on the way may take it for a mistake."""


@contextlib.contextmanager
def processor_time(seconds: float = CPU_S) -> Iterator[None]:
    """Within, so much processor time of this process may be used. Raises TakesTooLong.

    A signal says so. Where none can be had (outside of the main thread, where somebody else counts, or in a browser),
    nothing is limited here: the budget of the notebook is looked at between cases.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, signal.SIG_IGN):
        yield
        return
    within = True

    def over(*_) -> None:
        if within:
            raise TakesTooLong

    before = signal.signal(signal.SIGPROF, over)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN_S)
        yield
    finally:
        within = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


__all__ = ["CPU_S", "TakesTooLong", "processor_time"]
