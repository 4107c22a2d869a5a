# exercise: count_inside
# must not: read what other students have handed in
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    for place, _, names in os.walk("@COURSE@/submitted"):
        for name in names:
            with open(os.path.join(place, name), errors="replace") as file:
                print("GOT", file.read(300))
    return -1
