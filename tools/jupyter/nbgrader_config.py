"""nbgrader in a student's Lab: its Validate button works by itself. Handing in goes through a hub's exchange, which
the hub sets up."""

c = get_config()  # noqa: F821  (given by traitlets)

c.CourseDirectory.course_id = "distributed_deep_learning"
