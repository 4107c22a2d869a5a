# exercise: count_inside
# must not: read the grader's memory, environment or command line through /proc
# verdict: anything but passed
# without a jail: reaches
import os


def count_inside(x, y):
    with open("/proc/self/status") as file:
        me = file.read().split("Pid:")[1].split()[0]
    for pid in sorted({"@PID@", *filter(str.isdigit, os.listdir("/proc"))} - {me}):
        for name, at in (("mem", int("@ADDRESS@")), ("environ", 0)):
            try:
                with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
                    file.seek(at)
                    found = file.read(2000)
            except OSError as error:
                print("no:", error)
                continue
            if found:
                print("GOT", name, found[:200])
    return -1
