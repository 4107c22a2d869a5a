# exercise: sum_over_ranks
# must not: ask the kernel how many processes there are, how much memory is free and how busy the machine is
# verdict: anything but passed
# without a jail: reaches
import ctypes
import os


def sum_over_ranks(x):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(256)
    if libc.sysinfo(buffer) == 0:
        print("GOT", buffer.raw[:112].hex())
    try:
        print("GOT", os.getloadavg())
    except OSError as error:
        print("no:", error)
    return x
