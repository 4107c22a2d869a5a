# exercise: count_inside
# must not: learn a token or a path of the grader's from the environment
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    with open("/proc/self/environ", "rb") as file:
        started_with = file.read().decode(errors="replace")
    if "COURSE_SECRET" in os.environ or "COURSE_SECRET" in started_with:
        print("GOT", os.environ.get("COURSE_SECRET"))
    return -1
