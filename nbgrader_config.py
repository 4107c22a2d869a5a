"""nbgrader on this tree: solutions/ is the source, notebooks/ the release. Stock ``nbgrader generate_assignment
UNIT`` works, and for the homework ``nbgrader generate_assignment scaling_mnist
--CourseDirectory.release_directory=homework``.

tools/build_notebooks.py reads this file too, so what it builds and what nbgrader builds are the same bytes.
"""

from pathlib import Path

from autograder import content
from autograder.course import CODE_STUB, TEXT_STUB

c = get_config()  # noqa: F821  (given by traitlets)

c.CourseDirectory.course_id = "distributed_deep_learning"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"

# Beside a notebook lies what students are to make themselves: a homework's script, run logs and figures. Each unit's
# unit.toml names it.
units = [content.Room(path.parent).about for path in Path(__file__).resolve().parent.glob("units/*/unit.toml")]
finished = [name for unit in units for key in ("not_released", "products") for name in unit.get(key, [])]
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", *finished]

c.ClearSolutions.code_stub = {"python": CODE_STUB}
c.ClearSolutions.text_stub = TEXT_STUB
