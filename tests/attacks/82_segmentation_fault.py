# exercise: count_inside
# must not: end the launcher by a crash in native code
# verdict: crashed
import ctypes


def count_inside(x, y):
    return ctypes.string_at(0)
