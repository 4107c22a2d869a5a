"""The jail in which a grader runs code it does not trust: namespaces, a root that holds only what is listed, no rights,
narrow limits.

`python -I -S jail.py SPEC serve COMMAND...` starts the warm launcher inside: it sees the allow-list root and nothing
else, has no network and no other process in sight. For every case it forks a leader into a process namespace of its own
(`fork_leader`); ranks run in *compartments* below it, namespaces with a fresh /tmp and /dev/shm (`enter_compartment`),
where they give up every right (`drop_rights`). Ranks that talk over the relay get a compartment each, so that nothing
leads around it; ranks that find each other by themselves (Horovod, MPI) share one, with a loopback device.

`python -I -S jail.py SPEC run COMMAND...` runs one command in such a compartment, as mpiexec is.
`autograder.grading.isolation` writes the SPEC.

Only the standard library, nothing of labkit: it is started without site-packages, before there is a root to find them
in. Long, because it is started by its own path and can import no neighbour. Linux; what a machine does not offer is
left out by the SPEC, never silently. The system calls are those of user_namespaces(7), pivot_root(2), mount_setattr(2),
capabilities(7) and seccomp(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys

ROOT_MAP = "/opt/course"  # where the package labkit lies inside
JOB_FOLDER = "/tmp/job"  # of an MPI job
LEADER_UID = 59999  # of a compartment's leader, when the jail is built by root: its ranks must not be able to signal it
# ranks that are kept apart are users of their own, from here on: the kernel counts much by user
RANKS_UID = 1_900_000_000
RANKS_OF_A_SLOT = 128
SOCKET_BYTES = 416 << 10  # that the kernel may keep for one open descriptor: twice the usual buffer of a socket
# that a rank by itself may have, and as many may lie in messages that nobody has received
DESCRIPTORS_APART = 256
FREE_DESCRIPTORS = 64  # of each process: the smallest table of descriptors that Linux makes

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_NEW_ANYTHING = _NEWNS | _NEWUTS | _NEWIPC | _NEWUSER | _NEWPID | _NEWNET | 0x2000000 | 0x80  # and cgroup, time
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _MOVE, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 8192, 16384, 1 << 18
_DETACH = 2
_CLONE_VM, _CLONE_FILES = 0x100, 0x400
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MAP_FIXED = 0x10
_PDEATHSIG, _DUMPABLE, _KEEPCAPS, _SET_SECCOMP, _CAPBSET_DROP, _NO_NEW_PRIVS, _CAP_AMBIENT = 1, 4, 8, 22, 24, 38, 47
_CAP_KILL = 5

_libc = ctypes.CDLL(None, use_errno=True)


class JailError(OSError):
    """A part of the jail could not be built; nothing may run then."""


def _call(name: str, *arguments) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise JailError(number, f"{name}: {os.strerror(number)}")


def _syscall(what: str, number: int, *arguments) -> None:
    if _libc.syscall(ctypes.c_long(number), *arguments) != 0:
        code = ctypes.get_errno()
        raise JailError(code, f"{what}: {os.strerror(code)}")


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    _call("prctl", option, *padded)


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encode = os.fsencode
    try:
        _call(
            "mount",
            encode(source) if source else None,
            encode(target),
            encode(kind) if kind else None,
            ctypes.c_ulong(flags),
            encode(options) if options else None,
        )
    except JailError as error:
        raise JailError(error.errno, f"mount on {target}: {os.strerror(error.errno)}") from None


# -- the root: what exists inside --------------------------------------------------------------------------------------


def build_root(spec: dict) -> None:
    """Replace this mount namespace's root by one that holds only what the SPEC lists, read-only. The old root is gone
    afterwards.

    Must run in a fresh mount namespace, as the first process of a fresh process namespace (for /proc).
    """
    _mount(None, "/", None, _PRIVATE | _REC)
    # only a place to stand on while the roots change
    _mount("tmpfs", "/tmp", "tmpfs", _NOSUID | _NODEV, "mode=0755,size=4m")
    for name in ("old", "new"):
        os.mkdir(f"/tmp/{name}")
    _pivot("/tmp", "/tmp/old")
    _mount("tmpfs", "/new", "tmpfs", _NOSUID | _NODEV, "mode=0755,size=4m")
    _make_folders(spec)
    for path in spec["binds"]:
        _bind("/old" + path, "/new" + path)
    for package in spec["packages"]:
        _bind("/old" + package, f"/new{ROOT_MAP}/{os.path.basename(package)}")
    for path in spec["hidden"]:
        _mount("tmpfs", "/new" + path, "tmpfs", _NOSUID | _NODEV | _RDONLY, "mode=0755,size=4k")
    for path, target in spec["links"].items():
        os.makedirs(os.path.dirname("/new" + path), exist_ok=True)
        os.symlink(target, "/new" + path)
    for path, text in spec["files"].items():
        _write("/new" + path, text)
    for name in ("null", "zero", "full", "random", "urandom"):
        _write(f"/new/dev/{name}", "")
        _mount(f"/old/dev/{name}", f"/new/dev/{name}", None, _BIND)
        # Its bytes can be written all the same, its times cannot: they would be the same for everybody on the machine.
        _read_only(f"/new/dev/{name}", _RDONLY | _NOSUID)
    for name, target in {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}.items():
        os.symlink(f"/proc/self/{target}", f"/new/dev/{name}")
    _mount("proc", "/new/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    _mount(None, "/new", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    os.chdir("/new")
    _pivot(".", ".")
    _call("umount2", b".", _DETACH)
    os.chdir("/")


def _pivot(new_root: str, put_old: str) -> None:
    number = _SYS_PIVOT_ROOT[platform.machine()]
    _syscall("pivot_root", number, ctypes.c_char_p(os.fsencode(new_root)), ctypes.c_char_p(os.fsencode(put_old)))
    os.chdir("/")


def _make_folders(spec: dict) -> None:
    for name in ("proc", "dev", "tmp", "etc", "opt"):
        os.mkdir(f"/new/{name}", 0o755)
    _mount("tmpfs", "/new/tmp", "tmpfs", _NOSUID | _NODEV, "mode=1777,size=16m")
    os.mkdir("/new/dev/shm")
    _mount("tmpfs", "/new/dev/shm", "tmpfs", _NOSUID | _NODEV, "mode=1777,size=16m")


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def _bind(source: str, target: str) -> None:
    """Show `source` at `target`, with all that is mounted below it, read-only."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        _write(target, "")
    _mount(source, target, None, _BIND | _REC)
    _read_only(target)


def _read_only(path: str, flags: int = _RDONLY | _NOSUID | _NODEV) -> None:
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    try:
        _syscall(
            "mount_setattr",
            _SYS_MOUNT_SETATTR,
            _AT_FDCWD,
            ctypes.c_char_p(os.fsencode(path)),
            _AT_RECURSIVE,
            ctypes.c_char_p(attributes),
            ctypes.c_size_t(len(attributes)),
        )
    except JailError as error:
        if error.errno != errno.ENOSYS:
            raise
        _mount(None, path, None, _REMOUNT | _BIND | flags | os.statvfs(path).f_flag & 0xFF)  # before Linux 5.12


# -- compartments: where one case runs ---------------------------------------------------------------------------------


def fork_leader(spec: dict) -> int:
    """`os.fork` of a child that is the first process of a fresh process namespace; with it all others in there end."""
    if "namespaces" not in spec["protections"]:
        return os.fork()
    _call("unshare", _NEWPID)
    pid = os.fork()
    if pid:
        _children_belong_to("self")
    return pid


def watch_cells(spec: dict) -> None:
    """Mounts a /proc in which a leader sees all its ranks, each of which gets a compartment of its own."""
    if "namespaces" in spec["protections"]:
        _call("unshare", _NEWNS)
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
        os.chdir("/")


_stacks: list[mmap.mmap] = []  # of the processes that `start_compartment` has made


def start_compartment(spec: dict) -> int:
    """A process namespace below the leader's; returns its first process, which sleeps until the leader ends it, and its
    children with it.

    Forking a warm process takes milliseconds, and this one has nothing to do: it sits in pause(2), with the leader's
    memory and open files.
    """
    if "namespaces" not in spec["protections"]:
        return 0
    stack = mmap.mmap(
        -1, 1 << 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    )  # shared, it would be memory of all ranks together
    _stacks.append(stack)
    top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + len(stack)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # inherited: orphans that are left to it vanish
    try:
        pid = _libc.clone(_libc.pause, ctypes.c_void_p(top), _NEWPID | _CLONE_VM | _CLONE_FILES | signal.SIGCHLD, None)
    finally:
        signal.signal(signal.SIGCHLD, before)
    if pid < 0:
        raise JailError(ctypes.get_errno(), f"clone: {os.strerror(ctypes.get_errno())}")
    return pid


def fork_into(compartment: int, left_out: int = 0) -> int:
    """`os.fork` of a child within a compartment that `start_compartment` has made (0: there are none). left_out: how
    many numbers of processes are used up before."""
    if not compartment:
        return os.fork()
    _children_belong_to(str(compartment))
    for _ in range(left_out):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    pid = os.fork()
    if pid:
        _children_belong_to("self")
    return pid


def _children_belong_to(process: str) -> None:
    """Whose process namespace the next child is born in."""
    handle = os.open(f"/proc/{process}/ns/pid", os.O_RDONLY)
    try:
        _call("setns", handle, _NEWPID)
    finally:
        os.close(handle)


def enter_compartment(spec: dict, network: bool, alone: bool = False) -> None:
    """The other namespaces, and in them an own /proc, /tmp and /dev/shm. network: whether a loopback device is up.

    alone: for a rank that must not hear of others; what the kernel counts for the whole machine is out of its sight,
    too.
    """
    if "namespaces" not in spec["protections"]:
        return
    apart = _NEWNS | _NEWIPC | _NEWUTS
    if "network" in spec["protections"]:
        apart |= _NEWNET
    _call("unshare", apart)
    _private_folders(spec)
    if alone:
        _hide_the_machine()
    else:
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    if network and apart & _NEWNET:
        _loopback_up()
    os.chdir("/tmp")


def cover(spec: dict, files: list[str]) -> None:
    """In this compartment these files are empty."""
    if "namespaces" in spec["protections"]:
        for path in files:
            _mount("/dev/null", path, None, _BIND)


def _hide_the_machine() -> None:
    """A /proc with processes in it and nothing else, and an empty /sys: the rest counts files, memory and time of the
    whole machine."""
    flags = _NOSUID | _NODEV | _NOEXEC
    try:
        _mount("proc", "/proc", "proc", flags, "subset=pid")
    except JailError as error:
        if error.errno != errno.EINVAL:
            raise
        # before Linux 5.8: `autograder.grading.isolation.probe` says that this is missing
        _mount("proc", "/proc", "proc", flags)
    if os.path.isdir("/sys"):
        _mount("tmpfs", "/sys", "tmpfs", flags | _RDONLY, "mode=0755,size=4k")


def enter_cell(spec: dict) -> int:
    """The namespaces that a rank of an MPI job has for itself from its beginning; returns a handle of its mount
    namespace. The network and the folders in which Open MPI's processes find each other it gives up when it has found
    them (`cover_folders`, `install_seal`)."""
    _call("unshare", _NEWNS | _NEWIPC | _NEWUTS)
    _hide_the_machine()
    return os.open("/proc/self/ns/mnt", os.O_RDONLY)


def cover_folders(spec: dict, namespace: int, own: str) -> None:
    """In another process' mount namespace, a handle: a fresh /tmp and /dev/shm cover those that its job shares. Of the
    job's files the folder `own` alone stays in sight, as JOB_FOLDER."""
    _call("setns", namespace, _NEWNS)
    _private_folders(spec, own)


def _private_folders(spec: dict, own: str = "") -> None:
    """A fresh /tmp and /dev/shm of limited size. What the root shows below /tmp (a course that lies there) stays in
    sight. own: what JOB_FOLDER is from then on, which the job of a rank has had until then."""
    for path, size in (("/dev/shm", spec["shm_bytes"]), ("/tmp", spec["tmp_bytes"])):
        shown = os.listdir(path)
        options = f"mode=1777,size={size},nr_inodes=16384"
        if path == "/dev/shm" or not shown:
            _mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV, options)
            continue
        _mount("tmpfs", "/opt", "tmpfs", _NOSUID | _NODEV, options)
        for name in shown:
            os.mkdir(f"/opt/{name}")
            if own and f"/tmp/{name}" == JOB_FOLDER:
                _mount(own, f"/opt/{name}", None, _BIND)
                continue
            _mount(f"/tmp/{name}", f"/opt/{name}", None, _BIND | _REC)
            # the folders on the way to what is shown belong to the user who grades: without this, ranks could write
            # into them
            _mount(None, f"/opt/{name}", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
        _mount("/opt", "/tmp", None, _MOVE)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running


# -- rights and limits -------------------------------------------------------------------------------------------------


def drop_rights(spec: dict, processes: int, apart: bool = False) -> None:
    """Makes a rank nobody, for good, before it takes its job.

    processes: how many, threads included, it may have. apart: whether it must not hear of other ranks but over the
    relay.
    """
    protections = spec["protections"]
    _prctl(_DUMPABLE, 1)  # its leader is not, and nobody could write to its own /proc/self
    if "namespaces" in protections and spec["mode"] == "user":
        _call("unshare", _NEWUSER)  # a namespace of users for each rank: its processes are counted in it
        _map_user(spec["uid"], 0)
    if spec["mode"] == "none" and os.geteuid() != 0:  # the grader's own user: all else that it runs counts, too
        processes += _tasks_of(os.geteuid())
    resource.setrlimit(resource.RLIMIT_NPROC, _below(resource.RLIMIT_NPROC, processes))
    descriptors = DESCRIPTORS_APART if apart else 1024
    resource.setrlimit(resource.RLIMIT_NOFILE, _below(resource.RLIMIT_NOFILE, descriptors))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        resource.setrlimit(limit, (0, 0))
    _write_if_possible("/proc/self/oom_score_adj", "1000")  # should memory run out, let it be this process that goes
    if spec["mode"] == "root":
        _drop_bounding_set()
        _become(spec["uid"])
    elif "namespaces" in protections or os.geteuid() == 0:
        _drop_bounding_set()
    _set_capabilities(0)
    _prctl(_NO_NEW_PRIVS, 1)
    if "seccomp" in protections:
        install_filter(apart, "namespaces" in protections)
    _prctl(_DUMPABLE, 1)  # changing the user has cleared it, and a process could not open its own /proc/self
    die_with_parent()  # cleared as well


def hide() -> None:
    """Nobody of the same user may look into this process from here on (and into its children, until they say
    otherwise)."""
    _prctl(_DUMPABLE, 0)


def shield_leader(spec: dict) -> None:
    """Takes rights from a compartment's leader once its ranks are forked: it can still end them, and they cannot look
    into it."""
    if spec["mode"] == "root" and "namespaces" in spec["protections"]:
        _drop_bounding_set()
        _prctl(_KEEPCAPS, 1)
        _become(LEADER_UID)
    if "namespaces" in spec["protections"]:
        _set_capabilities(1 << _CAP_KILL)
    _prctl(_NO_NEW_PRIVS, 1)
    _prctl(_DUMPABLE, 0)
    die_with_parent()


def give(spec: dict, path: str) -> None:
    """Make a folder the ranks' own."""
    if spec["mode"] == "root":
        os.chown(path, spec["uid"], spec["uid"])


def as_a_rank(spec: dict, rank: int) -> dict:
    """The SPEC for one of the ranks that are kept apart, which is a user of its own where root builds the jail and may
    choose: of one user the kernel counts processes, signals and pipes together, and each rank could see how many the
    others have."""
    uid = RANKS_UID + spec["slot"] * RANKS_OF_A_SLOT + rank % RANKS_OF_A_SLOT
    return {**spec, "uid": uid} if spec["mode"] == "root" and _is_mapped(uid) else spec


def _is_mapped(uid: int) -> bool:
    """True if this user namespace (a container's, say) has such a user."""
    with open("/proc/self/uid_map") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= uid < first + count for first, _, count in ranges)


def share_no_memory() -> None:
    """Gives a rank memory of its own: whatever writable memory it has from its parents is private from here on, and
    empty where it was shared.

    A fork copies memory, but not what was mapped as shared: through that, ranks could speak to each other.
    """
    with open("/proc/self/maps") as file:
        shared = [line.split(maxsplit=2)[0] for line in file if line.split(maxsplit=2)[1][1::2] == "ws"]
    for addresses in shared:
        start, end = (int(address, 16) for address in addresses.split("-"))
        wanted = _libc.mmap64
        wanted.restype, wanted.argtypes = (
            ctypes.c_void_p,
            [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long],
        )
        rights = mmap.PROT_READ | mmap.PROT_WRITE
        if wanted(start, end - start, rights, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED, -1, 0) != start:
            raise JailError(ctypes.get_errno(), f"mmap: {os.strerror(ctypes.get_errno())}")


def die_with_parent() -> None:
    _prctl(_PDEATHSIG, signal.SIGKILL)


def end_everybody(spec: dict) -> None:
    """Kills all other processes of a compartment, whose first one this is, and waits until they are gone."""
    if "namespaces" not in spec["protections"] or os.getpid() != 1:
        return
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _tasks_of(uid: int) -> int:
    """The number of a user's processes, threads included, which the kernel holds against RLIMIT_NPROC."""
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/status") as file:
                status = dict(line.split(":", 1) for line in file)
        except OSError:  # it has ended
            continue
        count += int(status["Threads"]) if int(status["Uid"].split()[0]) == uid else 0
    return count


def _below(limit: int, value: int) -> tuple[int, int]:
    _, hard = resource.getrlimit(limit)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    return value, value


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _map_user(inside: int, outside: int) -> None:
    """The one user and the one group of a fresh user namespace: `inside` is what the namespace above calls
    `outside`."""
    _write_if_possible("/proc/self/setgroups", "deny")
    for name in ("uid_map", "gid_map"):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(f"{inside} {outside} 1")


def _write_if_possible(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError:
        pass


def _drop_bounding_set() -> None:
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) != 0:
            if ctypes.get_errno() == errno.EINVAL:
                return  # this kernel knows no more
            raise JailError(ctypes.get_errno(), "the bounding set of capabilities cannot be dropped")


def _set_capabilities(kept: int) -> None:
    """Effective, permitted: `kept` (a bit mask); inheritable, ambient: none."""
    _libc.prctl(_CAP_AMBIENT, ctypes.c_ulong(4), 0, 0, 0)  # clear all; kernels before 4.3 have none
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("=Ii", 0x20080522, 0)
    _call("capset", ctypes.c_char_p(header), ctypes.c_char_p(struct.pack("=6I", low, low, 0, high, high, 0)))


# -- system calls that no exercise needs -------------------------------------------------------------------------------

# number on x86_64, on aarch64 (None: not there)
DENIED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    # what is there once for the whole machine: a rank would see what others take of it
    "sysinfo": (99, 179),
    "ustat": (136, None),
    "sysfs": (139, None),
    "io_setup": (206, 0),
    "statmount": (457, 457),
    "listmount": (458, 458),
    # memory that no limit of a process and no size of a file system counts
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
}
# for ranks that have no cell, a way to make up for it
LANDLOCK = {
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
# By these a process tells another one something through a file that both may only read.
DENIED_APART = {
    "flock": (73, 32),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "mincore": (27, 232),
    "cachestat": (451, 451),
    "preadv2": (327, 286),
}
# Between the ranks of an MPI job there is a network, over which they have found mpiexec before their first case began.
DENIED_SEALED = {
    "socket": (41, 198),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "connect": (42, 203),
}
_FCNTL = (72, 25)
# F_GETLK, F_SETLK, F_SETLKW, those of open files, leases, notices, sizes of pipes: memory that the kernel counts by
# user
_LOCK_COMMANDS = (5, 6, 7, 36, 37, 38, 1024, 1025, 1026, 1031, 1032)
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE, _CLONE3, _SOCKET, _SETSOCKOPT, _SECCOMP = (56, 220), (435, 435), (41, 198), (54, 208), (317, 277)
# and netlink, by which a process lists its network devices
_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _fail(number: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | number)


def _refusals(machine: str, denied: dict, locks: bool) -> list[bytes]:
    """The beginning of a filter, as BPF instructions: the calls in `denied` fail, and locks on files unless
    `locks`."""
    instruction, arch = _instruction, _AUDIT_ARCH[machine]
    column = list(_AUDIT_ARCH).index(machine)
    program = [instruction(_LOAD, 4), instruction(_JUMP_EQUAL, arch, 1, 0)]
    program += [instruction(_RETURN, _KILL_PROCESS), instruction(_LOAD, 0)]
    if machine == "x86_64":  # the x32 numbers, by which every call could be made once more
        program += [instruction(_JUMP_ABOVE, 0x40000000, 0, 1), instruction(_RETURN, _KILL_PROCESS)]
    for numbers in denied.values():
        if numbers[column] is not None:
            program += [instruction(_JUMP_EQUAL, numbers[column], 0, 1), _fail(errno.EPERM)]
    if not locks:
        commands = [instruction(_JUMP_EQUAL, command, 0, 1) + _fail(errno.ENOLCK) for command in _LOCK_COMMANDS]
        program += [instruction(_JUMP_EQUAL, _FCNTL[column], 0, 2 * len(commands) + 2), instruction(_LOAD, 24)]
        program += [*commands, instruction(_RETURN, _ALLOW)]
    return program


def filter_program(machine: str, apart: bool = False, landlock: bool = True) -> bytes:
    """The seccomp filter as BPF instructions: the calls in DENIED fail with EPERM, and so do new namespaces and unusual
    sockets.

    apart: those of DENIED_APART and locks on files, too, for ranks that must not hear of each other. landlock: those of
    LANDLOCK. Raises KeyError for a machine whose system calls are not in the table.
    """
    instruction, fail = _instruction, _fail
    program = _refusals(
        machine, DENIED | (DENIED_APART if apart else {}) | (LANDLOCK if landlock else {}), locks=not apart
    )
    column = list(_AUDIT_ARCH).index(machine)
    # sizes of a socket's buffers are as they are: what lies in there is counted nowhere (told that it worked, programs
    # go on)
    sizes = [instruction(_JUMP_EQUAL, option, 0, 1) + fail(0) for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
    program += [instruction(_JUMP_EQUAL, _SETSOCKOPT[column], 0, 2 * len(sizes) + 2), instruction(_LOAD, 32)]
    program += [*sizes, instruction(_RETURN, _ALLOW)]
    # clone3 hides its flags behind a pointer; told that it does not exist, the C library uses clone
    program += [instruction(_JUMP_EQUAL, _CLONE3[column], 0, 1), fail(errno.ENOSYS)]
    program += [instruction(_JUMP_EQUAL, _CLONE[column], 0, 4), instruction(_LOAD, 16)]
    program += [instruction(_JUMP_ANY, _NEW_ANYTHING & ~0x80, 0, 1), fail(errno.EPERM), instruction(_RETURN, _ALLOW)]
    program += [instruction(_JUMP_EQUAL, _SOCKET[column], 1, 0), instruction(_RETURN, _ALLOW), instruction(_LOAD, 16)]
    for family in _FAMILIES:
        program += [instruction(_JUMP_EQUAL, int(family), 0, 1), instruction(_RETURN, _ALLOW)]
    return b"".join([*program, fail(errno.EAFNOSUPPORT)])


def install_filter(apart: bool = False, landlock: bool = True) -> None:
    """From here on, for this process and all its descendants. Needs no_new_privs."""
    program = filter_program(platform.machine(), apart, landlock)
    buffer = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(buffer))
    _call("prctl", _SET_SECCOMP, ctypes.c_ulong(2), ctypes.c_char_p(description), ctypes.c_ulong(0), ctypes.c_ulong(0))


def sealing_program(machine: str) -> bytes:
    """A second filter, for a rank of an MPI job that has found the others: no socket, and nothing of DENIED_APART."""
    return b"".join([*_refusals(machine, DENIED_SEALED | DENIED_APART, locks=False), _instruction(_RETURN, _ALLOW)])


def install_seal() -> None:
    """From here on, for all threads of this process, Open MPI's among them, and all descendants. Needs
    no_new_privs."""
    program = sealing_program(platform.machine())
    buffer = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(buffer))
    number = _SECCOMP[list(_AUDIT_ARCH).index(platform.machine())]
    _syscall("seccomp", number, 1, 1, ctypes.c_char_p(description))  # SET_MODE_FILTER, for all threads


# -- what a compartment uses in all ------------------------------------------------------------------------------------


def usage() -> tuple[int, float]:
    """(bytes, seconds of processor time) of everybody in this process namespace but its first process.

    Bytes: private and shared memory and page tables, without what a process still shares with the warm launcher it was
    forked from. And what the kernel may keep for its descriptors where it has many of them: what lies in a socket's
    buffer is counted nowhere.
    """
    own = _bytes_of("1")
    size, ticks = 0, 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or entry == "1":
            continue
        try:
            size += max(0, _bytes_of(entry) - own)
            with open(f"/proc/{entry}/stat", "rb") as file:
                # own and that of waited-for children
                ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
        except (OSError, ValueError, IndexError):
            continue
    gone = resource.getrusage(resource.RUSAGE_CHILDREN)
    return size, ticks / os.sysconf("SC_CLK_TCK") + gone.ru_utime + gone.ru_stime


def _bytes_of(pid: str) -> int:
    with open(f"/proc/{pid}/status", "rb") as file:
        lines = [line.split() for line in file]
    memory = sum(int(words[1]) << 10 for words in lines if words and words[0] in (b"RssAnon:", b"RssShmem:", b"VmPTE:"))
    descriptors = next((int(words[1]) for words in lines if words and words[0] == b"FDSize:"), 0)
    return memory + max(0, descriptors - FREE_DESCRIPTORS) * SOCKET_BYTES


# -- the program -------------------------------------------------------------------------------------------------------


def main() -> None:
    """jail.py SPEC serve|run COMMAND...; the exit status is the command's."""
    spec, what, command = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]
    close_descriptors({0, 1, 2, *spec["keep"]})
    lifeline = socket.socket(fileno=spec["lifeline"]) if "lifeline" in spec else None
    try:
        status = _outside(spec, what, command, lifeline)
    except JailError as error:
        print(f"the jail cannot be built: {error}", file=sys.stderr)
        status = 125
    sys.exit(status)


def _outside(spec: dict, what: str, command: list[str], lifeline: socket.socket | None) -> int:
    """Unshare, fork the first process inside, stay until it ends or until nobody holds the other end of the
    lifeline."""
    inside = "namespaces" in spec["protections"]
    if inside:
        user = os.geteuid(), os.getegid()
        apart = _NEWNS | _NEWPID | _NEWIPC | _NEWUTS | (_NEWNET if "network" in spec["protections"] else 0)
        _call("unshare", apart | (_NEWUSER if spec["mode"] == "user" else 0))
        if spec["mode"] == "user":
            _map_users(*user)
    pid = os.fork()
    if pid == 0:
        status = 125
        try:
            die_with_parent()
            if inside:
                build_root(spec)
                _call("sethostname", b"course", 6)
            status = _serve(command, lifeline) if what == "serve" else _run(spec, command, lifeline)
        except OSError as error:
            print(f"the jail cannot be built: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    first = os.pidfd_open(pid)
    watched = select.poll()
    watched.register(first, select.POLLIN)
    if lifeline is not None:
        watched.register(lifeline, select.POLLRDHUP)  # the other end has closed; what it says is for the first process
    if first not in dict(watched.poll()):
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _map_users(uid: int, gid: int) -> None:
    _write_if_possible("/proc/self/setgroups", "deny")
    for name, number in (("uid_map", uid), ("gid_map", gid)):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(f"0 {number} 1")


def _serve(command: list[str], lifeline) -> int:
    os.execv(command[0], command)


def _run(spec: dict, command: list[str], lifeline: socket.socket | None) -> int:
    """The first process of the only compartment: run `command`, reap, end with it."""
    settle(spec, lifeline)
    pid = start(spec, command)
    shield_leader(spec)
    main_process = os.pidfd_open(pid)
    while True:
        select.select([main_process], [], [], 0.2)
        ended, status = os.waitpid(-1, os.WNOHANG)
        while ended and ended != pid:  # orphans that were left to us
            ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if os.getpid() == 1 and usage()[0] > spec["limits"]["memory_bytes"]:
            print("the jail's processes together have taken too much memory: ended", file=sys.stderr, flush=True)
            return 128 + signal.SIGKILL


def settle(spec: dict, lifeline: socket.socket | None) -> None:
    """Make the only compartment of this jail, and hand its folder over, if there is a lifeline."""
    if "namespaces" in spec["protections"]:
        _private_folders(spec)
        if spec.get("alone"):
            _hide_the_machine()
        if spec.get("loopback"):
            _loopback_up()
    if lifeline is not None:
        _hand_over_folder(spec, lifeline)
    os.chdir("/tmp" if "namespaces" in spec["protections"] else spec["folder"])


def start(spec: dict, command: list[str]) -> int:
    """Fork a process without rights that becomes `command`; its number."""
    pid = os.fork()
    if pid == 0:
        try:
            apply_limits(spec["limits"])
            drop_rights(spec, spec["limits"]["processes"])
            os.execv(command[0], command)
        except OSError as error:
            print(f"the jail cannot be built: {error}", file=sys.stderr, flush=True)
        os._exit(125)
    return pid


def _hand_over_folder(spec: dict, lifeline: socket.socket) -> None:
    """Make JOB_FOLDER for the command, hand it to whoever started us, and wait for the word to begin."""
    folder = JOB_FOLDER if "namespaces" in spec["protections"] else spec["folder"]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    give(spec, folder)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    socket.send_fds(lifeline, [b"folder"], [handle])
    os.close(handle)
    if lifeline.recv(1) != b"!":
        os._exit(0)
    lifeline.close()


def apply_limits(limits: dict) -> None:
    """Limits of each process of a command: seconds, bytes."""
    for which, value in ((resource.RLIMIT_FSIZE, limits["file_bytes"]), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(which, _below(which, value))


def close_descriptors(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd not in keep:
            try:
                os.close(fd)
            except OSError:
                pass  # the one by which they were listed


if __name__ == "__main__":
    main()
