"""The machinery of unit 03: an all-reduce of the page, run on the simulated network."""

from __future__ import annotations

from collections.abc import Callable

import torch

from labkit import simulation
from labkit.relay.outcome import Outcome


def watch(
    function: Callable[[torch.Tensor], torch.Tensor],
    p: int,
    n: int,
    alpha: float,
    beta: float,
    *,
    quiet: bool = False,
) -> Outcome | None:
    """The run of an all-reduce of n float32 numbers over p ranks, rank r's numbers all r; None if the function is not
    written yet. It says so, unless quiet, and it says who waits for whom where the ranks hang.

    alpha, beta: seconds for a message and for a byte.
    """
    x = [(torch.full((n,), float(rank)),) for rank in range(p)]
    try:
        run = simulation.run(function, p, x, alpha=alpha, beta=beta)
    except RuntimeError as error:
        if "NotImplementedError" not in str(error):
            raise
        if not quiet:
            print(f"{function.__name__} is not written yet: come back to this cell when it is.")
        return None
    if run.hang:
        print(run.hang)
    return run
