"""The machinery of unit 01: its clock takes the median of repeats that begin together, its barrier waits for all."""

from labkit.lessons import mpi_pi


class Comm:
    """A communicator whose Ibarrier is complete when it has been asked three times."""

    def __init__(self):
        self.barriers = self.asked = 0

    def Barrier(self):
        self.barriers += 1

    def Ibarrier(self):
        return self

    def Test(self):
        self.asked += 1
        return self.asked == 3


def test_every_repeat_begins_at_a_barrier(monkeypatch):
    moments = iter([0, 1, 10, 13, 20, 29])
    monkeypatch.setattr(mpi_pi.time, "perf_counter", lambda: next(moments))
    comm, done = Comm(), []
    assert mpi_pi.median_seconds(comm, lambda: done.append(comm.barriers), 3) == 3
    assert done == [1, 2, 3]


def test_ranks_sleep_until_all_are_here(monkeypatch):
    slept = []
    monkeypatch.setattr(mpi_pi.time, "sleep", slept.append)
    comm = Comm()
    mpi_pi.sleep_until_all_are_here(comm)
    assert comm.asked == 3 and len(slept) == 2
