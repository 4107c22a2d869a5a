# exercise: count_inside
# must not: end the judge by the text, the type or the traceback of an exception
# verdict: anything but passed
class Hostile(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__

    def __getattribute__(self, name):
        raise RecursionError(name)


def count_inside(x, y):
    raise type("\x1b[2J<script>alert('ATTACK')</script>\n" * 100, (Hostile,), {"__module__": 7})("x" * 1000)
