"""Requests and messages of traced communicators: what is under way, and when it is done."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from labkit.watch import recorder


def heard(comm: MPI.Comm, status: MPI.Status) -> dict[str, int]:
    """Source, tag and bytes of a completed receive."""
    source = status.Get_source()
    if source < 0:
        return {}
    return {"peer": comm.world_rank(source), "tag": status.Get_tag(), "nbytes": status.Get_count(MPI.BYTE)}


_Plain = MPI.Request


class TracedRequest(_Plain):
    """A request whose completion is recorded. Plain requests may stand beside it in Waitall and its like."""

    token = 0
    comm: MPI.Comm | None = None  # of a receive: to tell whom it heard

    @classmethod
    def of(cls, request: MPI.Request, token: int, comm: MPI.Comm | None = None) -> TracedRequest:
        made = cls(request)
        made.token = token
        made.comm = comm
        return made

    def done(self, status: MPI.Status | None = None) -> None:
        """Note that the operation is complete (once)."""
        token, self.token = self.token, 0
        if token:
            recorder.end(token, **(heard(self.comm, status) if self.comm is not None and status is not None else {}))

    def Wait(self, status: MPI.Status | None = None) -> bool:
        status = status or MPI.Status()
        recorder.waiting(self.token)
        result = super().Wait(status)
        self.done(status)
        return result

    def wait(self, status: MPI.Status | None = None) -> Any:
        status = status or MPI.Status()
        recorder.waiting(self.token)
        result = super().wait(status)
        self.done(status)
        return result

    def Test(self, status: MPI.Status | None = None) -> bool:
        status = status or MPI.Status()
        flag = super().Test(status)
        self.done(status) if flag else recorder.polled("Test")
        return flag

    def test(self, status: MPI.Status | None = None) -> tuple[bool, Any]:
        status = status or MPI.Status()
        flag, value = super().test(status)
        self.done(status) if flag else recorder.polled("test")
        return flag, value

    def Free(self) -> None:
        """Frees the request: nobody has to wait for it then."""
        super().Free()
        self.done()

    # Waiting one by one is the same to MPI (all requests make progress), and the recorder knows which one is late.
    @classmethod
    def Waitall(cls, requests, statuses=None) -> bool:
        for request, status in zip(requests, _extended(statuses, len(requests)), strict=False):
            request.Wait(status)
        return True

    @classmethod
    def waitall(cls, requests, statuses=None) -> list:
        return [
            request.wait(status) for request, status in zip(requests, _extended(statuses, len(requests)), strict=False)
        ]

    @classmethod
    def Waitany(cls, requests, status=None) -> int:
        status = _before_any(requests, status)
        return _after_any(requests, _Plain.Waitany(requests, status), status)

    @classmethod
    def waitany(cls, requests, status=None) -> tuple[int, Any]:
        status = _before_any(requests, status)
        index, value = _Plain.waitany(requests, status)
        return _after_any(requests, index, status), value

    @classmethod
    def Waitsome(cls, requests, statuses=None) -> list[int] | None:
        _before_any(requests, None)
        statuses = _extended(statuses, len(requests))
        return _after_some(requests, _Plain.Waitsome(requests, statuses), statuses)

    @classmethod
    def waitsome(cls, requests, statuses=None) -> tuple[list[int] | None, list | None]:
        _before_any(requests, None)
        statuses = _extended(statuses, len(requests))
        indices, values = _Plain.waitsome(requests, statuses)
        return _after_some(requests, indices, statuses), values

    @classmethod
    def Testall(cls, requests, statuses=None) -> bool:
        statuses = _extended(statuses, len(requests))
        flag = _Plain.Testall(requests, statuses)
        _after_test("Testall", requests, range(len(requests)) if flag else (), statuses)
        return flag

    @classmethod
    def testall(cls, requests, statuses=None) -> tuple[bool, list | None]:
        statuses = _extended(statuses, len(requests))
        flag, values = _Plain.testall(requests, statuses)
        _after_test("testall", requests, range(len(requests)) if flag else (), statuses)
        return flag, values

    @classmethod
    def Testany(cls, requests, status=None) -> tuple[int, bool]:
        status = status or MPI.Status()
        index, flag = _Plain.Testany(requests, status)
        _after_test("Testany", requests, [index] if flag and index >= 0 else (), [status])
        return index, flag

    @classmethod
    def testany(cls, requests, status=None) -> tuple[int, bool, Any]:
        status = status or MPI.Status()
        index, flag, value = _Plain.testany(requests, status)
        _after_test("testany", requests, [index] if flag and index >= 0 else (), [status])
        return index, flag, value

    @classmethod
    def Testsome(cls, requests, statuses=None) -> list[int] | None:
        statuses = _extended(statuses, len(requests))
        indices = _Plain.Testsome(requests, statuses)
        _after_test("Testsome", requests, indices or (), statuses)
        return indices

    @classmethod
    def testsome(cls, requests, statuses=None) -> tuple[list[int] | None, list | None]:
        statuses = _extended(statuses, len(requests))
        indices, values = _Plain.testsome(requests, statuses)
        _after_test("testsome", requests, indices or (), statuses)
        return indices, values


class TracedPrequest(TracedRequest, MPI.Prequest):
    """A persistent request: each start is an operation of its own, recorded as an Isend or Irecv."""

    begun: dict[str, Any] | None = None  # what `recorder.begin` is told at each start

    @classmethod
    def of(cls, request: MPI.Prequest, begun: dict[str, Any], comm: MPI.Comm | None) -> TracedPrequest:
        made = cls(request)
        made.begun, made.comm = begun, comm
        return made

    def Start(self) -> None:
        if self.begun is not None:
            self.token = recorder.begin(**self.begun, blocking=False)
        super().Start()

    @classmethod
    def Startall(cls, requests) -> None:
        for request in requests:
            request.Start()


class TracedMessage(MPI.Message):
    """Message.Probe and its like take a message as a communicator's Mprobe does, and leave the same trace."""

    @classmethod
    def Probe(cls, comm, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        return comm.Mprobe(source, tag, status)

    @classmethod
    def probe(cls, comm, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        return comm.mprobe(source, tag, status)

    @classmethod
    def Iprobe(cls, comm, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        return comm.Improbe(source, tag, status)

    @classmethod
    def iprobe(cls, comm, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        return comm.improbe(source, tag, status)


def _extended(statuses: list[MPI.Status] | None, size: int) -> list[MPI.Status]:
    """The caller's list (lengthened in place, as mpi4py does) or a new one."""
    statuses = [] if statuses is None else statuses
    statuses += [MPI.Status() for _ in range(size - len(statuses))]
    return statuses


def _before_any(requests, status: MPI.Status | None) -> MPI.Status:
    recorder.waiting(next((token for request in requests if (token := getattr(request, "token", 0))), 0))
    return status or MPI.Status()


def _after_any(requests, index: int, status: MPI.Status) -> int:
    if index >= 0:
        _done(requests[index], status)
    return index


def _after_some(requests, indices: list[int] | None, statuses: list[MPI.Status]) -> list[int] | None:
    for index, status in zip(indices or (), statuses, strict=False):
        _done(requests[index], status)
    return indices


def _after_test(kind: str, requests, indices, statuses: list[MPI.Status]) -> None:
    for index, status in zip(indices, statuses, strict=False):
        _done(requests[index], status)
    if not indices:
        recorder.polled(kind)


def _done(request: MPI.Request, status: MPI.Status) -> None:
    if isinstance(request, TracedRequest):
        request.done(status)
