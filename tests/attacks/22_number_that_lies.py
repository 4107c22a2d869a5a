# exercise: count_inside
# must not: pass with a number that compares, converts and prints as whatever is wanted
# verdict: anything but passed
class Number(int):
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = lambda self, other: True
    __hash__ = int.__hash__

    def __abs__(self):
        return 0

    def __int__(self):
        return 10**400

    def __str__(self):
        return '1"], "verdict": ["s", "passed'

    __repr__ = __str__


def count_inside(x, y):
    return Number(-1)
