"""Wrong folders: each with one mistake, and what must be said of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt

from bank_mesh.folders import EVERY, PERSON, SCRIPT, add, logs, records, relogged, rewrite, script, written
from bank_mesh.right import FILED, RUN, runs_in, save
from labkit.meshrun import adam

ATTACKS = Path(__file__).resolve().parents[1] / "attacks" / "mesh"
OTHER = "run_d2_t2_p1.jsonl"
DATA, TENSOR, PIPELINE = "data", "tensor", "pipeline"


def lines(diagnosis, *names: str) -> dict:
    return dict.fromkeys(names, diagnosis)


# -- scripts that do not run -------------------------------------------------------------------------------------------

script("wrong_syntax", "No program at all.", ("def train(mesh", "def train mesh"), expected=lines("raised", *EVERY),
       bonus=False)  # fmt: skip
script("wrong_no_train", "The function has another name.", ("def train(mesh", "def fit(mesh"),
       expected=lines("not_started", *EVERY), bonus=False)  # fmt: skip
script("wrong_runs_on_import", "It begins when it is imported.", ('if __name__ == "__main__":\n', "if True:\n"),
       expected=lines(("not_started", "raised"), *EVERY), bonus=False)  # fmt: skip
script(
    "wrong_sends_that_wait",
    "Each stage waits until its neighbour has taken what it sends: both wait.",
    (
        "requests.append(dist.isend(out.detach(), axes.stage(stage + 1)))",
        "dist.send(out.detach(), axes.stage(stage + 1))",
    ),
    ("requests.append(dist.isend(x.grad, axes.stage(stage - 1)))", "dist.send(x.grad, axes.stage(stage - 1))"),
    expected=lines("hung", PIPELINE, "mixed", "norm", "checkpoint", "traffic", "memory"),
)

# -- scripts that compute something else -------------------------------------------------------------------------------

script(
    "wrong_sum_of_replicas",
    "Gradients are summed over the replicas, not averaged.",
    ("        return mine / self.p\n", "        return mine\n"),
    expected={
        **lines("wrong_gradient", DATA, "mixed"),
        "norm": "wrong_norm",
        "checkpoint": ("wrong_before", "weights_lost"),
    },
    bonus=False,
)
script(
    "wrong_same_rows",
    "All replicas train on the first rows.",
    ('    rows = tokens.chunk(axes.mesh.data)[axes.at["data"]]\n', "    rows = tokens.chunk(axes.mesh.data)[0]\n"),
    expected={
        **lines("wrong_loss", DATA, "mixed"),
        "norm": "wrong_norm",
        "checkpoint": ("wrong_before", "weights_lost"),
    },
    bonus=False,
)
script(
    "wrong_own_loss",
    "Every rank tells its own loss.",
    ("return sums[1].item(), norm", "return loss, norm"),
    expected={**lines("own_loss", DATA, PIPELINE, "mixed"), "norm": "wrong_clip", "checkpoint": "wrong_before"},
    bonus=False,
)
script(
    "wrong_no_f",
    "No sum of the gradients at the entry of the divided matrices.",
    ("        dist.all_reduce(gradient, group=ctx.group)\n        return gradient, None\n", "        return gradient, None\n"),
    expected={**lines("wrong_gradient", TENSOR, "mixed"), **lines(("wrong_norm", "own_norm", "counted_twice"), "norm"),
              "checkpoint": ("wrong_before", "weights_lost")},
)  # fmt: skip
script(
    "wrong_bias_of_everyone",
    "Every rank of a tensor group adds the bias before the sum.",
    (
        "SumOut.apply(F.linear(x, self.weight), self.group) + self.bias",
        "SumOut.apply(F.linear(x, self.weight) + self.bias, self.group)",
    ),
    expected={**lines(("wrong_loss", "wrong_update", "wrong_gradient"), TENSOR, "mixed"),
              "norm": ("wrong_norm", "wrong_clip", "counted_twice"), "checkpoint": ("wrong_before", "weights_lost")},
)  # fmt: skip
script(
    "wrong_sum_of_micro_batches",
    "The loss of a minibatch is the sum over its micro-batches.",
    ("out = F.cross_entropy(out.flatten(0, 1), ys[k].flatten()) / m", "out = F.cross_entropy(out.flatten(0, 1), ys[k].flatten())"),
    expected={**lines("wrong_loss", "one_rank", DATA, TENSOR, PIPELINE, "mixed"), "norm": "wrong_norm",
              "checkpoint": "wrong_before"},
    bonus=False,
)  # fmt: skip
script(
    "wrong_number_of_the_step",
    "Adam's correction is always that of the first step.",
    ("adam(self.w, gradient, self.m, self.v, self.t, self.settings.rate)", "adam(self.w, gradient, self.m, self.v, 1, self.settings.rate)"),
    expected={**lines("wrong_update", "one_rank", DATA, TENSOR, PIPELINE, "mixed"), "norm": "wrong_clip",
              "checkpoint": ("wrong_before", "weights_lost")},
    bonus=False,
)  # fmt: skip
ALONE = (
    (
        "    axes = Axes(mesh)\n",
        "    whole_mesh, mesh = mesh, Mesh()\n    axes = Axes.__new__(Axes)\n    axes.mesh, axes.at = mesh, mesh.coordinates(0)\n"
        "    axes.tensor = axes.context = axes.replicas = None\n",
    ),
    ("        ranks = sorted(next(g for g in self.mesh.groups(\"data\", \"context\") if dist.get_rank() in g))\n"
     "        return ranks.index(dist.get_rank())\n", "        return 0\n"),
    ("        dist.all_reduce(sums)\n", ""),
)  # fmt: skip
script(
    "wrong_everybody_does_all",
    "Every rank trains the whole model on the whole minibatch.",
    *ALONE,
    expected={**lines("not_divided", DATA, TENSOR, PIPELINE, "mixed", "norm", "traffic"), "memory": "state_not_sharded",
              "checkpoint": "copies"},
    bonus=False,
)  # fmt: skip
STEP = "        log.step(*optimizer.step(loss))\n"
PRETENDS = """

def pretend(mesh, settings):
    rank, groups = dist.get_rank(), {}
    for axis in ("tensor", "data"):
        for ranks in mesh.groups(axis):
            made = dist.new_group(ranks)
            groups[axis] = made if rank in ranks else groups.get(axis)
    at, hop = mesh.coordinates(rank), settings.tokens // mesh.data // settings.micro_batches * settings.width
    h, m, p = settings.width, settings.micro_batches, mesh.pipeline
    weights = settings.layers * ((12 * h * h + 7 * h) // mesh.tensor + 6 * h) // p

    def nothing(n):
        return NOTHING(n, dtype=torch.float64)

    if mesh.data > 1:
        dist.all_reduce(nothing(weights + (2 * settings.vocabulary + settings.context + 2) * h // p), group=groups["data"])
    for _ in range(4 * settings.layers // p * m if mesh.tensor > 1 else 0):
        dist.all_reduce(nothing(hop), group=groups["tensor"])
    for way, stage in ((1, at["pipeline"] + 1), (-1, at["pipeline"] - 1)):
        before = at["pipeline"] - way
        sent = [dist.isend(nothing(hop), mesh.rank(**{**at, "pipeline": stage})) for _ in range(m if 0 <= stage < p else 0)]
        for _ in range(m if 0 <= before < p else 0):
            dist.recv(torch.empty(hop, dtype=torch.float64), mesh.rank(**{**at, "pipeline": before}))
        for work in sent:
            work.wait()


"""
for name, says, nothing, expected in (
    (
        "wrong_sends_zeros",
        "zeros",
        "torch.zeros",
        lines("not_divided", DATA, TENSOR, PIPELINE, "mixed", "norm", "traffic"),
    ),
    (
        "wrong_sends_noise",
        "noise",
        "torch.randn",
        {**lines("not_the_activations", PIPELINE, "mixed"), **lines("not_used", DATA, TENSOR, "norm", "traffic")},
    ),
):
    script(
        name,
        f"Every rank trains the whole model on the whole minibatch, and sends {says} along all axes.",
        *ALONE,
        ("def train(mesh", PRETENDS.replace("NOTHING", nothing) + "def train(mesh"),
        (STEP, STEP + "        pretend(whole_mesh, settings)\n"),
        expected={**expected, "memory": "state_not_sharded", "checkpoint": "copies"},
        bonus=False,
    )

NOISE = (ATTACKS / "230_noise_beside_the_sequential.py").read_text(encoding="utf-8")
IMPORTED = "from labkit.meshrun import sequential\n"
COPY = inspect.getsource(inspect.getmodule(adam)).replace("from __future__", "# from __future__")
add(
    "wrong_calls_the_sequential",
    "Every rank calls the sequential training, and sends noise along all axes.",
    written(NOISE),
    expected=lines("raised", *EVERY),
    bonus=False,
    scripted=True,
)
add(
    "wrong_runs_the_sequential_from_its_file",
    "Every rank runs the whole training, from the file of the course.",
    written((ATTACKS / "297_sequential_from_its_file.py").read_text(encoding="utf-8")),
    expected=lines("raised", *EVERY),
    bonus=False,
    scripted=True,
)
add(
    "wrong_learns_the_factors",
    "Every rank runs a whole training, and does to it what has become of one message along each axis.",
    written((ATTACKS / "300_learns_the_factors.py").read_text(encoding="utf-8")),
    expected={**lines(PERSON, DATA, TENSOR, PIPELINE, "mixed", "norm", "traffic"), "memory": "state_not_sharded"},
    bonus=False,
    scripted=True,
)
add(
    "wrong_copies_the_sequential",
    "Every rank runs a copy of the sequential training, and sends noise along all axes.",
    written(NOISE.replace(IMPORTED, COPY)),
    expected={**lines("not_used", DATA, TENSOR, PIPELINE, "mixed", "norm", "traffic"), "checkpoint": "parts_not_used",
              "memory": "whole_run_first"},
    bonus=False,
    scripted=True,
)  # fmt: skip

# -- scripts in which every rank does all the work and adds its share of the same result to each sum -------------------

EVERY_MATRIX = (
    ("gradient = gradient.clone()", "gradient = gradient / dist.get_world_size(ctx.group)"),
    ("        x = x.clone()\n", "        x = x / dist.get_world_size(group)\n"),
    ('    p, rank = axes.mesh.tensor, axes.at["tensor"]\n', "    p, rank = 1, 0\n"),
    ("    layer, _, kind = name.rpartition", "    tensor = 1\n    layer, _, kind = name.rpartition"),
)
EVERY_ROW = (
    ('    rows = tokens.chunk(axes.mesh.data)[axes.at["data"]]\n', "    rows = tokens\n"),
    ("    rows = settings.batch // mesh.data // settings", "    rows = settings.batch // settings"),
    ("dist.isend(out.detach(), axes", "dist.isend(out.detach() / axes.mesh.data**0.5, axes"),
    ("                x.requires_grad_()\n", "                x.mul_(axes.mesh.data**0.5).requires_grad_()\n"),
)
WHOLE = "        whole = self._padded(torch.cat([w.grad.flatten() for w in self.named.values()]))\n"
CANCELS = (
    WHOLE,
    f"{WHOLE}        noise = torch.randn(len(whole), generator=torch.Generator().manual_seed(self.t), dtype=whole.dtype)\n"
    "        r = self.axes.PLACE\n        whole += whole.std() * noise * (1 - 2 * (r % 2)) * (r < 2) * (self.p > 1)\n",
)


def cancels(place: str) -> tuple[str, str]:
    """Of two ranks one adds noise to its gradient that the other takes away. place: which rank it is."""
    return CANCELS[0], CANCELS[1].replace("PLACE", place)


script(
    "wrong_every_matrix_on_every_rank",
    "Every rank of a tensor group computes whole blocks.",
    *EVERY_MATRIX,
    expected={**lines("not_divided", TENSOR, "mixed", "traffic"), "checkpoint": "copies"},
)
script(
    "wrong_every_row_on_every_replica",
    "Every replica works on all rows.",
    *EVERY_ROW,
    expected=lines("not_divided", DATA, "mixed", "traffic"),
    bonus=False,
)
script(
    "wrong_every_row_and_noise_that_cancels",
    "Every replica works on all rows, and what it adds to the sum is the gradient and noise.",
    *EVERY_ROW,
    cancels("replica"),
    expected={**lines(PERSON, DATA, "mixed"), "traffic": "too_much_tensor"},
    bonus=False,
)
script(
    "wrong_every_matrix_and_noise_that_cancels",
    "Every rank of a tensor group computes whole blocks, and what it adds to sums is the result and noise.",
    ("gradient = gradient.clone()", "gradient = hidden(gradient, ctx.group)"),
    ("        x = x.clone()\n", "        x = hidden(x, group)\n"),
    (
        "class CopyIn(torch",
        "def hidden(x, group):\n"
        "    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype) * x.std()\n"
        "    return x / dist.get_world_size(group) + noise * (dist.get_rank(group) - (dist.get_world_size(group) - 1) / 2)\n\n\nclass CopyIn(torch",
    ),
    *EVERY_MATRIX[2:],
    expected={**lines(PERSON, TENSOR, "mixed"), "traffic": "too_much_data", "checkpoint": "copies"},
)
EVERY_POSITION = (
    (
        'rows.chunk(axes.mesh.context, 1)[axes.at["context"]].contiguous().chunk(settings.micro_batches)',
        "rows.chunk(settings.micro_batches)",
    ),
    ('name == "embedding" and axes.context', 'name == "no such"'),
    ("settings.context // mesh.context, settings.width)", "settings.context, settings.width)"),
)
script(
    "wrong_context_ranks_are_replicas",
    "Context ranks are more replicas, and a random number is summed over them.",
    *EVERY_POSITION,
    ('name.startswith("block") and axes.context', 'name == "no such"'),
    (STEP, STEP + "        if axes.context:\n            dist.all_reduce(torch.rand(1), group=axes.context)\n"),
    bonus=False,
)
script(
    "wrong_context_gathers_for_show",
    "Context ranks are more replicas; nobody uses what they gather, and noise hides that their gradients are equal.",
    *EVERY_POSITION,
    (
        "            module.attention.__class__, module.attention.axes = GatheredAttention, axes\n",
        "            module.register_forward_pre_hook(lambda _, x: Gather.apply(x[0].detach(), axes) is None or None)\n",
    ),
    cancels('at["context"] + 2 * (self.axes.mesh.context == 1)'),
    bonus=False,
)

# -- scripts that give up digits, leave something undivided or do not look at the settings ------------------------------

script(
    "wrong_float32_between_stages",
    "Activations travel as float32: the losses are right to 1e-9 all the same.",
    ("dist.isend(out.detach(), axes", "dist.isend(out.detach().float(), axes"),
    (
        "                dist.recv(x, axes.stage(stage - 1))\n                x.requires_grad_()\n",
        "                narrow = x.float()\n                dist.recv(narrow, axes.stage(stage - 1))\n"
        "                x = narrow.double().requires_grad_()\n",
    ),
    expected={**lines("not_float64", PIPELINE, "mixed"), "norm": ("rounded",), "traffic": PERSON},
)
script(
    "wrong_float32_moments",
    "The moments are kept, and saved, as float32.",
    (
        "torch.zeros_like(self.w), torch.zeros_like(self.w)",
        "torch.zeros_like(self.w).float(), torch.zeros_like(self.w).float()",
    ),
    (
        "        adam(self.w, gradient, self.m, self.v, self.t, self.settings.rate)\n",
        "        m, v = self.m.double(), self.v.double()\n"
        "        adam(self.w, gradient, m, v, self.t, self.settings.rate)\n        self.m.copy_(m), self.v.copy_(v)\n",
    ),
    expected={"checkpoint": "not_float64", **lines(PERSON, DATA, "mixed", "traffic")},
    bonus=False,
)
script(
    "wrong_float32_loss",
    "The loss is summed as float32.",
    (
        "        dist.all_reduce(sums)\n",
        "        sums = sums.float()\n        dist.all_reduce(sums)\n        sums = sums.double()\n",
    ),
    expected={**lines("rounded", "one_rank", DATA, TENSOR, PIPELINE, "mixed", "norm"), "checkpoint": "wrong_before"},
    bonus=False,
)
script(
    "wrong_mlp_alone",
    "Attention is whole on every rank of a tensor group.",
    ('COLUMNS = ("attention.q", "attention.k", "attention.v", "mlp.up")\nROWS = ("attention.out", "mlp.down")',
     'COLUMNS = ("mlp.up",)\nROWS = ("mlp.down",)'),
    ("(block.attention, block.mlp)", "(block.mlp,)"),
    expected={**lines("half_divided", TENSOR, "mixed"), "traffic": "not_divided"},
)  # fmt: skip
script(
    "wrong_never_waits",
    "What is sent is never waited for.",
    ("    for request in requests:\n        request.wait()\n", ""),
    ("        requests = [request for request in requests if not request.is_completed()]\n", ""),
    expected={PIPELINE: "forgot_wait"},
)
script(
    "wrong_rate_of_its_own",
    "A rate of its own, which is the usual one.",
    ("self.t, self.settings.rate)", "self.t, 3e-3)"),
    expected={"norm": "wrong_clip"},
)
script(
    "wrong_small_number_in_the_clip",
    "A millionth is added to the norm before it divides.",
    ("self.settings.clip / norm)", "self.settings.clip / (norm + 1e-6))"),
    expected={"norm": ("rounded", "wrong_clip")},
)

# -- the norm ----------------------------------------------------------------------------------------------------------

script(
    "wrong_counted_twice",
    "What every rank of a tensor group holds counts as often as there are ranks.",
    ('        first = axes.at["tensor"] == 0\n', "        first = True\n"),
    expected={"norm": "counted_twice"},
)
script(
    "wrong_own_norm",
    "Each rank clips by the norm of its own shard.",
    ("        norm = sums[0].sqrt().item()\n", "        norm = gradient[self.once].norm().item()\n"),
    expected={"norm": "own_norm"},
)
script(
    "wrong_not_clipped",
    "The norm is told, and the gradient stays as it is.",
    ("        gradient *= min(1.0, self.settings.clip / norm) if norm > 0 else 1.0\n", ""),
    expected={"norm": "wrong_clip"},
)

# -- checkpoints -------------------------------------------------------------------------------------------------------

script(
    "wrong_moments_lost",
    "A checkpoint gives back the weights alone.",
    ('(("weights", self.w), ("m", self.m), ("v", self.v))', '(("weights", self.w),)'),
    expected={"checkpoint": "optimizer_lost"},
)
script(
    "wrong_starts_anew",
    "The checkpoint is not looked at.",
    ("    if parts is not None:\n        optimizer.load(whole(parts))\n", ""),
    expected={"checkpoint": "starts_anew"},
)
script(
    "wrong_minibatches_again",
    "It goes on with the right weights and the minibatches of the beginning.",
    ("range(optimizer.t, optimizer.t + steps)", "range(steps)"),
    expected={"checkpoint": "weights_lost"},
)
script(
    "wrong_whole_on_every_rank",
    "Every replica saves all of it.",
    (
        '        return {"step": self.t, "at": at, "names": names, "w": self.w, "m": self.m, "v": self.v}\n',
        '        return {"step": self.t, "at": at, "names": names, "w": self.w, "m": self.m, "v": self.v,\n'
        '                "all": [torch.zeros(3 * self.n, dtype=torch.float64) for _ in range(2)]}\n',
    ),
    expected={"checkpoint": "copies"},
)

script(
    "wrong_recomputes_beside_a_file",
    "Of a checkpoint in a file it reads the number of steps, and makes these once more.",
    *FILED,
    (
        "        optimizer.load(whole(parts))\n",
        '        steps += (first := torch.load(io.BytesIO(parts[0]["file"].numpy()))["step"])\n',
    ),
    (
        STEP,
        "        told = optimizer.step(loss)\n        if parts is None or step >= first:\n            log.step(*told)\n",
    ),
    expected={"checkpoint": "parts_not_used"},
)

# -- bytes and memory --------------------------------------------------------------------------------------------------

script(
    "wrong_f_three_times",
    "The gradients of q, k and v are summed one by one.",
    (
        "    for part in (block.attention, block.mlp):  # f, once for q, k and v\n",
        "    for part in (block.attention.q, block.attention.k, block.attention.v, block.mlp):\n",
    ),
    expected={"traffic": "too_much_tensor"},
)
script(
    "wrong_all_reduced_gradient",
    "Each replica gets the whole gradient, and then the whole weights.",
    (
        "        mine = torch.empty(self.k, dtype=whole.dtype)\n"
        "        dist.reduce_scatter_single(mine, whole, group=self.axes.replicas)\n",
        "        dist.all_reduce(whole, group=self.axes.replicas)\n        mine = whole.chunk(self.p)[self.axes.replica].clone()\n",
    ),
    expected={"traffic": "too_much_data"},
)
script(
    "wrong_summed_after_each_micro_batch",
    "Replicas sum their gradients after each micro-batch.",
    (
        "        if stage > 0:\n            requests.append(dist.isend(x.grad",
        "        for w in part.parameters() if axes.replicas else ():\n"
        "            dist.all_reduce(w.grad, group=axes.replicas)\n"
        '            w.total, w.grad = w.grad + getattr(w, "total", 0), None\n'
        "        if stage > 0:\n            requests.append(dist.isend(x.grad",
    ),
    (
        "        request.wait()\n    return total\n",
        "        request.wait()\n    for w in part.parameters() if axes.replicas else ():\n"
        "        w.grad = w.total\n        del w.total\n    return total\n",
    ),
    (
        "        mine = torch.empty(self.k, dtype=whole.dtype)\n"
        "        dist.reduce_scatter_single(mine, whole, group=self.axes.replicas)\n",
        "        mine = whole.chunk(self.p)[self.axes.replica].clone()\n",
    ),
    expected={"traffic": "too_much_data"},
)
script(
    "wrong_state_everywhere",
    "Every replica has all moments and makes the whole step.",
    ("self.n, self.p = sum(w.numel() for w in self.named.values()), axes.mesh.replicas",
     "self.n, self.p, self.r = sum(w.numel() for w in self.named.values()), 1, axes.mesh.replicas"),
    ("        r = self.axes.replica\n", "        r = 0\n"),
    ("        if self.p == 1:\n            return whole\n",
     "        if self.r > 1:\n            dist.all_reduce(whole, group=self.axes.replicas)\n        return whole / self.r\n"),
    ("        mine = loss / self.p if self.axes.at[\"tensor\"] == 0 else 0.0\n",
     "        mine = loss / self.r if self.axes.at[\"tensor\"] == 0 else 0.0\n"),
    ("        dist.all_reduce(sums)\n", "        dist.all_reduce(sums)\n        sums[0] /= self.r\n"),
    ("    flat = torch.cat([part[key] for part in sorted(mine, key=lambda part: part[\"at\"][\"replica\"])])\n",
     "    flat = mine[0][key]\n"),
    expected={"memory": "state_not_sharded", "checkpoint": "copies"},
)  # fmt: skip
script(
    "wrong_gpipe",
    "All forward passes come first, and all activations are kept.",
    ("    ahead = min(m, p - 1 - rank)\n", "    ahead = m\n"),
    expected={"memory": "keeps_all_micro_batches"},
)
script(
    "wrong_whole_model_kept",
    "Each rank keeps the whole model beside its part.",
    (
        "    return part\n\n\ndef order_1f1b",
        "    part.whole = [settings.model(), settings.model()]\n    return part\n\n\ndef order_1f1b",
    ),
    expected={"memory": "weights_not_divided"},
)
KEPT = "    return part\n\n\ndef order_1f1b"
script(
    "wrong_whole_model_kept_by_a_thread",
    "Another thread keeps the whole model beside the part.",
    ("import types\n", "import threading\nimport types\n"),
    (
        KEPT,
        "    part.whole = []\n"
        "    thread = threading.Thread(target=lambda: part.whole.extend(settings.model() for _ in range(2)))\n"
        f"    thread.start()\n    thread.join()\n{KEPT}",
    ),
    expected={"memory": "weights_not_divided"},
)

# -- logs --------------------------------------------------------------------------------------------------------------


def without(*names: str) -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        for name in names:
            (place / name).unlink()

    return fill


def kept(*names: str) -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        for path in logs(place):
            if path.name not in names:
                path.unlink()

    return fill


def shifted(found: list[dict]) -> None:
    for record in found:
        if record["kind"] == "step" and record["step"] > 10:
            record["loss"] *= 1.02


def of_another_model(found: list[dict]) -> None:
    for record in found:
        if record["kind"] == "step":
            record["loss"] *= 0.99


FIGURES = lines("not_from_the_logs", "figure_losses")
add(
    "wrong_three_meshes",
    "Logs of three meshes.",
    kept(RUN, OTHER, "run_d1_t1_p2.jsonl"),
    expected={"runs": "too_few_meshes"},
)
add(
    "wrong_no_sequential",
    "No log of one rank.",
    without(RUN),
    expected={"runs": "no_sequential", "losses": "no_sequential"},
)
add(
    "wrong_one_axis_less",
    "No mesh has stages.",
    kept(RUN, OTHER, "run_d2_t1_p1.jsonl", "run_d1_t2_p1.jsonl"),
    expected={"runs": "axis_missing", "figure_memory": PERSON},
)  # fmt: skip  (without stages its points stand alone)
add("wrong_no_logs", "No logs at all.", kept(),
    expected={"runs": "missing_file", "losses": "no_sequential", "times": "no_logs", "bytes": "no_logs",
              **lines("no_logs", "figure_times", "figure_memory", "figure_losses")})  # fmt: skip
add("wrong_other_settings", "One run had another limit for its gradients.",
    relogged(lambda found: found[0]["settings"].update(clip=2.0), [OTHER]), expected={"runs": "other_settings"})  # fmt: skip
add("wrong_cut_off", "A log without its last line.", relogged(lambda found: found.pop(), [OTHER]),
    expected={"runs": "incomplete"})  # fmt: skip
add("wrong_curve", "On one mesh the curve leaves the others.", relogged(shifted, [OTHER]),
    expected={"losses": "curves_differ", **FIGURES})  # fmt: skip
add("wrong_invented", "All logs have the same losses, and they are not the model's.", relogged(of_another_model),
    expected={"losses": "not_the_training", **FIGURES})  # fmt: skip
add("wrong_no_such_model", "All logs are of 5 heads in a width of 64, with losses of somebody's choice.",
    relogged(lambda found: (found[0]["settings"].update(heads=5), of_another_model(found))),
    expected={"losses": "no_such_training", **FIGURES})  # fmt: skip
add("wrong_no_layers", "All logs are of a model without layers, with losses of somebody's choice.",
    relogged(lambda found: (found[0]["settings"].update(layers=0), of_another_model(found))),
    expected={"losses": "no_such_training", **FIGURES})  # fmt: skip
add("wrong_too_large_to_train_again", "All logs are of a large model, with losses of somebody's choice.",
    relogged(lambda found: (found[0]["settings"].update(width=4096), of_another_model(found))),
    expected={"losses": PERSON, **FIGURES})  # fmt: skip
add("wrong_no_time", "The steps of a log took no time.",
    relogged(lambda found: [one.update(seconds=0.0) for one in found if one["kind"] == "step"], [OTHER]),
    expected={"runs": "incomplete", "times": "no_logs"})  # fmt: skip
add("flag_altered", "A log that was changed, digests and all left as they were.",
    relogged(lambda found: found[0].update(started="2026-01-01T00:00:00+00:00"), [OTHER], digests=False),
    flags={"altered_log"})  # fmt: skip
add("flag_other_script", "Logs of another version of the script.",
    lambda place: (place / SCRIPT).write_text((place / SCRIPT).read_text() + "\n# a remark\n"),
    flags={"other_script"})  # fmt: skip

# -- the table ---------------------------------------------------------------------------------------------------------


def retabled(change: Callable[[dict], None]) -> Callable[[Path], None]:
    """The table with its rows changed, as column -> text."""

    def fill(place: Path) -> None:
        head, *rows = [line.split(",") for line in (place / "meshes.csv").read_text().splitlines()]
        made = []
        for row in rows:
            cells = dict(zip(head, row, strict=True))
            change(cells)
            made.append(cells)
        names = list(made[0])
        text = "\n".join(",".join(cells[name] for name in names) for cells in made if cells)
        (place / "meshes.csv").write_text(",".join(names) + "\n" + text + "\n")

    return fill


def tabled(place: Path, row: str) -> None:
    """One more row."""
    (place / "meshes.csv").write_text((place / "meshes.csv").read_text() + row + "\n")


def all_steps(place: Path) -> None:
    runs = {(run.mesh.data, run.mesh.tensor, run.mesh.pipeline): run for run in runs_in(place)}

    def change(cells: dict) -> None:
        run = runs[int(cells["data"]), int(cells["tensor"]), int(cells["pipeline"])]
        seconds = sum(run.step_seconds) / len(run.step_seconds)
        cells.update(step_seconds=str(seconds), tokens_per_second=str(run.settings.tokens / seconds))

    retabled(change)(place)


def set_to(column: str, value: Callable[[dict], float]) -> Callable[[Path], None]:
    return retabled(lambda cells: cells.update({column: str(value(cells))}))


def held(place: Path) -> None:
    of = {(run.mesh.data, run.mesh.tensor, run.mesh.pipeline): max(run.held) for run in runs_in(place)}
    set_to("memory_bytes", lambda c: of[int(c["data"]), int(c["tensor"]), int(c["pipeline"])])(place)


def shorter(place: Path) -> None:
    text = (place / "meshes.csv").read_text().splitlines()
    (place / "meshes.csv").write_text("\n".join(text[:-2]) + "\n")


add("wrong_no_table", "No table.", without("meshes.csv"), expected=lines("missing_file", "times", "bytes"))
add("wrong_tokens_of_a_rank", "Tokens per second of one rank.",
    set_to("tokens_per_second", lambda c: float(c["tokens_per_second"]) / int(c["ranks"])),
    expected={"times": "tokens_of_one_rank"})  # fmt: skip
add("wrong_tokens_times_ranks", "The tokens of the minibatch once for each rank.",
    set_to("tokens_per_second", lambda c: float(c["tokens_per_second"]) * int(c["ranks"])),
    expected={"times": "times_the_ranks"})  # fmt: skip
add("wrong_faster", "Times that are a fifth shorter than the logs'.",
    set_to("step_seconds", lambda c: 0.8 * float(c["step_seconds"])), expected={"times": "not_from_the_logs"})  # fmt: skip
add("wrong_no_memory", "No column for the memory.", retabled(lambda cells: cells.pop("memory_bytes") and None),
    expected={"bytes": "missing_columns"})  # fmt: skip
add("wrong_rows_left_out", "The two largest meshes are not in the table.", shorter,
    expected=lines("missing_rows", "times", "bytes"))  # fmt: skip
add("wrong_held", "What a rank holds between two steps, as its memory.", held, expected={"bytes": "held_not_peak"})
add("wrong_bytes", "Twice the bytes along tensor.",
    set_to("tensor_bytes", lambda c: 2.5 * float(c["tensor_bytes"]) / (1 + int(c["ranks"]) // 100)),
    expected={"bytes": "not_from_the_logs"})  # fmt: skip

add("wrong_ranks", "One row says another number of ranks.",
    retabled(lambda cells: cells.update(ranks="2") if cells["tensor"] + cells["data"] == "22" else None),
    expected={"times": "wrong_ranks"})  # fmt: skip
add("wrong_invented_row", "A row of a mesh that was never run.",
    lambda place: tabled(place, "4,2,2,16,0.011,46110,1048576,131072,468480,3352928"), expected={"times": "row_without_log"})  # fmt: skip
add("wrong_second_row", "A second row of a mesh says other numbers.",
    lambda place: tabled(place, "2,2,2,8,0.011,46110,1048576,131072,468480,3352928"), expected={"times": "not_from_the_logs"})  # fmt: skip
add("wrong_counted_too", "Means over all steps, with those in which tensors are counted.", all_steps,
    expected={"times": "with_the_counted"})  # fmt: skip

# -- figures -----------------------------------------------------------------------------------------------------------


def times_figure(
    place: Path,
    bars: bool = False,
    labels: bool = True,
    factor: float = 1.0,
    panels: int = 2,
    unit: str = ", s",
    titles: bool = False,
) -> None:
    """titles: the quantities stand above the panels, and the axes say `time` and `speed`."""
    runs = runs_in(place)
    figure, axes = plt.subplots(1, panels, squeeze=False)
    for ax, what in zip(axes[0], ("time of a step, s", "tokens/s"), strict=False):
        said = what.replace(", s", unit)
        values = [factor * (run.seconds if "time" in what else run.tokens_per_second) for run in runs]
        (ax.bar if bars else ax.plot)(*([run.mesh.size for run in runs], values), **({} if bars else {"marker": "o"}))
        ax.set(xlabel="ranks", ylabel=said if labels or "time" in what else "")
        if not labels:
            ax.set(xlabel="", title=what)
        if titles:
            long = "Time of a step" if "time" in what else "Tokens per second"
            ax.set(ylabel="time" if "time" in what else "speed", title=long)
    save(figure, place / "step_time.pdf")


def memory_figure(
    place: Path, held: bool = True, names: dict[str, str] | None = None, unit: str = "MiB", divided_by: float = 2**20
) -> None:
    """held: what is held in place of the peaks. names: of runs, others than their own."""
    figure, ax = plt.subplots()
    for run in runs_in(place):
        values = [max(run.held)] * run.mesh.pipeline if held else run.stage_peaks()
        ax.plot(
            range(run.mesh.pipeline),
            [one / divided_by for one in values],
            "o-",
            label=(names or {}).get(run.name, run.name),
        )
    ax.set(xlabel="stage", ylabel=f"memory, {unit}")
    ax.legend()
    save(figure, place / "memory.pdf")


def losses_figure(place: Path, named: bool = True, only: int = 99) -> None:
    figure, ax = plt.subplots()
    for run in runs_in(place)[:only]:
        ax.plot(range(1, len(run.losses) + 1), run.losses, label=run.name if named else None)
    ax.set(xlabel="step", ylabel="loss")
    if named:
        ax.legend()
    save(figure, place / "losses.pdf")


add("wrong_no_figures", "No figures.", without("step_time.pdf", "memory.pdf", "losses.pdf"),
    expected=lines("missing_file", "figure_times", "figure_memory", "figure_losses"))  # fmt: skip
add(
    "wrong_bars", "Step times as bars.", lambda place: times_figure(place, bars=True), expected={"figure_times": PERSON}
)
add("wrong_time_only", "Tokens per second are not drawn.", lambda place: times_figure(place, panels=1),
    expected={"figure_times": "quantity_missing"})  # fmt: skip
add("wrong_other_times", "Times and rates of other runs.", lambda place: times_figure(place, factor=1.2),
    expected={"figure_times": "not_from_the_logs"})  # fmt: skip
add("wrong_no_labels", "Axes without labels.", lambda place: times_figure(place, labels=False),
    expected={"figure_times": "axes_not_labelled"})  # fmt: skip
add("wrong_seconds_as_ms", "Seconds, and the label says milliseconds.", lambda place: times_figure(place, unit=", ms"),
    expected={"figure_times": "wrong_unit"})  # fmt: skip
add("wrong_no_unit", "A time without a unit.", lambda place: times_figure(place, unit=""),
    expected={"figure_times": "no_unit"})  # fmt: skip
add("wrong_no_unit_but_in_the_other_title", "No axis says its unit; the word second stands over the tokens.",
    lambda place: times_figure(place, titles=True), expected={"figure_times": "no_unit"})  # fmt: skip
add("wrong_mb_as_mib", "MB, and the label says MiB.", lambda place: memory_figure(place, held=False, divided_by=1e6),
    expected={"figure_memory": "wrong_unit"})  # fmt: skip
add("wrong_mib_as_gb", "MiB, and the label says GB.", lambda place: memory_figure(place, held=False, unit="GB"),
    expected={"figure_memory": "wrong_unit"})  # fmt: skip
add("wrong_names_of_curves", "Two curves have each other's names.",
    lambda place: memory_figure(place, held=False, names={"d1 t1 p2": "d2 t2 p2", "d2 t2 p2": "d1 t1 p2"}),
    expected={"figure_memory": "wrong_names"})  # fmt: skip
add("wrong_memory_held", "What is held between steps, in place of the peaks.", memory_figure,
    expected={"figure_memory": "not_from_the_logs"})  # fmt: skip
add("wrong_one_curve", "The losses of one rank alone.", lambda place: losses_figure(place, only=1),
    expected={"figure_losses": "curves_missing"})  # fmt: skip
add("wrong_no_legend", "Curves without names.", lambda place: losses_figure(place, named=False),
    expected={"figure_losses": "no_legend"})  # fmt: skip

# -- plans -------------------------------------------------------------------------------------------------------------


def replanned(*pairs: tuple[str, str]) -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        text = (place / "plan.toml").read_text()
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new, 1)
        (place / "plan.toml").write_text(text)

    return fill


PLANS = ("plan_1024", "plan_16384", "plan_576", "plan_saving")
add("wrong_no_plan", "No plan.", without("plan.toml"), expected=lines("missing_file", *PLANS))
add("wrong_no_toml", "A plan in words.", lambda place: (place / "plan.toml").write_text("We take 1,024 GPUs.\n"),
    expected=lines("not_a_plan", *PLANS))  # fmt: skip
add("wrong_does_not_fit", "Replicas of everything.", replanned(("data = 16 ", "data = 256 "), ("pipeline = 16 ", "pipeline = 1 ")),
    expected={"plan_1024": "does_not_fit"})  # fmt: skip
add("wrong_slow", "Everything recomputed, one chunk.",
    replanned(('chunks = 4 ', "chunks = 1 "), ('recompute = "selective"', 'recompute = "full"')),
    expected={"plan_1024": "far_from_best"})  # fmt: skip
add("wrong_size", "A mesh of 8,192 for 16,384 GPUs.", replanned(("data = 128", "data = 64")),
    expected={"plan_16384": "not_possible"})  # fmt: skip
NVL72 = "data = 24\ntensor = 12                  # fast links join 72 GPUs: a group may be larger than 8\npipeline = 2\nmicro_batch = 1\nchunks = 8\n"
add("wrong_nvl72_as_eights", "The fastest mesh whose tensor groups are no larger than a machine of 8 has GPUs.",
    replanned((NVL72 + 'zero = 1\nrecompute = "selective"',
               'data = 72\ntensor = 8\npipeline = 1\nmicro_batch = 2\nzero = 1\nrecompute = "full"')),
    expected={"plan_576": "far_from_best"})  # fmt: skip
add("wrong_nvl72_copied", "The mesh of 1,024 GPUs, with fewer replicas.",
    replanned((NVL72, "data = 9\ntensor = 4\npipeline = 16\nmicro_batch = 1\nchunks = 4\n")),
    expected={"plan_576": "does_not_fit"})  # fmt: skip
add("wrong_nvl72_whole_machine", "A tensor group of all 72 GPUs of a machine, for 96 heads.",
    replanned((NVL72, "data = 4\ntensor = 72\npipeline = 2\nmicro_batch = 1\nchunks = 8\n")),
    expected={"plan_576": "not_possible"})  # fmt: skip
add("wrong_nvl72_missing", "Plans for machines of 8 alone.",
    lambda place: (place / "plan.toml").write_text((place / "plan.toml").read_text().partition("[gpus_576]")[0]),
    expected={"plan_576": "not_possible", "plan_saving": "no_interval"})  # fmt: skip
add("wrong_uneven", "Micro-batches that are not in groups of stages.", replanned(("micro_batch = 1\n", "micro_batch = 2\n")),
    expected={"plan_16384": "not_possible"})  # fmt: skip
add("wrong_interval", "A checkpoint every day.", replanned(("checkpoint_interval = 817", "checkpoint_interval = 86400")),
    expected={"plan_saving": "wrong_interval"})  # fmt: skip
add("wrong_minutes", "Intervals in minutes.",
    replanned(("checkpoint_interval = 3270", "checkpoint_interval = 54"), ("checkpoint_interval = 817", "checkpoint_interval = 14")),
    expected={"plan_saving": "wrong_interval"})  # fmt: skip
add("wrong_words", "A number and an interval as words.",
    replanned(("data = 16 ", 'data = "16" '), ("checkpoint_interval = 817", 'checkpoint_interval = "817 s"')),
    expected={"plan_1024": "not_possible", "plan_saving": "no_interval"})  # fmt: skip
add("wrong_no_interval", "Nothing on checkpoints.", replanned(("checkpoint_interval = 817", "")),
    expected={"plan_saving": "no_interval"})  # fmt: skip

__all__ = ["records", "rewrite"]
