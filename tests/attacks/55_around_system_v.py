# exercise: sum_over_ranks
# must not: move data between ranks by System V or POSIX queues and semaphores
# verdict: anything but passed
import ctypes
import time

import torch.distributed as dist


def sum_over_ranks(x):
    libc = ctypes.CDLL(None, use_errno=True)
    rank = dist.get_rank()
    memory = libc.shmget(4711, 4096, 0o1666)
    semaphore = libc.semget(4712, 1, 0o1666)
    queue = libc.syscall(240, b"attack", 0o102, 0o666, None)  # mq_open
    if semaphore >= 0:
        libc.semctl(semaphore, 0, 16, rank + 1)  # SETVAL
    time.sleep(0.3)
    if semaphore >= 0 and libc.semctl(semaphore, 0, 12) not in (rank + 1, -1):  # GETVAL
        print("GOT a semaphore's value")
    if memory >= 0:
        print("GOT shared memory", memory)
        libc.shmctl(memory, 0, None)
    if queue >= 0:
        libc.syscall(241, b"attack")
    if semaphore >= 0:
        libc.semctl(semaphore, 0, 0)
    return x
