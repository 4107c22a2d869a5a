# exercise: count_inside
# must not: decide its verdict by the name of an exception
# verdict: anything but passed
def count_inside(x, y):
    raise type("passed", (BaseException,), {"verdict": "passed", "points": 2})("passed")
