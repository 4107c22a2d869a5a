# verdict: passed
# differs: The flags are added up, where others take the largest: above 0 means that somebody was told.
import torch
import torch.distributed as dist


def train_until_told(step, told, steps):
    done, flag = 0, torch.zeros(1)
    while done < steps:
        flag[0] = float(told())
        dist.all_reduce(flag)
        if flag.item() > 0:
            break
        step()
        done += 1
    return done
