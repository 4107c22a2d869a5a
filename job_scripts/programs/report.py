"""Report where the ranks of this job run. The first thing in the output of every job.

srun python report.py | python report.py --write report.json
                                 each rank writes a line about itself; one process makes a table of them, with warnings
srun --ntasks-per-node=1 python report.py --each 2 | ...
                                 for torchrun, which starts 2 ranks on each node by itself
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from labkit import placement


def ranks_here(each: int) -> list[dict]:
    """This process's place; or, with `each`, the places of so many ranks that it is going to start on this node."""
    place = placement.of_this_process()
    if not each:
        return [place]
    ranks, node = [], place["rank"]
    for local_rank in range(each):
        cores = set(place["cores"])
        if os.environ.get("COURSE_BINDING", "none") != "none":
            cores = placement.share(cores, local_rank, each)
        domains = [number for number, members in placement.numa_domains().items() if members & cores]
        own = {"rank": node * each + local_rank, "world_size": place["world_size"] * each, "local_rank": local_rank}
        ranks.append(place | own | {"cores": sorted(cores), "numa_domains": domains})
    return ranks


def shortened(numbers: list[int]) -> str:
    """[0, 1, 2, 3, 8] as "0-3,8"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def gpu_of(rank: dict) -> str:
    """The GPU a rank takes: its only one or the one with its local rank."""
    gpus = rank["gpus"]
    return "-" if not gpus else gpus[0] if len(gpus) == 1 else gpus[rank["local_rank"] % len(gpus)]


def job() -> dict:
    """The scheduler's name for this job."""
    scheduler = "slurm" if "SLURM_JOB_ID" in os.environ else "pbs" if "PBS_JOBID" in os.environ else ""
    return {
        "job": os.environ.get("SLURM_JOB_ID") or os.environ.get("PBS_JOBID", "").split(".")[0],
        "name": os.environ.get("SLURM_JOB_NAME") or os.environ.get("PBS_JOBNAME", ""),
        "scheduler": scheduler,
        "attempt": int(os.environ.get("ATTEMPT", 1)),
        "binding": os.environ.get("COURSE_BINDING", "none"),
    }


def write(lines: list[str], path: Path) -> None:
    """Print the table, and write it to `path` as JSON. lines: what the ranks have written; anything else among them is
    passed on.
    """
    ranks = []
    for line in lines:
        if line.startswith('{"rank"'):
            ranks.append(json.loads(line))
        else:
            print(line, end="")
    if not ranks:
        sys.exit("No rank has told where it runs: the launcher failed. Its message stands above.")
    ranks.sort(key=lambda rank: rank["rank"])
    nodes = list(dict.fromkeys(rank["host"] for rank in ranks))
    record = {**job(), "nodes": nodes, "ranks": ranks, "warnings": placement.warnings(ranks)}
    path.write_text(json.dumps(record, indent=1) + "\n")

    print(
        f"{record['name']}, job {record['job']}, attempt {record['attempt']}: {len(ranks)} ranks on {len(nodes)} nodes",
        end="",
    )
    print(f", binding: {record['binding']}")
    print("  rank  node          local rank  cores        threads  NUMA  GPU")
    for rank in ranks:
        cores, domains = shortened(rank["cores"]), shortened(rank["numa_domains"])
        columns = (
            f"{rank['rank']:6}  {rank['host']:<12}  {rank['local_rank']:10}  {cores:<11}  {rank['threads']:7}  "
            f"{domains:<4}"
        )
        print(f"{columns}  {gpu_of(rank)}")
    if [rank["rank"] for rank in ranks] != list(range(ranks[0]["world_size"])):
        record["warnings"].append(f"{len(ranks)} ranks have answered, but the world size is {ranks[0]['world_size']}")
    for warning in record["warnings"]:
        print(f"  warning: {warning}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=0, help="this process is going to start so many ranks (torchrun)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="collect the ranks' lines from the standard input")
    options = parser.parse_args()
    if options.write:
        write(sys.stdin.readlines(), options.write)
        return
    for rank in ranks_here(options.each):
        # in one piece: a launcher mixes the ranks' pieces, and print would write the end of the line by itself
        sys.stdout.write(json.dumps(rank) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
