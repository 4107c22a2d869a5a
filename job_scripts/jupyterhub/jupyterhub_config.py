"""JupyterHub for a course: accounts, roles, servers, the grader's Lab, idle culling. A site changes hub.toml, not this
file.

COURSE_HUB=/etc/dl2027-hub.toml jupyterhub -f .../job_scripts/jupyterhub/jupyterhub_config.py
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from course_hub import places, spawners
from course_hub.settings import SettingsError, load, students

c = get_config()  # noqa: F821  (given by JupyterHub)

try:
    settings = load()
    places.prepare(settings)
    enrolled = students(settings)
except SettingsError as error:
    sys.exit("\n".join(f"course hub: {line}" for line in str(error).splitlines()))

# -- where it is reached -----------------------------------------------------------------------------------------------

c.JupyterHub.bind_url = settings.web.address
c.JupyterHub.ssl_cert, c.JupyterHub.ssl_key = settings.web.certificate, settings.web.key
c.JupyterHub.subdomain_host = settings.web.subdomain_host
c.JupyterHub.hub_ip = c.JupyterHub.hub_connect_ip = settings.web.hub_host
c.JupyterHub.hub_port = settings.web.hub_port
c.JupyterHub.db_url = f"sqlite:///{settings.state / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(settings.state / "cookie_secret")
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{settings.web.proxy_port}"
c.ConfigurableHTTPProxy.pid_file = str(settings.state / "proxy.pid")
# Debian's proxy, where node itself may be from elsewhere
if Path("/usr/share/nodejs/configurable-http-proxy").is_dir():
    os.environ.setdefault("NODE_PATH", "/usr/share/nodejs")

# -- who comes in ------------------------------------------------------------------------------------------------------

if settings.login.by == "pam":
    c.JupyterHub.authenticator_class = "pam"
    c.PAMAuthenticator.open_sessions = False  # a session is for a terminal; servers are started by the spawner
else:
    c.JupyterHub.authenticator_class = "generic-oauth"
    for name in ("client_id", "authorize_url", "token_url", "userdata_url", "username_claim"):
        setattr(c.GenericOAuthenticator, name, getattr(settings.login, name))
    c.GenericOAuthenticator.oauth_callback_url = settings.login.callback_url
    c.GenericOAuthenticator.client_secret = os.environ["OAUTH_CLIENT_SECRET"]
    c.GenericOAuthenticator.scope = ["openid", "profile"]
c.Authenticator.allowed_users = {*enrolled, *settings.instructors}
c.Authenticator.blocked_users = {settings.grader, "root"}

# -- who may do what ---------------------------------------------------------------------------------------------------

grading = settings.course  # the service's name: /services/dl2027/
c.JupyterHub.load_groups = {
    f"formgrade-{settings.course}": {"users": list(settings.instructors)},
    f"nbgrader-{settings.course}": {"users": [*enrolled, *settings.instructors]},
}
c.JupyterHub.load_roles = [
    {
        "name": f"formgrade-{settings.course}",
        "description": (
            "Instructors: the grader's Lab with the formgrader; see who works, stop a server. Not: open a student's "
            "server."
        ),
        "scopes": [
            f"access:services!service={grading}",
            "admin-ui",
            "list:users",
            "read:users:activity",
            "delete:servers",
        ],
        "groups": [f"formgrade-{settings.course}"],
    },
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    },
]

# -- servers -----------------------------------------------------------------------------------------------------------

spawners.configure(c, settings)
c.JupyterHub.cleanup_servers = settings.spawner.kind == "local"  # jobs go on while the hub is restarted

# Several instructors share one class: each opens the same Lab, which runs as the account that owns it.
grader_lab = {
    "name": grading,
    "url": f"http://127.0.0.1:{settings.web.grader_port}",
    "user": settings.grader,
    "cwd": str(settings.class_root),
    "command": [str(settings.python), str(settings.here / "start_server.py"), "--grader"],
    "environment": {**spawners.environment(settings), "JUPYTERHUB_DEFAULT_URL": "/lab"},
    "oauth_no_confirm": True,
    "display": True,
}
culler = {
    "name": "idle-culler",
    "display": False,
    "command": [
        *(str(settings.python), "-m", "jupyterhub_idle_culler"),
        f"--timeout={round(settings.idle.stop_after_minutes * 60)}",
        f"--cull-every={max(1, round(settings.idle.look_every_minutes * 60))}",
        f"--max-age={round(settings.idle.at_most_hours * 3600)}",
    ],
}
c.JupyterHub.services = [grader_lab, culler]
