# exercise: sum_over_ranks
# must not: move data between ranks over abstract sockets, loopback or multicast
# verdict: anything but passed
# without a jail: reaches
import socket
import time

import torch.distributed as dist


def sum_over_ranks(x):
    rank, n = dist.get_rank(), dist.get_world_size()
    server = socket.socket(socket.AF_UNIX)
    inet = socket.socket()
    try:
        server.bind(f"\0attack-{rank}")
        server.listen()
        inet.bind(("127.0.0.1", 47000 + rank))
        inet.listen()
    except OSError as error:
        print("no:", error)
    time.sleep(0.3)
    other = (rank + 1) % n
    for family, address in ((socket.AF_UNIX, f"\0attack-{other}"), (socket.AF_INET, ("127.0.0.1", 47000 + other))):
        with socket.socket(family) as sock:
            sock.settimeout(0.3)
            try:
                sock.connect(address)
                print("GOT a connection to rank", other)
            except OSError as error:
                print("no:", error)
    time.sleep(0.2)
    return x
