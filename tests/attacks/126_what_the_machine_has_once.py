# exercise: sum_over_ranks
# must not: take, and see others take, of what there is once for the whole machine; or ask which pages of a file others have read
# verdict: anything but passed
import ctypes
import os
import platform


def sum_over_ranks(x):
    libc = ctypes.CDLL(None, use_errno=True)
    if platform.machine() == "x86_64":
        context = ctypes.c_ulong(0)
        if libc.syscall(206, 1000, ctypes.byref(context)) == 0:  # io_setup: counted in /proc/sys/fs/aio-nr
            print("GOT a context of asynchronous input and output")
    with open(os.__file__, "rb", buffering=0) as file:
        try:
            print("GOT", os.preadv(file.fileno(), [bytearray(16)], 0, 8), "bytes that are in the page cache")  # RWF_NOWAIT
        except OSError as error:
            print("no:", error)
    return x
