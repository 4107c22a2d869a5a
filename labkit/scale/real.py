"""A step as real code: ranks that send, receive, all-reduce and compute for virtual seconds, on the relay. For a few
hundred ranks; it is what the replay and the formulas are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from labkit.interconnect.topology import Topology
from labkit.relay.outcome import Outcome
from labkit.scale.step import Order, Step
from labkit.scale.uses import Use, at_the_end, at_the_end_of_experts, pieces, uses


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
    which = _HidingRank if step.hides_replicas else _Rank
    which(step, rank).run([(*action, 0)[:3] for action in order])


class _Rank:
    """One rank's part of the step: its actions and its communication."""

    def __init__(self, step: Step, rank: int):
        import torch
        import torch.distributed as dist

        self.step, self.torch, self.dist = step, torch, dist
        self.at = step.mesh.coordinates(rank)
        self.tensor, self.replicas = self._group("tensor"), self._group("data", "context")
        self.stage = self._group("data", "context", "tensor")
        self.experts, self.copies = map(self._of, step.mesh.with_experts(rank))
        self.sent: list = []
        self.reducing: list = []

    def _group(self, *axes: str):
        return self._of(sorted(self._peer(**where) for where in _everywhere(self.step.mesh, axes)))

    def _of(self, ranks: list[int]):
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
            if self.step.zero == 3:
                self._together("all_gather", self.step.shard_bytes, self.step.expert_shard_bytes)
            self._layers(what, k, j)
            if self.step.zero >= 2 and what == "B":
                self._together("reduce_scatter", self.step.gradient_bytes, self.step.expert_gradient_bytes)
            self._hand_on(what, k, j)
        self._leave_the_pipeline()
        self._at_the_end()

    def _together(self, kind: str, shared: int, routed: int) -> None:
        """A collective of the replicas, and one of those who hold the same experts."""
        if self.replicas:
            self._begin(kind, shared).wait()
        if self.copies and routed:
            self._begin(kind, routed, self.copies).wait()

    def _at_the_end(self) -> None:
        for kind, nbytes in at_the_end(self.step):
            if self.replicas:
                self._begin(kind, nbytes).wait()
        for kind, nbytes in at_the_end_of_experts(self.step):
            self._begin(kind, nbytes, self.copies).wait()
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
        chunk = self._chunk(j)
        for _ in range(self.step.layers_of[chunk]):
            self._layer(what, k)
        self._head(what, k, chunk)

    def _chunk(self, j: int) -> int:
        return self.at["pipeline"] + j * self.step.mesh.pipeline

    def _layer(self, what: str, k: int) -> None:
        """A layer in as many parts as the step says: the all-reduces of one part go on while the next is computed."""
        from labkit.relay.charging import compute

        step, parts, works = self.step, self.step.overlap.tensor, []
        for _ in range(step.mesh.context - 1):
            self._ring(step.context_bytes * (1 if what == "F" else 2))
        for nbytes in pieces(step.tensor_bytes, parts):
            compute((step.forward if what == "F" else step.backward) / parts, f"{what}{k}")
            for _ in range(2 if self.tensor else 0):
                works.append(self.dist.all_reduce(self._bytes(nbytes), group=self.tensor, async_op=True))
                if parts == 1:
                    works.pop().wait()
        for work in works:
            work.wait()
        for _ in range(2 if self.experts and step.expert_bytes else 0):  # to the experts and back
            there, back = self._bytes(step.expert_bytes), self._bytes(step.expert_bytes)
            self.dist.all_to_all_single(there, back, group=self.experts)

    def _head(self, what: str, k: int, chunk: int) -> None:
        from labkit.relay.charging import compute

        if self.step.head and chunk == len(self.step.layers_of) - 1:
            compute(self.step.head * (1 if what == "F" else 2), f"{what}{k}")

    def _ring(self, nbytes: int) -> None:
        here, length = self.at["context"], self.step.mesh.context
        requests = [
            self.dist.irecv(self._bytes(nbytes), self._peer(context=(here - 1) % length)),
            self.dist.isend(self._bytes(nbytes), self._peer(context=(here + 1) % length)),
        ]
        for request in requests:
            request.wait()

    def _begin(self, kind: str, nbytes: int, group=None):
        """A collective of the replicas, or of this group, begun. nbytes: that a rank contributes."""
        group = group or self.replicas
        if kind == "all_reduce":
            return self.dist.all_reduce(self._bytes(nbytes), group=group, async_op=True)
        members = self.dist.get_world_size(group)
        if kind == "all_gather":
            whole = [self._bytes(nbytes) for _ in range(members)]
            return self.dist.all_gather(whole, self._bytes(nbytes), group=group, async_op=True)
        parts = list(self._bytes(nbytes).chunk(members))
        return self.dist.reduce_scatter(self._bytes(len(parts[0])), parts, group=group, async_op=True)

    def _tag(self, what: str, k: int, chunk: int) -> int:
        """The number of the action that needs the message; 0 is the ring's."""
        return 1 + ((what == "B") * len(self.step.layers_of) + chunk) * self.step.micro_batches + k

    def _neighbour(self, what: str, j: int, onward: bool) -> tuple[int, int] | None:
        """The chunk that an action hands on to, or gets from, and its rank; None: there is none, or it is here."""
        p = self.step.mesh.pipeline
        chunk = self._chunk(j) + (1 if (what == "F") == onward else -1)
        if p == 1 or not 0 <= chunk < len(self.step.layers_of):
            return None
        return chunk, self._peer(pipeline=chunk % p)

    def _receive(self, what: str, k: int, j: int):
        found = self._neighbour(what, j, False)
        if found is None:
            return None
        tag = self._tag(what, k, self._chunk(j))
        return self.dist.irecv(self._bytes(self.step.hop_bytes), found[1], tag=tag)

    def _hand_on(self, what: str, k: int, j: int) -> None:
        if found := self._neighbour(what, j, True):
            tag = self._tag(what, k, found[0])
            self.sent.append(self.dist.isend(self._bytes(self.step.hop_bytes), found[1], tag=tag))


class _HidingRank(_Rank):
    """The same with collectives of the replicas that go on while the rank computes."""

    def run(self, order: list[tuple]) -> None:
        """All receives are posted first; a gather is begun some layers ahead and waited for where its weights are
        needed; a bucket's reduction is begun when it is full, and waited for at the end."""
        step, coming = self.step, {action: self._receive(*action) for action in order}
        passes = list(uses(step, self.at["pipeline"], order))
        self.every, self.begun, self.gathers, place = [use for one in passes for use in one], 0, {}, 0
        self._gather_until(step.gathers_ahead)
        for (what, k, j), layers in zip(order, passes, strict=True):
            if coming[what, k, j] is not None:
                coming[what, k, j].wait()
            for use in layers:
                self._gather_until(place + step.gathers_ahead + 1)
                if place in self.gathers:
                    self.gathers.pop(place).wait()
                self._use(use, what, k, j)
                place += 1
        self._at_the_end()

    def _gather_until(self, place: int) -> None:
        for one in range(self.begun, min(place, len(self.every))):
            if self.every[one].gather:
                self.gathers[one] = self._begin("all_gather", self.every[one].gather)
        self.begun = max(self.begun, place)

    def _use(self, use: Use, what: str, k: int, j: int) -> None:
        """One layer; at the end of a pass its message to the next stage goes before the last bucket."""
        if use.computes:
            self._layer(what, k)
        if use.last:
            self._head(what, k, self._chunk(j))
            self._hand_on(what, k, j)
        for nbytes in pieces(use.reduce, use.buckets, self.step.mesh.replicas) if use.reduce else ():
            work = self._begin("reduce_scatter" if self.step.zero else "all_reduce", nbytes)
            if self.step.overlap.gradients is None:
                work.wait()
            else:
                self.reducing.append(work)

    def _at_the_end(self) -> None:
        for work in self.reducing:
            work.wait()
        super()._at_the_end()


def _everywhere(mesh, axes: tuple[str, ...]) -> list[dict[str, int]]:
    found: list[dict[str, int]] = [{}]
    for axis in axes:
        found = [{**where, axis: at} for where in found for at in range(getattr(mesh, axis))]
    return found
