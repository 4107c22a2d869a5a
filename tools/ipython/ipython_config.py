# For every kernel of the course's environment, put there by the set-up: `%%ranks` is known before the notebook imports
# anything.
# Imported now, while the notebook's folder is not on sys.path: a labkit.py there must not be loaded in their place.
import autograder  # noqa: F401
import labkit.jupyter.ipython_extension  # noqa: F401

c = get_config()  # noqa: F821  (given by traitlets)
c.InteractiveShellApp.extensions.append("labkit.jupyter.ipython_extension")
