# exercise: count_inside
# must not: read the grader's memory, environment or command line through /proc
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    with open("/proc/self/status") as file:
        me = file.read().split("Pid:")[1].split()[0]
    for pid in ["@PID@", *(name for name in os.listdir("/proc") if name.isdigit() and name != me)]:
        for name, at in (("mem", int("@ADDRESS@")), ("environ", 0)):
            try:
                with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
                    file.seek(at)
                    found = file.read(27 if name == "mem" else -1)
            except OSError:
                continue
            if name == "mem" or b"COURSE_SECRET" in found:
                print("GOT", name, "of", pid, found if name == "mem" else "")
    return -1
