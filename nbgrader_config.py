"""nbgrader on this tree: solutions/ is the source, notebooks/ the release. Stock ``nbgrader generate_assignment
UNIT`` works, and for the homework ``nbgrader generate_assignment scaling_mnist
--CourseDirectory.release_directory=homework``.

tools/build_notebooks.py reads this file too, so what it builds and what nbgrader builds are the same bytes.
"""

from pathlib import Path

from autograder.course import CODE_STUB, TEXT_STUB

c = get_config()  # noqa: F821  (given by traitlets)

c.CourseDirectory.course_id = "distributed_deep_learning"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"

# Every notebook in solutions/ is paired with a .py of the same name that holds the answers. nbgrader copies whatever
# lies beside a notebook, so each pair is ignored by its exact name ("*.py" would also drop the starter scripts that
# students must get).
sources = Path(__file__).resolve().parent.glob("solutions/*/*.py")
pairs = sorted({path.name for path in sources if path.with_suffix(".ipynb").exists()})
# Beside a homework's notebook lies the finished work: the script, run logs and figures, all that students are to make
# themselves.
finished = ["tensorflow2_mnist_hvd.py", "torch_mnist_ddp.py", "run_*.jsonl", "warmup_*.jsonl", "scaling.csv"]
finished += ["scaling.pdf", "accuracy_*.pdf"]
finished += ["mesh_training.py", "plan.toml", "meshes.csv", "step_time.pdf", "memory.pdf", "losses.pdf"]
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", *pairs, *finished]

c.ClearSolutions.code_stub = {"python": CODE_STUB}
c.ClearSolutions.text_stub = TEXT_STUB
