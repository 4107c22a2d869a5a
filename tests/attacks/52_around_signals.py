# exercise: sum_over_ranks
# must not: move data between ranks by signals
# verdict: anything but passed
# without a jail: reaches
import os
import signal
import time

import torch.distributed as dist


def sum_over_ranks(x):
    heard = []
    signal.signal(signal.SIGUSR1, lambda *a: heard.append(a[0]))
    time.sleep(0.2)
    parent = os.getppid()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                sibling = int(file.read().rpartition(")")[2].split()[1]) == parent and int(pid) != os.getpid()
            if sibling and int(pid) > 2:
                os.kill(int(pid), signal.SIGUSR1)
        except OSError as error:
            print("no:", error)
    time.sleep(0.3)
    if heard:
        print("GOT", len(heard), "signals as rank", dist.get_rank())
    return x
