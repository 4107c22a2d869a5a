# Right and wrong answers to `print_in_turn`. In files of their own: autograder bank --write DIR
import sys
import torch
import torch.distributed as dist

# %% right_empty_message: passed
def print_in_turn(line):
    rank = dist.get_rank()
    last = dist.get_world_size() - 1
    if rank:
        dist.recv(torch.empty(0), rank - 1)
    for character in line:
        print(character, end="")
    print()
    if rank < last:
        dist.send(torch.empty(0), rank + 1)

# %% right_rank_zero_conducts: passed
def conduct(world_size):
    for player in range(1, world_size):
        dist.send(torch.tensor(player), player)
        dist.recv(torch.zeros(()), player)


def print_in_turn(line):
    rank = dist.get_rank()
    if rank == 0:
        sys.stdout.write(line + "\n")
        conduct(dist.get_world_size())
    else:
        dist.recv(torch.tensor(0), 0)
        sys.stdout.write(line + "\n")
        dist.send(torch.ones(()), 0)

# %% right_ring_token: passed
# differs: The token goes all the way round to rank 0, which then knows that everybody has printed.
def print_in_turn(line: str) -> None:
    rank, p = dist.get_rank(), dist.get_world_size()
    word = torch.tensor([17], dtype=torch.int64)
    if rank != 0:
        dist.irecv(word, src=(rank - 1) % p).wait()
    print(f"{line}", flush=True)
    dist.isend(word, dst=(rank + 1) % p).wait() if rank == 0 else dist.send(word, (rank + 1) % p)
    if rank == 0:
        dist.recv(word, p - 1)

# %% right_token: passed
def print_in_turn(line):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, rank - 1)
    print(line)
    if rank < world_size - 1:
        dist.send(token, rank + 1)

# %% wrong_a_blank_before_it: wrong, wrong_text, levels 0 0
def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    print("", line)
    if rank < p - 1:
        dist.send(token, dst=rank + 1)

# %% wrong_adds_the_rank (right_token): wrong, wrong_text, levels 0 0
-    print(line)
+    print("rank", rank, line)

# %% wrong_backwards: wrong, out_of_order, levels 0 0
def print_in_turn(line):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank < world_size - 1:
        dist.recv(token, rank + 1)
    print(line)
    if rank > 0:
        dist.send(token, rank - 1)

# %% wrong_barriers: wrong, uses_collective, levels 0 0
def print_in_turn(line):
    for turn in range(dist.get_world_size()):
        if turn == dist.get_rank():
            print(line)
        dist.barrier()

# %% wrong_conductor_does_not_listen: wrong, out_of_order, levels 0 0
def print_in_turn(line):
    # rank 0 calls the others up one after the other, but does not wait until they have spoken
    token = torch.zeros(1)
    if dist.get_rank() == 0:
        print(line)
        for rank in range(1, dist.get_world_size()):
            dist.send(token, rank)
    else:
        dist.recv(token, 0)
        print(line)

# %% wrong_empty_line_left_out: wrong, not_printed, levels 0 1
def print_in_turn(line: str) -> None:
    rank, world_size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    if line:
        print(line)
    if rank < world_size - 1:
        dist.send(token, dst=rank + 1)

# %% wrong_just_prints: wrong, out_of_order, levels 0 0
def print_in_turn(line):
    print(line)

# %% wrong_last_sends_beyond_the_end (right_token): raised, ValueError, levels 0 0
-    rank, world_size = dist.get_rank(), dist.get_world_size()
+    rank = dist.get_rank()
@@
-    if rank < world_size - 1:
-        dist.send(token, rank + 1)
+    dist.send(token, rank + 1)

# %% wrong_last_sends_to_rank_zero (right_token): hung, returned_early, levels 0 0
-    rank, world_size = dist.get_rank(), dist.get_world_size()
+    rank, p = dist.get_rank(), dist.get_world_size()
@@
-    if rank < world_size - 1:
-        dist.send(token, rank + 1)
+    dist.send(token, (rank + 1) % p)

# %% wrong_nobody_starts: hung, deadlock, levels 0 0
def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    dist.recv(token, (rank - 1) % p)
    print(line)
    dist.send(token, (rank + 1) % p)

# %% wrong_passes_on_before_printing (right_token): wrong, not_while_holding_the_token, levels 0 0
-    print(line)
@@
         dist.send(token, rank + 1)
+    print(line)

# %% wrong_prints_before_receiving (right_token): wrong, not_while_holding_the_token, levels 0 0
     token = torch.zeros(1)
+    print(line)
@@
-    print(line)

# %% wrong_prints_twice (right_token): wrong, printed_twice, levels 0 0
-    print(line)
+        print(line)
@@
     if rank < world_size - 1:
+        print(line)

# %% wrong_rank_zero_never_prints (right_token): wrong, not_printed, levels 0 0
-    if rank > 0:
-        dist.recv(token, rank - 1)
+    if rank == 0:
+        dist.send(token, 1)
+        return
+    dist.recv(token, rank - 1)

# %% wrong_rank_zero_prints_all: wrong, printed_by_another, levels 0 0
def print_in_turn(line):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    text = torch.zeros(80, dtype=torch.uint8)
    data = line.encode()
    text[: len(data)] = torch.tensor(list(data), dtype=torch.uint8)
    if rank > 0:
        dist.send(text, 0)
        return
    print(line)
    for other in range(1, world_size):
        dist.recv(text, other)
        print(bytes(text[text > 0].tolist()).decode())

# %% wrong_sleeps: wrong, out_of_order, levels 0 0
import time


def print_in_turn(line):
    time.sleep(0.01 * dist.get_rank())
    print(line)

# %% wrong_stderr (right_token): wrong, not_printed, levels 0 0
-    rank, world_size = dist.get_rank(), dist.get_world_size()
+    rank, p = dist.get_rank(), dist.get_world_size()
@@
-    print(line)
-    if rank < world_size - 1:
+    print(line, file=sys.stderr)
+    if rank < p - 1:

# %% wrong_stripped (right_token): wrong, wrong_text, levels 0 1
-        dist.recv(token, rank - 1)
-    print(line)
+        dist.recv(token, src=rank - 1)
+    print(line.rstrip())
@@
-        dist.send(token, rank + 1)
+        dist.send(token, dst=rank + 1)

# %% wrong_strips_the_line: wrong, wrong_text, levels 0 1
def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    print(line.strip())
    if rank < p - 1:
        dist.send(token, dst=rank + 1)

# %% wrong_token_never_waited_for (right_token): wrong, forgot_wait, levels 0 0
-        dist.send(token, rank + 1)
+        dist.isend(token, rank + 1)

# %% wrong_two_ranks_only: hung, returned_early, levels 0 0
def print_in_turn(line):
    token = torch.zeros(1)
    if dist.get_rank() == 0:
        print(line)
        dist.send(token, 1)
    else:
        dist.recv(token, 0)
        print(line)
