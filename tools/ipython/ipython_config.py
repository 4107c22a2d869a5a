# For every kernel of the course's environment, put there by the set-up: `%%ranks` is known before the notebook imports
# anything.
c = get_config()  # noqa: F821  (given by traitlets)
c.InteractiveShellApp.extensions.append("labkit.jupyter.ipython_extension")
