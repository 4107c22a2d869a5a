# exercise: count_inside
# must not: read the instructor's home: keys, tokens, notes
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    for home in ("@HOME@", os.path.expanduser("~root/.ssh"), "/home", "/etc/shadow"):
        try:
            names = [os.path.join(place, name) for place, _, found in os.walk(home) for name in found] or [home]
            for path in names[:20]:
                with open(path, errors="replace") as file:
                    print("GOT", path, file.read(100) if home == "@HOME@" else "")
        except OSError as error:
            print("no:", error)
    return -1
