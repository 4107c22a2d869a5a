"""The text that `labkit plan` prints: the answer to one question as text or as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from labkit.scale.machine import Machine
from labkit.scale.mesh import AXES, Mesh
from labkit.scale.overlap import USUAL, Overlap
from labkit.scale.plan import Formats
from labkit.scale.planner import (
    EFFICIENCY,
    PARTS,
    PUE,
    RESERVE,
    TOKENS_PER_PARAMETER,
    Choice,
    Found,
    Named,
    Wish,
    axes,
    default_batch,
    default_tokens,
    explanation,
    named_machine,
    named_model,
    power,
    search,
)

HIDES = ("gradients", "gathers", "tensor", "messages")
HELD = ("parameters", "gradients", "optimizer", "activations")


@dataclass(frozen=True)
class Question:
    """The command's arguments. tokens, sequence, batch: 0 where nothing is said. mesh: "tensor=8,pipeline=16", the rest
    being data; "" for all meshes. reserve: bytes. overlap: as `parse_overlap` takes it. bits, message_bits: of
    `labkit.scale.plan.Formats`."""

    model: str
    machine: str
    gpus: int
    tokens: float = 0
    sequence: int = 0
    batch: int = 0
    context: int = 1
    efficiency: float = EFFICIENCY
    mesh: str = ""
    top: int = 5
    pue: float = PUE
    flash: bool = True
    gradient_bytes: int = 4
    reserve: float = RESERVE
    overlap: str = ""
    bits: int = 16
    message_bits: int = 16
    capacity: float = 1.0


@dataclass(frozen=True)
class PlannerAnswer:
    """The result of a search, and what it was for."""

    named: Named
    on: Machine
    wish: Wish
    tokens: float
    by_rule: bool
    pue: float
    found: Found


def answer(question: Question) -> PlannerAnswer:
    """The search that a question asks for. Raises ValueError that says what is wrong with it."""
    named, on = named_model(question.model), named_machine(question.machine)
    numbers = {name: getattr(question, name) for name in ("tokens", "sequence", "batch", "pue", "reserve")}
    for name, value in numbers.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} {value:g}: a number that is not negative")
    wish = Wish(
        question.gpus,
        question.batch or default_batch(named, question.sequence),
        question.sequence,
        question.context,
        question.efficiency,
        parse_mesh(question.mesh, question.gpus) if question.mesh else None,
        question.top,
        question.flash,
        question.gradient_bytes,
        question.reserve,
        parse_overlap(question.overlap),
        Formats(question.bits, question.message_bits),
        question.capacity,
    )
    tokens = question.tokens or default_tokens(named.model)
    found = search(named.model, on, wish)
    return PlannerAnswer(named, on, wish, tokens, not question.tokens, question.pue, found)


def parse_mesh(text: str, gpus: int) -> Mesh:
    """A mesh as it is written, "tensor=8,pipeline=16"; `data` is what the others leave, where it is not said. Raises
    ValueError."""
    lengths: dict[str, int] = {}
    for piece in text.split(","):
        axis, equals, length = piece.strip().partition("=")
        if not equals or axis not in (*AXES, "experts") or not length.isdecimal() or axis in lengths:
            raise ValueError(f"a mesh is written tensor=8,pipeline=16,data=4; not {piece!r}")
        lengths[axis] = int(length)
    one = Mesh(**{axis: length for axis, length in lengths.items() if axis in AXES})
    if "data" in lengths:
        return Mesh(**lengths)
    data, rest = divmod(gpus, one.size)
    if rest or not data:
        raise ValueError(f"{one.size:,} ranks of one replica do not go into {gpus:,} GPUs")
    return Mesh(**lengths, data=data)


def parse_overlap(text: str) -> Overlap:
    """The options of what is hidden, as they are written: "gradients=160,gathers=1,tensor=4,messages=1", of which each
    may be missing; gradients in MB. "usual" is gradients=160,gathers=1, and "" hides nothing. Raises ValueError."""
    if text in ("", "usual"):
        return USUAL if text else Overlap()
    found: dict[str, int] = {}
    for piece in text.split(","):
        name, equals, number = piece.strip().partition("=")
        if not equals or name not in HIDES or not number.isdecimal() or name in found:
            written = "usual, or gradients=160,gathers=1,tensor=4,messages=1"
            raise ValueError(f"an overlap is written {written}; not {piece!r}")
        found[name] = int(number)
    bucket = 1_000_000 * found.pop("gradients") if "gradients" in found else None
    return Overlap(bucket, found.get("gathers", 0), found.get("tensor", 1), bool(found.get("messages", 0)))


# -- text --------------------------------------------------------------------------------------------------------------


def as_text(said: PlannerAnswer, explain: bool = False) -> str:
    """The answer as lines: what was asked, a table of memory and one of time, days and energy."""
    lines = heading(said)
    if not said.found.choices:
        return "\n".join([*lines, "", _why_nothing_fits(said)])
    rows = [_row(place, choice, said) for place, choice in enumerate(said.found.choices, 1)]
    lines += ["", *_table(rows), ""]
    lines += _below(said)
    if explain:
        lines += ["", explanation(said.found)]
    return "\n".join(lines)


def heading(said: PlannerAnswer) -> list[str]:
    """The lines above the table: the question as it was understood."""
    model, wish = said.named.model, said.wish
    sequence = wish.sequence or model.sequence
    several = "sequences" if wish.batch > 1 else "sequence"
    rule = f", {TOKENS_PER_PARAMETER} for each parameter (Hoffmann et al. 2022)" if said.by_rule else ""
    return [
        f"{said.named.name}: {model.parameters / 1e9:.1f} billion parameters; {wish.gpus:,} GPUs of {said.on.name}",
        f"{wish.batch:,} {several} of {sequence:,} tokens a step; {said.tokens / 1e12:.3g} trillion tokens{rule}",
        f"computing at {wish.efficiency:.0%} of the peak{_formats(said)}, "
        f"{'flash' if wish.flash else 'plain'} attention, gradients of {wish.gradient_bytes} bytes; "
        f"{said.found.tried:,} plans tried",
    ]


def _formats(said: PlannerAnswer) -> str:
    """The formats in the heading, where they are not the usual ones."""
    bits = said.wish.formats
    if bits == Formats():
        return ""
    peak = said.on.peak_of(bits.product) / 1e12
    messages = "" if bits.message == 16 else f", messages of {bits.message} bits"
    return f" of {peak:,.0f} TFLOP/s, products of {bits.product} bits{messages}"


def _row(place: int, choice: Choice, said: PlannerAnswer) -> dict[str, str]:
    plan, spent = choice.plan, choice.estimate
    found = {"": str(place)}
    found |= {
        name: str(getattr(plan.mesh, axis))
        for name, axis in (("t", "tensor"), ("c", "context"), ("p", "pipeline"), ("d", "data"))
        if axis != "context" or said.wish.context > 1 or plan.mesh.context > 1
    }
    if said.named.model.experts:
        found["e"] = str(plan.mesh.experts)
    found |= {"batch": f"{plan.micro_batch} x {plan.micro_batches}", "chunks": str(plan.chunks)}
    found |= {"recompute": plan.recompute, "ZeRO": str(plan.zero)}
    for name, part in zip(("GB: par", "grad", "opt", "act"), HELD, strict=True):
        found[name] = f"{getattr(choice.memory, part) / 1e9:.1f}"
    found["all"] = f"{choice.memory.total / 1e9:.1f}"
    names = ("s: comp", "tensor", "ring", "swap", "hops", "repl", "idle")
    left_out = {part for part, column in (("context", "c"), ("experts", "e")) if column not in found}
    for name, part in zip(names, PARTS, strict=True):
        if part not in left_out:
            found[name] = f"{getattr(spent, part):.2f}"
        if spent.hidden.get(part):
            found[name] += f" + {spent.hidden[part]:.2f}"
    found |= {"step": f"{choice.seconds:.2f}", "idle %": f"{100 * spent.idle:.0f}"}
    return found | {"MFU": f"{choice.utilisation:.1%}", "days": f"{choice.days(said.tokens):.1f}"}


def _table(rows: list[dict[str, str]]) -> list[str]:
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    lines = ["  ".join(name.rjust(width) for name, width in widths.items())]
    return lines + ["  ".join(row[name].rjust(width) for name, width in widths.items()) for row in rows]


def _below(said: PlannerAnswer) -> list[str]:
    watts, best = power(said.on), said.found.choices[0]
    mixture = said.named.model.experts > 0
    axes_said = (
        "t, p, d, e: tensor, pipeline, data, ranks for experts" if mixture else "t, p, d: tensor, pipeline, data"
    )
    swaps = "tokens to experts and back, " if mixture else ""
    lines = [
        f"{axes_said}. GB: of the fullest rank; there are {said.on.memory / 1e9:.0f}, of which "
        f"{said.wish.reserve / 1e9:g} are kept for buffers.",
        f"s: of a step, in computing, tensor groups, {swaps}hops between stages, replicas, idle in the pipeline; "
        "idle %: all of it but computing.",
        _what_hides(said.wish.overlap),
    ]
    if watts is None:
        return [*lines, f"No energy: no source says what a GPU of {said.on.name} takes."]
    hours = best.kilowatt_hours(said.tokens, watts, said.pue)
    return [*lines, f"Energy of the first: {float(f'{hours:.3g}'):,.0f} kWh ({watts} W a GPU, PUE {said.pue:g})."]


def _what_hides(hidden: Overlap) -> str:
    if hidden == Overlap():
        return "Nothing is hidden behind computing, and nothing fails."
    parts = []
    if hidden.gradients is not None:
        parts.append(f"gradients in buckets of {hidden.gradients / 1e6:g} MB")
    if hidden.gathers:
        parts.append(f"gathers {hidden.gathers} layer{'s' * (hidden.gathers > 1)} ahead")
    if hidden.tensor > 1:
        parts.append(f"layers in {hidden.tensor} parts")
    if hidden.messages:
        parts.append("messages between stages")
    return f"Behind computing: {', '.join(parts)}; a second number behind a plus is hidden. Nothing fails."


def _why_nothing_fits(said: PlannerAnswer) -> str:
    plan = said.found.smallest
    assert plan is not None
    needs, has = plan.memory(plan.fullest).total / 1e9, said.on.memory / 1e9
    return (
        f"Nothing fits. The least memory takes {axes(plan.mesh)} with micro-batches of {plan.micro_batch}, ZeRO "
        f"{plan.zero} and recomputation {plan.recompute!r}: {needs:.1f} GB on a rank of stage {plan.fullest}, "
        f"where there are {has:.0f}, less {said.wish.reserve / 1e9:g} for buffers."
    )


# -- JSON --------------------------------------------------------------------------------------------------------------


def as_json(said: PlannerAnswer, explain: bool = False) -> str:
    """The same numbers, in bytes, seconds, shares and days."""
    wish, watts = said.wish, power(said.on)
    whole = {
        "model": said.named.name,
        "source": said.named.source,
        "parameters": said.named.model.parameters,
        "machine": said.on.name,
        "gpus": wish.gpus,
        "batch": wish.batch,
        "sequence": wish.sequence or said.named.model.sequence,
        "tokens": said.tokens,
        "efficiency": wish.efficiency,
        "bits": wish.formats.product,
        "message_bits": wish.formats.message,
        "capacity": wish.capacity,
        "reserve": wish.reserve,
        "tried": said.found.tried,
        "plans": [_object(choice, said, watts) for choice in said.found.choices],
    }
    if not said.found.choices:
        whole["reason"] = _why_nothing_fits(said)
    if explain:
        whole["explanation"] = explanation(said.found)
    return json.dumps(whole, indent=1)


def _object(choice: Choice, said: PlannerAnswer, watts: float | None) -> dict:
    plan = choice.plan
    return {
        "mesh": {axis: getattr(plan.mesh, axis) for axis in (*AXES, "experts")},
        "micro_batch": plan.micro_batch,
        "micro_batches": plan.micro_batches,
        "chunks": plan.chunks,
        "recompute": plan.recompute,
        "zero": plan.zero,
        "memory": {part: getattr(choice.memory, part) for part in (*HELD, "total")},
        "seconds": {part: getattr(choice.estimate, part) for part in (*PARTS, "seconds")},
        "hidden": {part: choice.estimate.hidden.get(part, 0.0) for part in ("tensor", "pipeline", "data")},
        "idle": choice.estimate.idle,
        "mfu": choice.utilisation,
        "days": choice.days(said.tokens),
        "kilowatt_hours": None if watts is None else choice.kilowatt_hours(said.tokens, watts, said.pue),
    }
