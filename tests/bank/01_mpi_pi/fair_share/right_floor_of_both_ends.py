# verdict: passed
def fair_share(n: int, rank: int, world_size: int) -> tuple[int, int]:
    return n * rank // world_size, n * (rank + 1) // world_size
