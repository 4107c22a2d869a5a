# exercise: count_inside
# must not: import the package that computes the expected values
# verdict: anything but passed
# without a jail: reaches
import importlib.util
import sys


def count_inside(x, y):
    sys.path[:0] = ["@PROJECT@", "/opt/course", ".."]
    importlib.invalidate_caches()
    for name in ("autograder", "autograder.exercises.kinds", "nbgrader", "solutions"):
        try:
            module = importlib.util.find_spec(name)
            print("GOT" if module is not None and module.origin else "no:", module)
        except ImportError as error:
            print("no:", error)
    return -1
