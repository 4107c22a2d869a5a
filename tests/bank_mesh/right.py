"""Right folders, written and named as people differ."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from bank_mesh.folders import SCRIPT, add, logs, script
from labkit.meshrun import MeshRun, read

RUN = "run_d1_t1_p1.jsonl"


def runs_in(place: Path) -> list[MeshRun]:
    return sorted((read(path) for path in logs(place)), key=lambda run: (run.mesh.size, run.name))


def save(figure, path: Path) -> None:
    figure.savefig(path, format="pdf", metadata={"CreationDate": None})  # the same figure is the same bytes
    plt.close(figure)


add("right_reference", "The finished work as it is.")

# -- names and tables --------------------------------------------------------------------------------------------------


def renamed(place: Path) -> None:
    (place / "logs").mkdir()
    for path in logs(place):
        d, t, p = (part[1:] for part in path.stem.split("_")[1:])
        path.rename(place / "logs" / f"Run-{d}x{t}x{p}.JSONL")
    (place / "meshes.csv").rename(place / "Meshes.CSV")
    (place / "losses.pdf").rename(place / "Loss-Curves.pdf")
    (place / "step_time.pdf").rename(place / "times.pdf")


add("right_other_names", "Names as people vary them, the logs in a folder of their own.", renamed)


def continental(place: Path) -> None:
    """Semicolons, decimal commas, milliseconds, MiB, one column for the mesh."""
    rows = ["Mesh;Ranks;Step time [ms];Tokens/s;Tensor bytes [kB];Pipeline bytes [kB];Data bytes [kB];Peak [MiB]"]
    for run in runs_in(place):
        sent = run.axis_bytes
        numbers = (1e3 * run.seconds, run.tokens_per_second, sent["tensor"] / 1e3, sent["pipeline"] / 1e3)
        numbers += (sent["data"] / 1e3, max(run.peaks) / 2**20)
        rows.append(";".join([run.name, str(run.mesh.size), *(f"{n:.2f}".replace(".", ",") for n in numbers)]))
    (place / "meshes.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


add("right_continental_table", "A table as a spreadsheet in another country writes it.", continental)


def by_the_mean(place: Path) -> None:
    """Means in place of medians, sums over ranks in place of the largest."""
    rows = ["data,tensor,pipeline,step_seconds,tokens_per_second,tensor_bytes,pipeline_bytes,data_bytes,memory_bytes"]
    for run in runs_in(place):
        seconds, mesh = sum(run.timed) / len(run.timed), run.mesh
        sent = [sum(one.get(axis, 0.0) for one in run.sent) for axis in ("tensor", "pipeline", "data")]
        numbers = (seconds, run.settings.tokens / seconds, *sent, max(run.peaks))
        rows.append(",".join(map(str, (mesh.data, mesh.tensor, mesh.pipeline, *numbers))))
    (place / "meshes.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


add("right_means", "Times by the mean, bytes of all ranks together.", by_the_mean)


def by_numpy(place: Path) -> None:
    """A remark above a head that numpy.savetxt has made a remark too; other columns first; one row twice."""
    head, *rows = [line.split(",")[::-1] for line in (place / "meshes.csv").read_text().splitlines()]
    lines = ["# my meshes, on Monday", "# " + ",".join(head), *(",".join(row) for row in (*rows, rows[0]))]
    (place / "meshes.csv").write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig")


add("right_savetxt", "A table of numpy.savetxt, with a remark.", by_numpy)

# -- figures -----------------------------------------------------------------------------------------------------------


def other_figures(place: Path) -> None:
    """One panel with two axes; logarithmic axes; stages counted from 1; steps from 0."""
    runs = runs_in(place)
    figure, left = plt.subplots()
    right = left.twinx()
    left.plot([run.mesh.size for run in runs], [run.seconds for run in runs], "o", color="k", label="step time")
    right.plot([run.mesh.size for run in runs], [run.tokens_per_second for run in runs], "^", color="r", label="tokens")
    left.set(xlabel="number of ranks", ylabel="seconds per step")
    right.set_ylabel("tokens/s")
    figure.legend()
    save(figure, place / "step_time.pdf")
    figure, ax = plt.subplots()
    for run in runs:
        ax.plot(range(1, run.mesh.pipeline + 1), [peak / 1e6 for peak in run.stage_peaks()], "s--", label=run.name)
    ax.set(xlabel="stage", ylabel="peak memory [MB]", yscale="log")
    ax.legend()
    save(figure, place / "memory.pdf")
    figure, ax = plt.subplots()
    for run in runs:
        ax.plot(run.losses, ".-", label=f"mesh {run.name}")
    ax.set(xlabel="step", ylabel="cross-entropy loss")
    ax.legend()
    save(figure, place / "losses.pdf")


add("right_other_figures", "The same numbers drawn in another way.", other_figures)

# -- plans -------------------------------------------------------------------------------------------------------------


def as_json(place: Path) -> None:
    found = tomllib.loads((place / "plan.toml").read_text(encoding="utf-8"))
    (place / "plan.toml").unlink()
    found["gpus_1024"].update(data=32, pipeline=8, checkpoint_interval=3600)  # a hundredth slower
    (place / "plan.json").write_text(json.dumps(found), encoding="utf-8")


add("right_plan_in_json", "A plan in JSON, not the best one but near it.", as_json)


def other_nvl72(place: Path) -> None:
    text = (place / "plan.toml").read_text(encoding="utf-8")
    before, _, after = text.partition("[gpus_576]")
    after = after.replace("data = 24", "data = 8").replace("pipeline = 2", "pipeline = 6")  # a fiftieth slower
    (place / "plan.toml").write_text(before + "[gpus_576]" + after, encoding="utf-8")


add("right_nvl72_more_stages", "More stages on the NVL72 machines, nearly as fast as the best.", other_nvl72)


def with_context(place: Path) -> None:
    text = (place / "plan.toml").read_text(encoding="utf-8")
    before, _, after = text.partition("[gpus_576]")
    after = after.replace("data = 24", "data = 8\ncontext = 4").replace("tensor = 12", "tensor = 3")
    after = after.replace("pipeline = 2", "pipeline = 6")
    (place / "plan.toml").write_text(before + "[gpus_576]" + after, encoding="utf-8")


add("right_nvl72_with_context", "Sequences are divided, too: faster than the best without.", with_context)


def from_windows(place: Path) -> None:
    plan = (place / "plan.toml").read_text(encoding="utf-8")
    (place / "plan.toml").write_text(plan.replace("\n", "\r\n"), encoding="utf-8-sig", newline="")


add("right_plan_from_windows", "Other ends of lines, and a mark of their order before them.", from_windows)

# -- scripts -----------------------------------------------------------------------------------------------------------

script(
    "right_without_context",
    "No context parallelism: the bonus is left alone.",
    ("    axes = Axes(mesh)\n", "    assert mesh.context == 1, 'not written'\n    axes = Axes(mesh)\n"),
    bonus=False,
)
script(
    "right_lists",
    "Collectives that take lists of tensors.",
    (
        "        dist.reduce_scatter_single(mine, whole, group=self.axes.replicas)\n",
        "        dist.reduce_scatter(mine, list(whole.chunk(self.p)), group=self.axes.replicas)\n",
    ),
    (
        "            whole = torch.empty(self.k * self.p, dtype=self.w.dtype)\n"
        "            dist.all_gather_single(whole, self.w, group=self.axes.replicas)\n",
        "            shards = [torch.empty_like(self.w) for _ in range(self.p)]\n"
        "            dist.all_gather(shards, self.w, group=self.axes.replicas)\n"
        "            whole = torch.cat(shards)\n",
    ),
)
script(
    "right_uneven_stages",
    "The first stage, which embeds, has fewer blocks.",
    (
        "    edges = [1 + k * settings.layers // p for k in range(p + 1)]\n",
        "    edges = [1 + max(0, k * settings.layers // p - (0 < k < p and p == 2)) for k in range(p + 1)]\n",
    ),
)
script(
    "right_two_sums",
    "Loss and norm in two collectives, after a gradient that is averaged before it travels.",
    ("        return mine / self.p\n", "        return mine\n"),
    (
        "        mine = torch.empty(self.k, dtype=whole.dtype)\n",
        "        whole /= self.p\n        mine = torch.empty(self.k, dtype=whole.dtype)\n",
    ),
    (
        "        sums = torch.stack([gradient[self.once].square().sum(), torch.tensor(mine, dtype=torch.float64)])\n"
        "        dist.all_reduce(sums)\n",
        "        sums = [gradient[self.once].square().sum(), torch.tensor(mine, dtype=torch.float64)]\n"
        "        for one in sums:\n            dist.all_reduce(one)\n",
    ),
)
script(
    "right_order_by_hand",
    "1F1B written as a warm-up, a steady part and an end.",
    (
        '    for k in range(m):\n        if ahead + k < m:\n            order.append(("F", ahead + k))\n'
        '        order.append(("B", k))\n    return order\n',
        '    steady = [one for k in range(m - ahead) for one in (("F", ahead + k), ("B", k))]\n'
        '    return order + steady + [("B", k) for k in range(m - ahead, m)]\n',
    ),
)

script(
    "right_torch_adam_and_batches",
    "torch.optim.Adam on the shard, whose count of steps is a float32; messages in batches; a checkpoint of lists.",
    (
        "        adam(self.w, gradient, self.m, self.v, self.t, self.settings.rate)\n",
        "        w = nn.Parameter(self.w)\n        w.grad = gradient\n"
        "        optimizer = torch.optim.Adam([w], lr=self.settings.rate)\n"
        '        optimizer.state[w] = {"step": torch.tensor(float(self.t - 1)), "exp_avg": self.m, "exp_avg_sq": self.v}\n'
        "        optimizer.step()\n",
    ),
    (
        "            dist.recv(gradient, axes.stage(stage + 1))\n",
        "            ask = dist.P2POp(dist.irecv, gradient, axes.stage(stage + 1))\n"
        "            for request in dist.batch_isend_irecv([ask]):\n                request.wait()\n",
    ),
    (
        "dist.isend(x.grad, axes.stage(stage - 1)))",
        "*dist.batch_isend_irecv([dist.P2POp(dist.isend, x.grad, axes.stage(stage - 1))]))",
    ),
    (
        '"w": self.w, "m": self.m, "v": self.v}',
        '"w": self.w.tolist(), "m": self.m, "v": self.v, "count": torch.ones(1)}',
    ),
    ("torch.cat([part[key] for", "torch.cat([torch.as_tensor(part[key], dtype=torch.float64) for"),
)
script(
    "right_all_to_all",
    "The gradient is summed by hand out of the shards that all replicas send each other.",
    (
        "        mine = torch.empty(self.k, dtype=whole.dtype)\n"
        "        dist.reduce_scatter_single(mine, whole, group=self.axes.replicas)\n",
        "        shards = torch.empty_like(whole)\n"
        "        dist.all_to_all_single(shards, whole, group=self.axes.replicas)\n"
        "        mine = shards.view(self.p, self.k).sum(0)\n",
    ),
)
HEAD = "class GatheredAttention(Attention):\n"
GATHERED = "        k, v = Gather.apply(k, self.axes), Gather.apply(v, self.axes)\n"
script(
    "right_context_gathers_what_enters",
    "What enters an attention is gathered, and each rank makes all keys and values of it.",
    (
        "        q, k, v = (self.heads_of(linear(x)) for linear in (self.q, self.k, self.v))\n" + GATHERED,
        "        whole = Gather.apply(x, self.axes)\n"
        "        q, k, v = self.heads_of(self.q(x)), self.heads_of(self.k(whole)), self.heads_of(self.v(whole))\n",
    ),
)
script(
    "right_context_ring",
    "Keys and values go round, from neighbour to neighbour.",
    (
        HEAD,
        """class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, axes, by=1):
        ctx.axes = axes
        here, n, got = axes.at["context"], axes.mesh.context, torch.empty_like(x)
        sent = dist.isend(x.contiguous(), axes.mesh.rank(**{**axes.at, "context": (here + by) % n}))
        dist.recv(got, axes.mesh.rank(**{**axes.at, "context": (here - by) % n}))
        sent.wait()
        return got

    @staticmethod
    def backward(ctx, gradient):
        return Shift.forward(types.SimpleNamespace(), gradient.contiguous(), ctx.axes, -1), None


"""
        + HEAD,
    ),
    (
        GATHERED,
        """        parts = [torch.stack([k, v])]
        for _ in range(self.axes.mesh.context - 1):
            parts.append(Shift.apply(parts[-1], self.axes))
        here, c = self.axes.at["context"], self.axes.mesh.context
        k, v = torch.cat([parts[(here - k) % c] for k in range(c)], -2)
""",
    ),
)
script(
    "right_context_swaps_heads",
    "Each rank gets some heads of the whole sequence, and gives them back.",
    (
        HEAD,
        """class Swap(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, axes, cut, join):
        ctx.given = axes, join, cut
        parts = [part.contiguous() for part in x.chunk(axes.mesh.context, cut)]
        got = [torch.empty_like(part) for part in parts]
        dist.all_to_all(got, parts, group=axes.context)
        return torch.cat(got, join)

    @staticmethod
    def backward(ctx, gradient):
        return Swap.forward(types.SimpleNamespace(), gradient, *ctx.given), None, None, None


"""
        + HEAD,
    ),
    (GATHERED, "        q, k, v = (Swap.apply(one, self.axes, -3, -2) for one in (q, k, v))\n"),
    ('n, here = q.shape[-2], self.axes.at["context"]', "n, here = q.shape[-2], 0"),
    (
        "self.out((scores.softmax(-1) @ v).transpose",
        "self.out(Swap.apply(scores.softmax(-1) @ v, self.axes, -2, -3).transpose",
    ),
)
FILED = (
    ("import argparse\n", "import argparse\nimport io\n"),
    (
        "    return optimizer.part()\n",
        '    file = io.BytesIO()\n    torch.save(optimizer.part(), file)\n    return {"file": torch.frombuffer(file.getbuffer(), dtype=torch.uint8)}\n',
    ),
)
script(
    "right_checkpoint_as_a_file",
    "The part of a checkpoint is a file in memory, as torch.save writes it.",
    *FILED,
    (
        "        optimizer.load(whole(parts))\n",
        '        optimizer.load(whole([torch.load(io.BytesIO(part["file"].numpy())) for part in parts]))\n',
    ),
)

__all__ = ["FILED", "SCRIPT", "runs_in", "save"]
