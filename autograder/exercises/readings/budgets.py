"""From a budget to a plan, for unit 20's exercises: parameters and tokens for so many FLOPs, days and energy with
failures, the plan with the smallest loss; each also with one thing done otherwise.

A law is a dict: the loss of N parameters trained on D tokens is E + A / N^alpha + B / D^beta.
"""

from __future__ import annotations

import math

from labkit.scale import published

DAY = 86400.0
HOFFMANN, BESIROGLU = (
    {part: published()[name][part] for part in ("E", "A", "B", "alpha", "beta")} for name in ("hoffmann", "besiroglu")
)


# -- parameters and tokens ---------------------------------------------------------------------------------------------


def optimum(c, *, each=6, swapped=False, factor=True, slopes=True, inverse=False) -> tuple[float, float]:
    """Parameters and tokens of least loss, whatever data there is, with one thing done otherwise. each: FLOPs of a
    parameter and a token. swapped: the exponents. factor: without it the powers alone. slopes: A and B are multiplied
    by their exponents. inverse: the factor of the tokens."""
    alpha, beta = c.law["alpha"], c.law["beta"]
    product = c.flops / each
    ratio = c.law["A"] / c.law["B"] * (alpha / beta if slopes else 1)
    times = ratio ** (1 / (alpha + beta)) if factor else 1.0
    parameters = (1 / times if inverse else times) * product ** ((alpha if swapped else beta) / (alpha + beta))
    return parameters, product / parameters


def allotted(c, *, limit=True, spent=True, always=False, **slips) -> tuple[float, float]:
    """The parameters and tokens of `optimum`, with no more tokens than there are. limit: they are counted. spent: what
    cannot go into tokens goes into parameters. always: all tokens are used, even if that is too many."""
    parameters, tokens = optimum(c, **slips)
    if limit and (tokens > c.available or (always and c.available < math.inf)):
        tokens = c.available
        parameters = c.flops / slips.get("each", 6) / tokens if spent else parameters
    return parameters, tokens


# -- days and energy ---------------------------------------------------------------------------------------------------


def with_failures(taken: float, every: float, restart: float, mean: float, *, again, first_order, few, hit) -> float:
    """The seconds that an interval and its save, `taken`, take with failures, one in `mean` seconds. again: what was
    lost is computed again. first_order: half an interval is lost with each failure. few: taken / mean restarts.
    hit: restarts fail, too."""
    failures = math.expm1(taken / mean)
    if first_order:
        return taken + taken / mean * (every / 2 + restart)
    if not again:
        return taken + failures * restart
    if hit:
        return failures * (mean + mean * math.expm1(restart / mean))
    return failures * mean + (taken / mean if few else failures) * restart


def costs(
    c,
    *,
    utilisation=True,
    alone=False,
    of_one=False,
    saves=True,
    again=True,
    restarts=True,
    first_order=False,
    few=False,
    hit=False,
    whole_saves=False,
    whole_intervals=False,
    pue=True,
    draws="all",
    hours=24.0,
    whole=86400.0,
) -> tuple[float, float]:
    """Days and kWh, with one thing done otherwise. utilisation: GPUs do not reach their peak. alone: the FLOPs of one
    GPU. of_one: failures of one GPU. saves, again, restarts: what takes time besides. first_order, few, hit: see
    `with_failures`. whole_saves: a part of an interval has a whole save;
    whole_intervals: and takes as long as a whole one. pue: of the building. draws: "all" GPUs all
    the time; "one"; "useful", while they compute what counts; "working", but for restarts. hours: of a day. whole:
    seconds of a day."""
    on = c.cluster
    gpus = 1 if alone else on["gpus"]
    work = c.flops / (gpus * on["peak"] * (on["utilisation"] if utilisation else 1))
    every, save, restart = on["every"], on["save"] if saves else 0.0, on["restart"] if restarts else 0.0
    if whole_intervals:
        work = math.ceil(work / every) * every
    mean = c.mtbf / (1 if of_one else on["gpus"])
    taken, counted = every + save, {"again": again, "first_order": first_order, "few": few, "hit": hit}
    working = taken
    if mean < math.inf:
        working, taken = (with_failures(taken, every, cost, mean, **counted) for cost in (0.0, restart))
    seconds = work + math.ceil(work / every) * save if whole_saves and mean == math.inf else work * taken / every
    watts = (1 if draws == "one" else on["gpus"]) * on["watts"] * (on["pue"] if pue else 1)
    days = seconds / whole
    drawn = {"useful": work / whole, "working": work * working / every / whole}.get(draws, days)
    return days, watts * drawn * hours / 1000


# -- the plan ----------------------------------------------------------------------------------------------------------


def loss(law: dict, parameters: float, tokens: float) -> float:
    """The loss by a law."""
    return law["E"] + law["A"] / parameters ** law["alpha"] + law["B"] / tokens ** law["beta"]


def steps_of(
    c, plan: dict, *, paid=True, until=True, of_all=True, parts=True, seconds=DAY, deadline_of_all=False
) -> float:
    """The steps that budget and deadline permit, with their fraction. paid, until: the budget, the deadline are looked
    at. of_all: a day of all GPUs costs as many GPU-days. parts: of a day are paid for, too. seconds: of a day.
    deadline_of_all: a day of all GPUs uses up as many days of the deadline."""
    bounds = []
    if paid:
        most = c.gpu_days / (plan["gpus"] if of_all else 1)
        bounds.append(most if parts else math.floor(most))
    if until:
        bounds.append(c.days / (plan["gpus"] if deadline_of_all else 1))
    return min(bounds, default=math.inf) * seconds / plan["seconds"]


def planned(
    c, *, key=None, rounded=math.floor, tokens=None, first=0, rest=False, gives="steps", **slips
) -> list | None:
    """The place of the best plan and its steps, with one thing done otherwise; None where no plan can take a step.
    key: function (plan, tokens) -> what is to be smallest; the loss. rounded: a number of steps. tokens: function
    (plan, steps) -> tokens of the loss. first: the place of the first plan. rest: it is that among the plans that can
    take a step. gives: "steps" or "tokens"."""
    found = []
    for place, plan in enumerate(c.plans):
        most = steps_of(c, plan, **slips)
        if not 1 <= most < math.inf:
            continue
        steps = rounded(most)
        if not steps:
            continue
        seen = tokens(plan, steps) if tokens else steps * plan["tokens"]
        value = key(plan, seen) if key else loss(c.law, plan["parameters"], seen)
        found.append((value, place, steps, len(found)))
    if not found:
        return None
    _, place, steps, among = min(found)
    return [(among if rest else place) + first, steps * c.plans[place]["tokens"] if gives == "tokens" else steps]


def is_clear(gpu_days: float, days: float, plans: list[dict], law: dict) -> bool:
    """True if no number of steps is close to a whole one, budget and deadline differ, and the best plan's loss is less
    than the others': then rounding decides nothing."""
    losses = []
    for plan in plans:
        bounds = [gpu_days / plan["gpus"] * DAY / plan["seconds"], days * DAY / plan["seconds"]]
        if any(most < math.inf and not 0.02 < most % 1 < 0.98 for most in bounds) or bounds[0] == bounds[1]:
            return False
        steps = math.floor(min(bounds))
        if steps:
            losses.append(loss(law, plan["parameters"], steps * plan["tokens"]))
    losses.sort()
    return len(losses) < 2 or losses[1] > losses[0] * (1 + 1e-6)
