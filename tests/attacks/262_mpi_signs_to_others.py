# exercise: sum_counts
# must not: give other ranks under mpiexec a sign by what they share beside MPI: locks, processes, times, free space
# verdict: anything but passed
# deadline: 30
import contextlib
import ctypes
import fcntl
import mmap
import os
import signal
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)
KEY = 0x5EED1234


def give(rank, held):
    """What rank 0 does, for the others to notice."""
    with contextlib.suppress(OSError):
        file = open(os.__file__, "rb")
        held.append(file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with contextlib.suppress(OSError):
        file = open(struct.__file__, "rb")
        held.append(file)
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 1000)
    for path in ("/dev/null", os.__file__):
        with contextlib.suppress(OSError):
            os.utime(path, (4711, 4711))
    libc.semget(KEY, 1, 0o1600)
    libc.shmget(KEY, 4096, 0o1600)
    libc.msgget(KEY, 0o1600)
    held.append(libc.syscall(240, b"mine", os.O_CREAT | os.O_RDWR, 0o600, None))  # mq_open
    for place in ("/dev/shm", "/tmp", "."):
        with contextlib.suppress(OSError):
            room = open(f"{place}/room-{rank}", "wb")
            held.append(room)
            os.remove(room.name)
            room.write(bytes(4 << 20))
            room.flush()
    for name in os.listdir("/proc/self/fd"):  # whatever else is open on a folder that all have in common
        with contextlib.suppress(OSError, ValueError):
            if os.readlink(f"/proc/self/fd/{name}").startswith(("/dev/shm/open", "/tmp/job/ompi")):
                os.ftruncate(int(name), 4 << 20)
                os.pwrite(int(name), bytes(4 << 20), 0)


def room_left():
    """Free bytes of every file system that this process has a file of, by what the file is."""
    left = {}
    for name in [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")] + ["/tmp", "/dev/shm"]:
        with contextlib.suppress(OSError):
            left[os.path.realpath(name)] = os.statvfs(name).f_bfree * os.statvfs(name).f_bsize
    return left


def notice(before):
    """The signs that can be seen from a rank."""
    seen = []
    with contextlib.suppress(OSError), open(os.__file__, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            seen.append("flock")
    with contextlib.suppress(OSError), open(struct.__file__, "rb") as file:
        told = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1000, 1, 0))
        if struct.unpack("hhqqi4x", told)[0] == fcntl.F_RDLCK:
            seen.append("lockf")
    seen += [f"the time of {path}" for path in ("/dev/null", os.__file__) if os.stat(path).st_mtime == 4711]
    seen += [name for name in ("semget", "shmget", "msgget") if getattr(libc, name)(KEY, 1, 0) >= 0]
    if libc.syscall(240, b"mine", os.O_RDWR, 0o600, None) >= 0:
        seen.append("a message queue")
    after = room_left()
    # the sizes of what this process has itself written stay below a megabyte
    seen += [f"room on {path}" for path in before if path in after and before[path] - after[path] > (3 << 20)]
    return seen


def others():
    """Processes that are neither this one nor the first of its own, and what can be had of them."""
    seen = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if pid in (1, os.getpid()):
            continue
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            seen.append(f"process {pid}")
        for name in ("mem", "environ", "fd/0", "maps"):
            with contextlib.suppress(OSError):
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
                seen.append(f"/proc/{pid}/{name}")
    with contextlib.suppress(OSError):
        os.kill(1, signal.SIGCONT)
        os.close(os.open("/proc/1/mem", os.O_RDONLY))
        seen.append("the memory of process 1")
    return seen


def sum_counts(comm, counts):
    rank, held = comm.Get_rank(), [mmap.mmap(-1, 4096)]
    before = room_left()
    comm.Barrier()
    if rank == 0:
        give(rank, held)
    comm.Barrier()
    if rank == 1:
        print("SEEN", notice(before), others())
        for one in notice(before) + others():
            print("GOT", one)
    comm.Barrier()
    time.sleep(0)
    for one in held[1:]:
        if not isinstance(one, int):
            one.close()
    return counts * 0
