# verdict: passed
import math


def steps(algorithm, p):
    doublings = 0
    while 2**doublings < p:
        doublings += 1
    return {"server": 2 * (p - 1), "tree": 2 * doublings, "ring": 2 * (p - 1)}[algorithm]


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    bits = nbytes * 8
    message = bits / world_size if algorithm == "ring" else bits
    return steps(algorithm, world_size) * (latency + message / bandwidth)
