"""A class's root made by `make course-release`, and a unit and an exercise of an instructor's own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOLUTION = (
    '{"grade": false, "grade_id": "solve_halve", "locked": false, "schema_version": 3, "solution": true, "task": false}'
)
CHECK = '{"grade": true, "grade_id": "check_halve", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}'
OWN_UNIT = f"""# %% [markdown]
# # A unit of one's own

# %% nbgrader={SOLUTION}
def halve(x):
    ### BEGIN SOLUTION
    only_in_the_solution = x / 2
    return only_in_the_solution
    ### END SOLUTION

# %% nbgrader={CHECK}
from autograder import check

check(halve)
"""
OWN_EXERCISE = '''from autograder.exercise import Case, Exercise


class Halve(Exercise):
    """Half of it."""

    unit = "77_own_unit"
    function = "halve"
    signature = "halve(x: float) -> float"
    runtime = "plain"
    levels = {"any number": 2}

    def cases(self, rng):
        return [Case("any number", 1, arguments=(float(rng.integers(1, 100)),))]

    def expected(self, case):
        return [case.arguments[0] / 2]
'''


def course_release(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "tools" / "course_release.py", root, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
