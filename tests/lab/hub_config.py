"""Apply the recipe in book/classroom for two users who have no account on this machine."""

import os

c = get_config()  # noqa: F821  (JupyterHub defines it)
load_subconfig(os.environ["RECIPE"])  # noqa: F821

c.JupyterHub.authenticator_class = "dummy"  # any name, any password
c.JupyterHub.spawner_class = "simple"  # all users run as one system user, with separate homes
c.SimpleLocalProcessSpawner.home_dir_template = os.environ["HOMES"] + "/{username}"
c.JupyterHub.bind_url = os.environ["BIND"]
c.JupyterHub.hub_port = int(os.environ["HUB_PORT"])
c.JupyterHub.db_url = "sqlite:///:memory:"
c.JupyterHub.cookie_secret = os.urandom(32)
c.ConfigurableHTTPProxy.command = os.environ["PROXY"]
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{os.environ['PROXY_PORT']}"
c.Spawner.args.append("--LabApp.expose_app_in_browser=True")
# JupyterHub may be in an environment layered on the environment with JupyterLab (`uv run --with`).
c.Spawner.environment["JUPYTERLAB_DIR"] = os.environ["PREFIX"] + "/share/jupyter/lab"
c.Spawner.environment["JUPYTER_PATH"] = os.environ["PREFIX"] + "/share/jupyter"
c.Spawner.environment["JUPYTER_CONFIG_PATH"] = os.environ["PREFIX"] + "/etc/jupyter"
if os.geteuid() == 0:
    c.Spawner.args.append("--ServerApp.allow_root=True")
