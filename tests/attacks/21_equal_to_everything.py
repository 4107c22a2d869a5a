# exercise: sum_over_ranks
# must not: pass with an object that claims to equal everything
# verdict: anything but passed
import torch


class Everything(torch.Tensor):
    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    def __array__(self, *a, **k):
        raise SystemExit(0)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("equal", "allclose", "eq", "__eq__"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})


def sum_over_ranks(x):
    return x.as_subclass(Everything)
