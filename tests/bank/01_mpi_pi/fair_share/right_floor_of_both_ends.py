# verdict: passed
# differs: No rest and no `if`: both ends are rounded down from the exact place, so shares differ by one at most, and the longer ones are spread out.
def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    return n * rank // world_size, n * (rank + 1) // world_size
