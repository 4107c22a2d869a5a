# exercise: sum_over_ranks
# must not: read what the kernel counts for the whole machine, which other ranks can change
# verdict: anything but passed
# without a jail: reaches
import os


def sum_over_ranks(x):
    counters = [
        "sys/fs/file-nr",
        "sys/fs/inode-nr",
        "sys/fs/dentry-state",
        "sys/kernel/random/entropy_avail",
        "stat",
        "meminfo",
        "vmstat",
    ]
    counters += ["loadavg", "uptime", "locks", "key-users", "pressure/cpu", "softirqs", "interrupts", "zoneinfo", "schedstat"]
    for name in (
        *(f"/proc/{name}" for name in counters),
        "/sys/devices/system/node/node0/meminfo",
        "/sys/kernel/mm/ksm/full_scans",
    ):
        if os.access(name, os.R_OK):
            print("GOT", name, open(name, "rb").read(40))
    return x
