"""Which Horovod operation a rank waits in, read from stacks as faulthandler writes them."""

from labkit.watch.stacks import frames, horovod_operation

TORCH = """Current thread 0x00007f (most recent call first):
  File "/env/horovod/torch/mpi_ops.py", line 1285 in synchronize
  File "/env/horovod/torch/mpi_ops.py", line 250 in forward
  File "/env/torch/autograd/function.py", line 596 in apply
  File "/env/horovod/torch/mpi_ops.py", line 320 in allreduce
  File "cell 7", line 3 in f
"""
GRAPH = """Current thread 0x00007f (most recent call first):
  File "/env/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "cell 7", line 12 in train
"""


def test_the_operation_is_named_not_the_waiting_for_it():
    assert horovod_operation(TORCH) == "allreduce"
    assert horovod_operation(TORCH.replace("in allreduce", "in step")) == "synchronize"
    assert horovod_operation(GRAPH) == ""
    assert frames(GRAPH)[-1] == ("cell 7", 12, "train")


def test_a_student_may_call_his_function_broadcast():
    assert horovod_operation(GRAPH.replace("train", "broadcast")) == ""
