"""The machinery of unit 03: what is not written yet is said, other mistakes are raised, a hang is told."""

import pytest
import torch.distributed as dist

from labkit.lessons import collectives

pytestmark = pytest.mark.usefixtures("warm")
NETWORK = {"alpha": 5e-6, "beta": 1e-10}


def library(x):
    dist.all_reduce(x)
    return x


def not_written(x):
    raise NotImplementedError


def wrong(x):
    raise ValueError("wrong")


def one_stays_away(x):
    if dist.get_rank() != 1:
        dist.barrier()


def test_a_run_sums_the_numbers_of_the_ranks():
    run = collectives.watch(library, 3, 4, **NETWORK)
    assert [list(rank.value.values) for rank in run.ranks] == [[3.0] * 4] * 3


def test_what_is_not_written_is_said_unless_quiet(capsys):
    assert collectives.watch(not_written, 2, 4, **NETWORK) is None
    assert capsys.readouterr().out == "not_written is not written yet: come back to this cell when it is.\n"
    assert collectives.watch(not_written, 2, 4, **NETWORK, quiet=True) is None
    assert capsys.readouterr().out == ""


def test_other_mistakes_are_raised_and_a_hang_is_told(capsys):
    with pytest.raises(RuntimeError, match="wrong"):
        collectives.watch(wrong, 2, 4, **NETWORK)
    assert collectives.watch(one_stays_away, 2, 4, **NETWORK).hang
    assert "rank 0" in capsys.readouterr().out
