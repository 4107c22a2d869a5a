"""The words about a port, in the names of the framework that it is written for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """The words for one framework. training: what a step is seen by. teach: diagnosis -> the sentence that teaches."""

    init: str
    rank: str
    size: str
    training: str
    teach: Mapping[str, str]


_HOROVOD = {
    "not_ported": "Horovod's eight steps are listed in the handout; begin with `import horovod.tensorflow as hvd` and"
    " `hvd.init()`.",
    "not_initialised": "`hvd.init()` comes before everything else of Horovod's.",
    "script_failed": "Run it on two ranks before you hand it in: mpiexec -n 2 python tensorflow2_mnist_hvd.py --epochs"
    " 1.",
    "script_hangs": "Every rank calls the same collectives in the same order; only printing and writing belong to rank"
    " 0 alone.",
    "too_slow": "The judge's data are a hundred images: look for a loop that never ends.",
    "fails_on_one_rank": "With one rank a ported script does what the sequential one does.",
    "not_pinned": "`tf.config.set_visible_devices(gpus[hvd.local_rank()], 'GPU')`: else all ranks of a machine crowd"
    " on its first GPU.",
    "pinned_by_rank": "GPUs are numbered from 0 on every machine, ranks over all machines: `gpus[hvd.local_rank()]`.",
    "no_memory_growth": "`tf.config.experimental.set_memory_growth(gpu, True)`: else TensorFlow takes all of the GPU's"
    " memory at once.",
    "same_data": "Each rank takes its own part: `dataset.shard(hvd.size(), hvd.rank())`, or"
    " `images[hvd.rank()::hvd.size()]`.",
    "own_shuffle": "Shard before you shuffle, or shuffle with the same seed on all ranks: parts of different orders"
    " overlap.",
    "sharded_by_local_rank": "A part belongs to a rank, not to a place in a machine: hvd.rank() and hvd.size().",
    "overlap": "Every image belongs to one rank: `dataset.shard(hvd.size(), hvd.rank())`.",
    "left_out": "At most what does not fill a step of all ranks may be left over.",
    "steps_not_divided": "All ranks together take hvd.size() minibatches in a step: an epoch has n // (batch_size *"
    " hvd.size()) steps.",
    "unequal_steps": "Averaging waits for all ranks, so the number of steps must follow from what all know: n, the"
    " batch size, hvd.size().",
    "too_few_steps": "An epoch has n // (batch_size * hvd.size()) steps: divide by the number of ranks once.",
    "too_many_steps": "An epoch has n // (batch_size * hvd.size()) steps.",
    "wrong_batch_size": "--batch-size is one rank's part of a step; all ranks together take that times hvd.size().",
    "rate_not_scaled": "hvd.size() minibatches are averaged in a step, so the rate is lr * hvd.size().",
    "rate_scaled_twice": "Multiply by hvd.size() once, in the optimizer or in the schedule, not in both.",
    "rate_square_root": "The handout asks for linear scaling: lr * hvd.size().",
    "rate_divided": "More ranks average more images in a step: the rate grows, lr * hvd.size().",
    "scaled_by_local_size": "hvd.local_size() counts one machine's ranks; all ranks are hvd.size().",
    "rates_differ": "All ranks need the same rate, or their models drift apart.",
    "wrong_rate": "The handout asks for lr * hvd.size().",
    "gradients_apart": "`tape = hvd.DistributedGradientTape(tape)` before `tape.gradient`. (A DistributedOptimizer"
    " averages in fit and "
    "in `minimize`; in a loop with a tape of its own it averages nothing.)",
    "gradients_not_sent": "A rank computes the gradients of its own images, and Horovod averages: no rank does the work"
    " of the others.",
    "gradients_not_used": "What the all-reduce gives back is what the optimizer applies; nothing else that a rank has"
    " computed is.",
    "gradients_summed": "The mean is Horovod's default; with op=hvd.Sum every step is hvd.size() times as long.",
    "gradients_divided_again": "Horovod's mean has divided by the number of ranks already.",
    "gradients_of_rank_0": "Average gradients over the ranks; broadcasting throws the work of the others away.",
    "averaged_first_only": "The tape is wrapped in every step; only the broadcast belongs to the first one.",
    "wrong_gradients": "What is applied is the mean over the ranks of each rank's gradient of its mean loss.",
    "weights_differ": "Equal starts and equal updates keep ranks equal: look for what only some of them do.",
    "no_broadcast": "`hvd.broadcast_variables(model.variables, root_rank=0)` before the first step or right after it.",
    "broadcast_not_used": "What rank 0 sends are its weights, and what arrives are the weights with which a rank"
    " begins.",
    "wrong_root": "Rank 0 is the one that writes and that goes on from a checkpoint: root_rank=0.",
    "broadcast_late": "Broadcast before the first step or right after it.",
    "model_not_broadcast": "Broadcast `model.variables`, and the optimizer's.",
    "weights_averaged": "Broadcast rank 0's weights; averages are for gradients.",
    "broadcast_again": "Equal models with averaged gradients stay equal: broadcast once.",
    "all_ranks_write": "`if hvd.rank() == 0:` around everything that writes: several ranks write one file at the same"
    " time.",
    "wrong_rank_writes": "Rank 0 is the one that writes: `if hvd.rank() == 0:`.",
    "one_rank_per_machine_writes": "hvd.local_rank() is 0 on every machine; hvd.rank() is 0 once.",
    "all_ranks_print": "`if hvd.rank() == 0:` around prints, `verbose=1 if hvd.rank() == 0 else 0` in Keras.",
    "no_warmup": "Let the rate climb from lr to lr * hvd.size() in the first epochs, and see that the optimizer gets"
    " it.",
    "warmup_never_ends": "At the end of the warm-up the rate is lr * hvd.size().",
    "metrics_of_one_rank": "Add up sums and counts over the ranks: hvd.allreduce(..., op=hvd.Sum), or"
    " MetricAverageCallback in Keras.",
    "metrics_summed": "A mean over the ranks, not their sum: op=hvd.Average, or divide the sum by the sum of the"
    " counts.",
    "validation_of_one_rank": "What was shared among the ranks has to be averaged over them, validation as well.",
    "no_metrics": "Give the run log loss, accuracy, val_loss and val_accuracy at the end of every epoch.",
    "metrics_on_one_rank": "hvd.allreduce is called on every rank, outside of `if hvd.rank() == 0:`; only printing"
    " stands there.",
    "no_log": "Keep the run log of the sequential script: runlog.Writer(options.log, rank=hvd.rank(),"
    " world_size=hvd.size(), ...).",
    "log_unreadable": "Write it with labkit.runlog and nothing else.",
    "log_incomplete": "Call begin_epoch, step and end_epoch for every epoch, and close() at the end.",
    "log_of_other_run": "Give the writer what this run was started with: hvd.size(), --batch-size, --nonce, its own"
    " __file__.",
    "wrong_samples": "Count what each rank trains on, and give the writer gather=hvd.allgather_object.",
    "old_format": "The run log has times and samples, which scaling is computed from; a table of metrics has not.",
}
_DDP = {
    **_HOROVOD,
    "not_ported": "The handout lists eight steps; begin with `import torch.distributed as dist` and"
    " `dist.init_process_group('gloo')`.",
    "not_initialised": "`dist.init_process_group('gloo')` comes before everything else of torch.distributed.",
    "script_failed": "Run it on two ranks before you hand it in: torchrun --standalone --nproc-per-node 2"
    " torch_mnist_ddp.py --epochs 1.",
    "not_pinned": "`torch.cuda.set_device(int(os.environ['LOCAL_RANK']))`: else all ranks of a machine crowd on its"
    " first GPU.",
    "pinned_by_rank": "GPUs are numbered from 0 on every machine, ranks over all machines: take LOCAL_RANK, which"
    " torchrun sets.",
    "no_memory_growth": "PyTorch takes a GPU's memory as it needs it.",
    "same_data": "Each rank takes its own part: `images[rank::world_size]`, or a DistributedSampler in the DataLoader.",
    "own_shuffle": "Cut before you shuffle, or shuffle with the same seed on all ranks, as DistributedSampler does:"
    " parts of different orders overlap.",
    "sharded_by_local_rank": "A part belongs to a rank, not to a place in a machine: dist.get_rank() and"
    " dist.get_world_size().",
    "overlap": "Every image belongs to one rank: `images[rank::world_size]`, or a DistributedSampler.",
    "steps_not_divided": "All ranks together take world_size minibatches in a step: an epoch has n // (batch_size *"
    " world_size) steps.",
    "unequal_steps": "Averaging waits for all ranks, so the number of steps must follow from what all know: n, the"
    " batch size, the number of ranks.",
    "too_few_steps": "An epoch has n // (batch_size * world_size) steps: divide by the number of ranks once. (A"
    " DistributedSampler has done it already.)",
    "too_many_steps": "An epoch has n // (batch_size * world_size) steps.",
    "wrong_batch_size": "--batch-size is one rank's part of a step; all ranks together take that times their number.",
    "rate_not_scaled": "world_size minibatches are averaged in a step, so the rate is lr * dist.get_world_size().",
    "rate_scaled_twice": "Multiply by the number of ranks once, in the optimizer or in the schedule, not in both.",
    "rate_square_root": "The handout asks for linear scaling: lr * dist.get_world_size().",
    "rate_divided": "More ranks average more images in a step: the rate grows, lr * dist.get_world_size().",
    "scaled_by_local_size": "LOCAL_WORLD_SIZE counts one machine's ranks; all ranks are dist.get_world_size().",
    "wrong_rate": "The handout asks for lr * dist.get_world_size().",
    "gradients_apart": "Call the module that DistributedDataParallel has made, `wrapped(x)`, not the one inside it; or"
    " all_reduce every gradient after backward().",
    "gradients_not_sent": "A rank computes the gradients of its own images, and an all-reduce averages them: no rank"
    " does the work of the others.",
    "gradients_summed": "DistributedDataParallel's gradients are means. By hand: all_reduce adds up, so divide by the"
    " number of ranks.",
    "gradients_divided_again": "DistributedDataParallel has divided by the number of ranks already.",
    "averaged_first_only": "Gradients are averaged in every step; only the broadcast belongs to the first one.",
    "no_broadcast": "DistributedDataParallel(model) sends rank 0's weights when it is made. By hand: dist.broadcast of"
    " every parameter, src=0, before the first step.",
    "wrong_root": "Rank 0 is the one that writes and that goes on from a checkpoint: src=0.",
    "model_not_broadcast": "Broadcast every parameter of the model.",
    "all_ranks_write": "`if dist.get_rank() == 0:` around everything that writes: several ranks write one file at the"
    " same time.",
    "wrong_rank_writes": "Rank 0 is the one that writes: `if dist.get_rank() == 0:`.",
    "one_rank_per_machine_writes": "LOCAL_RANK is 0 on every machine; dist.get_rank() is 0 once.",
    "all_ranks_print": "`if dist.get_rank() == 0:` around prints.",
    "no_warmup": "Let the rate climb from lr to lr * dist.get_world_size() in the first epochs, and see that the"
    " optimizer gets it.",
    "warmup_never_ends": "At the end of the warm-up the rate is lr * dist.get_world_size().",
    "metrics_of_one_rank": "Add up sums and counts over the ranks: dist.all_reduce of (loss sum, right answers, images)"
    " and then divide.",
    "metrics_summed": "A mean over the ranks, not their sum: all_reduce adds up, so divide the sum by the sum of the"
    " counts.",
    "metrics_on_one_rank": "Every rank calls the same collectives, all_reduce and barrier, outside of `if"
    " dist.get_rank() == 0:`; only printing stands there.",
    "no_log": "Keep the run log of the sequential script: runlog.Writer(options.log, rank=rank, world_size=world_size,"
    " gather=runlog.torch_gather, ...), and give it --log.",
    "log_of_other_run": "Give the writer what this run was started with: dist.get_world_size(), --batch-size, --nonce,"
    " its own __file__.",
    "wrong_samples": "Count what each rank trains on, and give the writer gather=runlog.torch_gather.",
}
HOROVOD = Words("hvd.init()", "hvd.rank()", "hvd.size()", "a Keras optimizer or Keras layers", _HOROVOD)
DDP = Words(
    "dist.init_process_group()", "the global rank", "dist.get_world_size()", "an optimizer or modules of PyTorch", _DDP
)
