# verdict: passed
def count_inside(x, y):
    import torch

    points = torch.stack([torch.from_numpy(x), torch.from_numpy(y)])
    return (points.norm(dim=0) < 0.5).sum().item()
