# exercise: count_inside
# must not: regain rights, or get out of its root
# verdict: anything but passed
import ctypes
import os


def count_inside(x, y):
    libc = ctypes.CDLL(None, use_errno=True)
    for what in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/tmp"), lambda: os.setgroups([0])):
        try:
            what()
            print("GOT a right")
        except OSError as error:
            print("no:", error)
    for call in (("unshare", 0x10000000), ("unshare", 0x20000), ("setns", 0, 0), ("mount", b"/", b"/tmp", b"", 4096, b"")):
        if getattr(libc, call[0])(*call[1:]) == 0:
            print("GOT", call[0])
    for path in ("/proc/sys/kernel/core_pattern", "/proc/self/uid_map", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/x"):
        try:
            with open(path, "w") as file:
                file.write("0 0 1")
            print("GOT to write", path)
        except OSError as error:
            print("no:", error)
    return -1
