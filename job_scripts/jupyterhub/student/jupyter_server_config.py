"""A student's server: nbgrader's parts for students only. What is not loaded has no address."""

c = get_config()  # noqa: F821  (given by traitlets)

c.ServerApp.jpserver_extensions = {
    "nbgrader.server_extensions.formgrader": False,
    "nbgrader.server_extensions.course_list": False,
}
