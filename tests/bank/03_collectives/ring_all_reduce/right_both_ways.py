# verdict: passed
# differs: Both directions of the ring are used at once, so that a chunk has half as far to go.
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    """Every chunk is summed up at home, where both halves of the ring send to, and spread from there both ways."""
    rank, p = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % p, (rank - 1) % p
    far, near = p // 2, (p - 1) // 2  # so many hops to the right, and to the left
    chunks = [chunk.clone() for chunk in torch.tensor_split(x, p)]

    def swap(moves):
        requests, arrived = [], []
        for to, source, out, into in moves:
            got = torch.empty_like(chunks[into % p])
            arrived.append((into % p, got))
            requests += [dist.irecv(got, source), dist.isend(chunks[out % p], to)]
        for request in requests:
            request.wait()
        return arrived

    for k in range(far):
        moves = [(right, left, rank + far - k, rank + far - k - 1)]
        if k < near:
            moves.append((left, right, rank - near + k, rank - near + k + 1))
        for i, got in swap(moves):
            chunks[i] += got
    for k in range(far):
        moves = [(right, left, rank - k, rank - k - 1)]
        if k < near:
            moves.append((left, right, rank + k, rank + k + 1))
        for i, got in swap(moves):
            chunks[i] = got
    return torch.cat(chunks)
