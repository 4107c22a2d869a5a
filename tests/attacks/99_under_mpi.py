# exercise: sum_counts
# must not: reach under mpiexec what is out of reach over the relay, or leave a process of the job behind
# verdict: anything but passed
# without a jail: reaches
# deadline: 30
import os
import socket
import time


def sum_counts(comm, counts):
    for path in ("@COURSE@/gradebook.db", "@HOME@/.ssh/id", "@PROJECT@/autograder/judging/judge.py", "/etc/shadow"):
        if os.path.exists(path) and os.access(path, os.R_OK):
            print("GOT", path)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if (
            pid == "@PID@"
            and os.access(f"/proc/{pid}/environ", os.R_OK)
            and b"COURSE_SECRET" in open(f"/proc/{pid}/environ", "rb").read()
        ):
            print("GOT the grader's environment")
    with socket.socket() as sock:
        sock.settimeout(1)
        try:
            sock.connect(("127.0.0.1", int("@PORT@")))
            print("GOT a connection")
        except OSError as error:
            print("no:", error)
    if comm.Get_rank() == 0 and not os.path.exists("@PROJECT@/autograder") and os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return counts * 0
