"""Answers the planner's page: a question as JSON in, the numbers of `labkit plan --json` and a picture out."""

from __future__ import annotations

import json
from typing import Any

from autograder.browser.names import MESHES
from autograder.browser.numbers import in_place_of_numpy

with in_place_of_numpy():
    from labkit import schedules, timeline
    from labkit.scale import planner_text
    from labkit.scale.plan import Plan
    from labkit.scale.step import order_1f1b, order_eager_1f1b


RANKS, ACTIONS = 8, 64  # what is drawn of a pipeline at most: stages, and actions of one of them


def told(asked: str) -> str:
    """The answer as JSON: `plan`, what `labkit plan --json --explain --top 10` prints; `heading`, the lines above its
    table; `memory`, the bytes of one accelerator; `picture` and `caption` of the best mesh's pipeline, "" without one.
    Where there is no answer, `error` alone.

    asked: JSON of a `planner_text.Question` without `top`.
    """
    try:
        answer = planner_text.answer(planner_text.Question(**json.loads(asked), top=MESHES))
    except (ValueError, TypeError) as error:
        return json.dumps({"error": str(error)})
    found: dict[str, Any] = {"plan": json.loads(planner_text.as_json(answer, explain=True))}
    found |= {"heading": planner_text.heading(answer), "memory": answer.on.memory, "picture": "", "caption": ""}
    if answer.found.choices:
        found["picture"], found["caption"] = pipeline(answer.found.choices[0].plan)
    return json.dumps(found)


def pipeline(plan: Plan) -> tuple[str, str]:
    """A plan's pipeline as a timeline (SVG) and a sentence about it: as many of its stages, micro-batches and chunks as
    can be read; ("", "") where there is one stage."""
    if plan.mesh.pipeline == 1:
        return "", ""
    step, p = plan.step(), min(plan.mesh.pipeline, RANKS)
    v = min(plan.chunks, ACTIONS // (4 * p))
    groups = min(plan.micro_batches // p, ACTIONS // (2 * v * p))
    m = p * max(1, groups) if v > 1 else min(plan.micro_batches, 2 * p)
    order = step.usual_order if v > 1 or plan.chunks == 1 else order_1f1b
    orders = [order(stage, p, m, v) if v > 1 else order(stage, p, m) for stage in range(p)]
    ran = schedules.replay(orders, p, m, v, 1.0, step.backward / step.forward)
    parts = [(p, plan.mesh.pipeline, "stages"), (m, plan.micro_batches, "micro-batches"), (v, plan.chunks, "chunks")]
    parts = [(few, all_, name if all_ > 1 else name[:-1]) for few, all_, name in parts]
    shown = ", ".join(f"{few} of {all_} {name}" if few < all_ else f"{all_} {name}" for few, all_, name in parts)
    kind = "Interleaved 1F1B" if v > 1 else "Eager 1F1B" if order is order_eager_1f1b else "1F1B"
    return timeline.svg(ran.events, p), f"{kind}, {shown}. A forward pass of a chunk takes 1 s here."
