"""What a job of the tests runs: cells in a notebook, or whole units, on the nodes of its allocation.

python notebooks_in_job.py cells CELLS.json RESULTS.json    results: [[text of the output, error or null], ...]
python notebooks_in_job.py units RESULTS.json UNIT... results: {unit: {"failures": [...], "cells": [outputs as text,
...]}}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 170  # s for one cell, on a busy machine


def run_cells(cells: list[str]) -> list[list]:
    from rank_notebook import Notebook

    notebook = Notebook()
    try:
        done = [notebook.run(cell, limit=LIMIT) for cell in cells]
        return [[cell.text, "\n".join(cell.error) if cell.error else None] for cell in done]
    finally:
        notebook.close()


def run_unit(unit: str) -> dict[str, list]:
    import build_notebooks

    notebook = build_notebooks.solution_notebook(ROOT, unit)
    build_notebooks.run(notebook, build_notebooks.solved_of(ROOT, unit).parent, LIMIT, keep_going=True)
    shown = [[text_of(output) for output in cell.outputs] for cell in build_notebooks.code_cells(notebook)]
    return {"failures": build_notebooks.failures(notebook), "cells": ["\n".join(texts) for texts in shown]}


def text_of(output: dict) -> str:
    return output.get("text", "") or output.get("data", {}).get("text/plain", "")


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "tests" / "support")]
    if sys.argv[1] == "cells":
        found = run_cells(json.loads(Path(sys.argv[2]).read_text()))
        Path(sys.argv[3]).write_text(json.dumps(found))
    else:
        found = {unit: run_unit(unit) for unit in sys.argv[3:]}
        Path(sys.argv[2]).write_text(json.dumps(found))
