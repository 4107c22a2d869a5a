"""nbgrader for this class. Written once by `make course-release`; from then on it is yours."""

from pathlib import Path

from autograder.grading.nbgrader_plugin import configure

c = get_config()  # noqa: F821  (given by traitlets)
configure(c, Path(__file__).resolve().parent)

# Yours from here on. For example:
# c.CourseDirectory.course_id = "dl_2027"   # its name in the exchange; without this line the name of this folder
# What being late costs; nothing without such a line (docs/grading.md has more).
# c.LateSubmissionPlugin.penalty_method = "zero"
# c.Judge.hints = "why"          # how much a card tells: verdict, differs, why, how
# c.Exchange.root = "/srv/nbgrader/exchange"
