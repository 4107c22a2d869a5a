"""nbgrader in a student's server: which course, and where the exchange is. The hub says so in the environment."""

import os

c = get_config()  # noqa: F821  (given by traitlets)

c.CourseDirectory.course_id = os.environ["COURSE_ID"]
c.Exchange.root = os.environ["COURSE_EXCHANGE"]
