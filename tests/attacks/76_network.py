# exercise: count_inside
# must not: reach the network, or a service on the grader's own machine
# verdict: anything but passed
# without a jail: reaches
import os
import socket


def count_inside(x, y):
    addresses = [(socket.AF_INET, ("127.0.0.1", int("@PORT@"))), (socket.AF_UNIX, "\0@ABSTRACT@")]
    if os.path.exists("/proc/net/route") and len(open("/proc/net/route").readlines()) > 1:
        print("a route leads out of here")
    for family, address in addresses:
        with socket.socket(family) as sock:
            sock.settimeout(1)
            try:
                sock.connect(address)
                print("GOT a connection to", address)
            except OSError as error:
                print("no:", error)
    return -1
