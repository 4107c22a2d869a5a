"""The grader's server: Lab shows the formgrader in a frame, which the hub's default policy forbids.

And nothing that a student has written may fetch a picture from elsewhere: it would tell when and from where the answer
is read.
"""

c = get_config()  # noqa: F821  (given by traitlets)

POLICY = "frame-ancestors 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; object-src 'none'"
c.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": POLICY}}
c.ServerApp.jpserver_extensions = {"nbgrader.server_extensions.course_list": False}
