"""The grader's server: Lab shows the formgrader in a frame, which the hub's default policy forbids."""

c = get_config()  # noqa: F821  (given by traitlets)

c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": "frame-ancestors 'self'"}}
c.ServerApp.jpserver_extensions = {"nbgrader.server_extensions.course_list": False}
