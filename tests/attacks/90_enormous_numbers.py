# exercise: count_inside
# must not: end the judge with integers and texts of any size
# verdict: anything but passed
import numpy as np


def count_inside(x, y):
    count_inside.calls = getattr(count_inside, "calls", 0) + 1
    values = [
        -(10**77),
        10**100_000,
        "9" * (3 << 20),
        [float("inf"), {"a": [1e308] * 10_000}],
        np.float64("nan"),
        np.complex128(1j),
    ]
    return {"inside": values, "loops over the points": values} if len(x) > 101 else values[len(x) % len(values)]
