"""Print a scaling table of run logs, the one with the fewest ranks as the baseline.

    python scaling_table.py run_1.jsonl run_2.jsonl run_4.jsonl

Images per second of all ranks together, the first epoch left out; speedup and efficiency against the baseline; each
with its 95 % interval.
"""

from __future__ import annotations

import sys

from labkit import runlog, scaling


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("Which run logs? python scaling_table.py run_1.jsonl run_2.jsonl ...")
    runs = sorted((runlog.read(path) for path in sys.argv[1:]), key=lambda run: run.world_size)
    try:
        rates = [run.throughput(skip_epochs=1) for run in runs]
    except ValueError as error:
        sys.exit(f"No table: {error}. Train for at least two epochs; the first one does not count.")
    print(f"{'ranks':>5}  {'nodes':>5}  {'images/s':>18}  {'speedup':>14}  {'efficiency':>14}  validation accuracy")
    for run, rate in zip(runs, rates, strict=True):
        speedup = scaling.Estimate(1.0) if run is runs[0] else scaling.scaled_speedup(rates[0], rate)
        efficiency = scaling.efficiency(speedup, run.world_size, runs[0].world_size)
        columns = f"{run.world_size:5}  {len(set(run.hosts)):5}  {rate!s:>18}  {speedup!s:>14}  {efficiency!s:>14}"
        print(f"{columns}  {run.epochs[-1].val_accuracy:.4f}")
        for problem in run.problems:
            print(f"       {problem}")


if __name__ == "__main__":
    main()
