"""A step as real code: ranks that send, receive, all-reduce and compute for virtual seconds, on the relay. For a few
hundred ranks; it is what the replay and the formulas are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labkit.relay.outcome import Outcome
from labkit.relay.topology import Topology
from labkit.scale.step import Order, Step


def run_step(step: Step, topology: Topology, order: Callable | Sequence[Order]) -> Outcome:
    """One step on the relay, its ranks threads of this process. The outcome has `.elapsed`, `.ranks[r].busy`,
    `.link_bytes` and `.events`. Backward passes are whole: raises ValueError for an order with ("W", k). Raises
    RuntimeError where a rank raised or the ranks stand still."""
    from labkit.relay.threads import ThreadedRanks  # with torch

    orders, mesh = step.orders(order), step.mesh
    if any(action[0] not in ("F", "B") for one in orders for action in one):
        raise ValueError("an order of real ranks has whole forward and backward passes, F and B, alone")
    mine = [(step, r, orders[mesh.coordinates(r)["pipeline"]]) for r in range(mesh.size)]
    outcome = ThreadedRanks(mesh.size, topology=topology).run(_one_step, mine)
    if outcome.hang:
        raise RuntimeError(str(outcome.hang))
    for r, rank in enumerate(outcome.ranks):
        if rank.state == "raised":
            raise RuntimeError(f"rank {r} raised {rank.error['type']}: {rank.error['text']}")
    return outcome


def _one_step(step: Step, rank: int, order: Order) -> None:
    _Rank(step, rank).run([(*action, 0)[:3] for action in order])


class _Rank:
    """One rank's part of the step: its actions and its communication."""

    def __init__(self, step: Step, rank: int):
        import torch
        import torch.distributed as dist

        self.step, self.torch, self.dist = step, torch, dist
        self.at = step.mesh.coordinates(rank)
        self.tensor, self.replicas = self._group("tensor"), self._group("data", "context")
        self.stage = self._group("data", "context", "tensor")
        self.sent: list = []

    def _group(self, *axes: str):
        ranks = sorted(self._peer(**where) for where in _everywhere(self.step.mesh, axes))
        return self.dist.new_group(ranks, use_local_synchronization=True) if len(ranks) > 1 else None

    def _peer(self, **where: int) -> int:
        return self.step.mesh.rank(**{**self.at, **where})

    def _bytes(self, n: int):
        return self.torch.zeros(n, dtype=self.torch.uint8)

    def run(self, order: list[tuple]) -> None:
        """All receives are posted first, and nobody waits for a send before its last action."""
        coming = {action: self._receive(*action) for action in order}
        for what, k, j in order:
            if coming[what, k, j] is not None:
                coming[what, k, j].wait()
            self._gather(self.step.zero == 3, self.step.shard_bytes)
            self._layers(what, k, j)
            self._scatter(self.step.zero >= 2 and what == "B", self.step.gradient_bytes)
            self._hand_on(what, k, j)
        self._leave_the_pipeline()
        whole, shards = self.step.chunks * self.step.gradient_bytes, self.step.chunks * self.step.shard_bytes
        if self.step.zero == 0 and self.replicas:
            self.dist.all_reduce(self._bytes(whole), group=self.replicas)
        self._scatter(self.step.zero == 1, whole)
        self._gather(self.step.zero in (1, 2), shards)
        for request in self.sent:
            request.wait()

    def _leave_the_pipeline(self) -> None:
        """The last gradients that a stage sends to the one before must not queue behind those that its replicas add up:
        it waits until they are there. The first stage, which is done last, has none to send."""
        if self.at["pipeline"] > 0 and self.stage:
            for request in self.sent:
                request.wait()
            self.sent = []
            self.dist.barrier(group=self.stage)

    def _layers(self, what: str, k: int, j: int) -> None:
        from labkit.relay.charging import compute

        step, chunk = self.step, self.at["pipeline"] + j * self.step.mesh.pipeline
        for _ in range(step.layers_of[chunk]):
            for _ in range(step.mesh.context - 1):
                self._ring(step.context_bytes * (1 if what == "F" else 2))
            compute(step.forward if what == "F" else step.backward, f"{what}{k}")
            for _ in range(2 if self.tensor else 0):
                self.dist.all_reduce(self._bytes(step.tensor_bytes), group=self.tensor)
        if step.head and chunk == len(step.layers_of) - 1:
            compute(step.head * (1 if what == "F" else 2), f"{what}{k}")

    def _ring(self, nbytes: int) -> None:
        here, length = self.at["context"], self.step.mesh.context
        requests = [
            self.dist.irecv(self._bytes(nbytes), self._peer(context=(here - 1) % length)),
            self.dist.isend(self._bytes(nbytes), self._peer(context=(here + 1) % length)),
        ]
        for request in requests:
            request.wait()

    def _gather(self, does: bool, nbytes: int) -> None:
        if does and self.replicas:
            whole = [self._bytes(nbytes) for _ in range(self.step.mesh.replicas)]
            self.dist.all_gather(whole, self._bytes(nbytes), group=self.replicas)

    def _scatter(self, does: bool, nbytes: int) -> None:
        if does and self.replicas:
            parts = list(self._bytes(nbytes).chunk(self.step.mesh.replicas))
            self.dist.reduce_scatter(self._bytes(len(parts[0])), parts, group=self.replicas)

    def _tag(self, what: str, k: int, chunk: int) -> int:
        """The number of the action that needs the message; 0 is the ring's."""
        return 1 + ((what == "B") * len(self.step.layers_of) + chunk) * self.step.micro_batches + k

    def _neighbour(self, what: str, j: int, onward: bool) -> tuple[int, int] | None:
        """The chunk that an action hands on to, or gets from, and its rank; None: there is none, or it is here."""
        p = self.step.mesh.pipeline
        chunk = self.at["pipeline"] + j * p + (1 if (what == "F") == onward else -1)
        if p == 1 or not 0 <= chunk < len(self.step.layers_of):
            return None
        return chunk, self._peer(pipeline=chunk % p)

    def _receive(self, what: str, k: int, j: int):
        found = self._neighbour(what, j, False)
        if found is None:
            return None
        tag = self._tag(what, k, self.at["pipeline"] + j * self.step.mesh.pipeline)
        return self.dist.irecv(self._bytes(self.step.hop_bytes), found[1], tag=tag)

    def _hand_on(self, what: str, k: int, j: int) -> None:
        if found := self._neighbour(what, j, True):
            tag = self._tag(what, k, found[0])
            self.sent.append(self.dist.isend(self._bytes(self.step.hop_bytes), found[1], tag=tag))


def _everywhere(mesh, axes: tuple[str, ...]) -> list[dict[str, int]]:
    found: list[dict[str, int]] = [{}]
    for axis in axes:
        found = [{**where, axis: at} for where in found for at in range(getattr(mesh, axis))]
    return found
