# exercise: count_inside
# must not: find the exercise, its expected values or the key among the objects of its own process
# verdict: anything but passed
import gc
import sys


def count_inside(x, y):
    words = ("misconceptions", "expected", "rng_for", "reference")
    for name in list(sys.modules):
        if name.split(".")[0] in ("autograder", "nbgrader"):
            print("GOT module", name)
    for thing in gc.get_objects():
        if type(thing) is dict and sum(word in thing for word in words) > 1:
            print("GOT", sorted(map(str, thing))[:20])
        if type(thing) is str and "@COURSE@" in thing:
            print("GOT", thing[:100])
    for value in list(vars(sys.modules["__main__"]).values()):
        if type(value).__name__ in ("Exercise", "Case", "Run"):
            print("GOT", value)
    return -1
