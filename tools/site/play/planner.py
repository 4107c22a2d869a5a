"""The planner's page: a form for model, machine and GPUs, and the places of its answer."""

from __future__ import annotations

import html
import json

from labkit import palette
from labkit.scale.machine import hardware, machine
from labkit.scale.planner import default_batch, named_models

PATH = "play/planner.md"
FIRST = json.dumps({"model": "Llama 3 70B", "machine": "DGX-H100", "gpus": 512})
GPUS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
COLOURS = {
    "parameters": palette.PARAMETERS,
    "gradients": palette.GRADIENTS,
    "optimizer": palette.OPTIMIZER,
    "activations": palette.ACTIVATIONS,
    "computing": palette.BACKWARD,
    "tensor": palette.ALL_REDUCE,
    "context": palette.ALL_GATHER,
    "experts": palette.ORANGE,
    "pipeline": palette.SKY,
    "data": palette.REDUCE_SCATTER,
    "waiting": palette.FAINT,
}

ABOUT = """---
orphan: true
---
# Plan a training

How are so many GPUs to be divided, to train this model? The planner tries every mesh of tensor, pipeline and data
parallelism that fits in memory, with every way to recompute and each stage of ZeRO, and shows the ten fastest: what
fills the memory of the fullest GPU, and where the seconds of a step go. It is the course's own command, `labkit plan`,
in this page; all numbers are the same. Of a mixture of experts it also finds on how many GPUs each layer's experts are
best dealt out. Python is loaded when you press *Plan* for the first time ({size}).

Unit 20 explains the formulas and says how far to trust them: nothing fails, and a GPU reaches half of its peak while it
computes. Replicas can gather weights and add up gradients while they compute: of that only what does not fit then
counts as seconds of a step.
"""


def page(size: str) -> str:
    """The page as markdown. size: what a reader is told of the load."""
    models = list(named_models())
    machines = [name for name in hardware()["node"] if _has_links(name)]
    lengths = {name: [one.model.sequence, default_batch(one)] for name, one in named_models().items()}
    given = json.loads(FIRST)
    colours = "".join(f"--plan-{part}:{colour};" for part, colour in COLOURS.items())
    return f"""{ABOUT.format(size=size)}
```{{raw}} html
<link rel="stylesheet" href="play.css">
<link rel="stylesheet" href="planner.css">
<form class="planner" style="{colours}" data-models="{html.escape(json.dumps(lengths))}">
<div class="planner-asked">
<label>Model {_select("model", models, given["model"])}</label>
<label>Machine {_select("machine", machines, given["machine"])}</label>
<label>GPUs {_select("gpus", GPUS, given["gpus"])}</label>
<label>Tokens of a sequence <input name="sequence" type="number" min="0" step="1"></label>
<label>Sequences of a step <input name="batch" type="number" min="0" step="1"></label>
<label>Tokens of the training, in billions <input name="tokens" type="number" min="0" step="any"></label>
<label>Hidden behind computing <select name="overlap"><option value="">nothing</option>
<option value="usual">what the replicas say</option></select></label>
</div>
<div class="play-buttons"><button type="submit" class="play-run" disabled>Plan</button>
<span class="play-hint">An empty field: the model's own, or 20 tokens for each parameter.</span></div>
<div class="play-status" role="status" aria-live="polite"></div>
<div class="planner-answer"></div>
</form>
<noscript><p>Without JavaScript this page can be read, but nothing on it can be run.</p></noscript>
<script src="play.js" defer></script>
<script src="planner.js" defer></script>
```
"""


def _has_links(name: str) -> bool:
    try:
        return machine(name).topology is not None
    except ValueError:  # a torus, of which no link is known
        return False


def _select(name: str, values: object, chosen: object) -> str:
    options = "".join(
        f'<option value="{html.escape(str(value))}"{" selected" * (value == chosen)}>'
        f"{f'{value:,}' if isinstance(value, int) else html.escape(str(value))}</option>"
        for value in values  # type: ignore[attr-defined]
    )
    return f'<select name="{name}">{options}</select>'
