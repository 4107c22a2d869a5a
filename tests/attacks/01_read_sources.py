# exercise: count_inside
# must not: read the course's sources, where the expected values are computed
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    for folder in ("@PROJECT@/units", "@COURSE@/source", "@COURSE@/overlay"):
        for place, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(place, name), errors="replace") as file:
                    print("GOT", name, file.read(200))
    return -1
