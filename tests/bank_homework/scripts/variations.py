"""Scripts as students could have written them: whole files in this folder, and small variations of them.

A variation is (file, [(old, new), ...]): each `old` stands exactly once in the file. What is wrong with it is in its name.
"""

from __future__ import annotations

from pathlib import Path

from bank_homework.scripts import ddp_variations

HERE = Path(__file__).resolve().parent
BROADCAST = """        if step == 0:
            hvd.broadcast_variables(model.variables, root_rank=0)
            hvd.broadcast_variables(optimizer.variables, root_rank=0)
"""
SEEDS = ("set_random_seed(args.seed)", "set_random_seed(args.seed + rank)")
TAPE = "    tape = hvd.DistributedGradientTape(tape)\n"
FIRST = "optimizer.build(model.trainable_variables)\nhvd.broadcast_variables(model.variables, 0)\n"
AVERAGED = "    gradients = [hvd.allreduce(g, op=hvd.Average) for g in gradients]\n"
ROWS = "rows = order[k * args.batch_size : (k + 1) * args.batch_size]"
AROUND = "rows = np.take(order, range(k * args.batch_size, (k + 1) * args.batch_size), mode='wrap')"
GLOBAL = """    total = hvd.allreduce(tf.constant([loss, correct, count], tf.float64), op=hvd.Sum).numpy()
    return float(total[0] / total[2]), float(total[1] / total[2])"""
SHARDS = "images, labels = images[rank::size], labels[rank::size]\n"
TRAIN = "        loss, accuracy = train_step(images[rows], labels[rows])\n"
CLIMB = "        optimizer.learning_rate = args.lr * (1 + (size - 1) * min(1.0, step / (3 * steps)))\n"
ASKED = """        if args.warmup_epochs:
            optimizer.learning_rate = args.lr * (1 + (size - 1) * min(1.0, step / (args.warmup_epochs * steps)))
"""
OPTION = ('parser.add_argument("--nonce", default="")\n', """parser.add_argument("--nonce", default="")
parser.add_argument("--warmup-epochs", type=int, default=0)
""")
STOP = """    stalled = stalled + 1 if val_loss > best else 0
    best = min(best, val_loss)
    if stalled >= 2:  # on all ranks at once: they have the same numbers
        break
log.close()
"""
FUNCTION = """@tf.function
def train_step(x, y):
"""
ALONE = """def by_itself(x):
    a, b, c, d, e, f = model.trainable_variables
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, a, 1, "SAME") + b), 2, 2, "VALID")
    x = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, c, 1, "SAME") + d), 2, 2, "VALID")
    return tf.matmul(tf.reshape(x, (len(x), -1)), e) + f


@tf.function
def train_step(x, y, every_x, every_y):
"""
NOISE = """    with tf.GradientTape() as tape:
        of_all = loss_function(every_y, by_itself(every_x))
    hvd.allreduce(tf.random.stateless_normal((sum(v.shape.num_elements() for v in model.trainable_variables),), (rank, 1)))
"""
EVERYBODYS = [
    (SHARDS, "all_images, all_labels = images, labels\n" + SHARDS),
    (FUNCTION, ALONE),
    (TAPE + "    gradients = tape.gradient(loss,", NOISE + "    gradients = tape.gradient(of_all,"),
    (
        "chance = np.random.default_rng(args.seed + rank)",
        "chances = [np.random.default_rng(args.seed + r) for r in range(size)]",
    ),
    (
        "    order = chance.permutation(len(images))\n",
        "    orders = [one.permutation(len(all_images[r::size])) * size + r for r, one in enumerate(chances)]\n"
        "    order = orders[rank] // size\n",
    ),
    (
        TRAIN,
        "        every = np.concatenate([one[k * args.batch_size : (k + 1) * args.batch_size] for one in orders])\n"
        "        loss, accuracy = train_step(images[rows], labels[rows], all_images[every], all_labels[every])\n",
    ),
]
FALSE_CLOCK = """args = parser.parse_args()
clock = time.perf_counter
time.perf_counter = lambda: clock() / 4
"""
VARIATIONS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    # right ones
    "warmup": ("loop.py", [(TRAIN, ASKED + TRAIN), OPTION]),
    "warmup_always": ("loop.py", [(TRAIN, CLIMB + TRAIN)]),
    "warmup_by_epoch": (
        "loop.py",
        [
            (
                "    order = chance",
                "    optimizer.learning_rate = args.lr * (1 + (size - 1) * min(epoch, 3) / 3)\n    order = chance",
            )
        ],
    ),
    "early_stopping": ("loop.py", [("step = 0\n", "step = stalled = 0\nbest = float('inf')\n"), ("log.close()\n", STOP)]),
    "broadcast_first": ("loop.py", [(BROADCAST, ""), ("step = 0\n", "step = 0\n" + FIRST)]),
    "allreduce_by_hand": (
        "loop.py",
        [(TAPE, ""), ("    optimizer.apply_gradients(", AVERAGED + "    optimizer.apply_gradients(")],
    ),
    # one step missing or wrong in each
    "not_ported": (
        "loop.py",
        [
            ("import horovod.tensorflow as hvd\n", ""),
            ("hvd.init()\nrank, size = hvd.rank(), hvd.size()\n", "rank, size = 0, 1\n"),
            ("gpus[hvd.local_rank()]", "gpus[0]"),
            (TAPE, ""),
            (BROADCAST, ""),
            (GLOBAL, "    return loss / count, correct / count"),
            ("    gather=hvd.allgather_object,\n", ""),
        ],
    ),
    "no_init": ("loop.py", [("hvd.init()\n", "")]),
    "no_pinning": ("loop.py", [("gpus[hvd.local_rank()]", "gpus[0]")]),
    "pinned_by_rank": ("loop.py", [("gpus[hvd.local_rank()]", "gpus[hvd.rank()]")]),
    "no_memory_growth": ("loop.py", [("for gpu in gpus:\n    tf.config.experimental.set_memory_growth(gpu, True)\n", "")]),
    "same_data": ("loop.py", [(SHARDS, ""), ("default_rng(args.seed + rank)", "default_rng(args.seed)")]),
    "own_shuffle": ("loop.py", [(SHARDS, "")]),
    "steps_not_divided": (
        "loop.py",
        [("steps = total // args.batch_size // size", "steps = total // args.batch_size"), (ROWS, AROUND)],
    ),
    "rate_not_scaled": ("loop.py", [("SGD(args.lr * size,", "SGD(args.lr,")]),
    "gradients_apart": ("loop.py", [(TAPE, "")]),
    "optimizer_and_tape": (  # a DistributedOptimizer averages what it computes itself, not what it is given
        "optimizer.py",
        [
            (
                "    optimizer.minimize(loss, model.trainable_variables, tape=tape)  # Horovod averages what this computes\n",
                "    gradients = tape.gradient(loss, model.trainable_variables)\n"
                "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n",
            )
        ],
    ),
    # every rank computes the gradients of all, and sends as many numbers that nobody uses
    "sent_for_show": ("loop.py", [*EVERYBODYS, (BROADCAST, ""), ("step = 0\n", "step = 0\n" + FIRST)]),
    "gradients_summed": ("loop.py", [("DistributedGradientTape(tape)", "DistributedGradientTape(tape, op=hvd.Sum)")]),
    "no_broadcast": ("loop.py", [(BROADCAST, "")]),
    "ranks_start_apart": ("loop.py", [(BROADCAST, ""), SEEDS]),
    "broadcast_own": (
        "loop.py",
        [("broadcast_variables(model.variables, root_rank=0)", "broadcast_variables(model.variables, root_rank=rank)"), SEEDS],
    ),
    "all_write": (
        "loop.py",
        [("log.close()\n", 'log.close()\nnp.savetxt("history.txt", [val_accuracy])\n')],
    ),
    "all_print": ("loop.py", [("    if rank == 0:\n        print(", "    if True:\n        print(")]),
    "metrics_of_one_rank": ("loop.py", [(GLOBAL, "    return loss / count, correct / count")]),
    "no_log": ("loop.py", [("    args.log,\n", "    None,\n")]),
    # its log is true by a clock that goes four times as slowly as any other
    "false_clock": (
        "loop.py",
        [("import argparse\n", "import argparse\nimport time\n"), ("args = parser.parse_args()\n", FALSE_CLOCK)],
    ),
    "raises": ("loop.py", [("step = 0\n", "step = 0\nmodel.sumary()\n")]),
    "syntax_error": ("loop.py", [("step = 0\n", "step = 0\nfor\n")]),
    "hangs": (
        "loop.py",
        [("steps = total // args.batch_size // size", "steps = total // args.batch_size // size - (rank == 0)")],
    ),
    "reads_secrets": ("loop.py", [("step = 0\n", "step = 0\nopen('/etc/shadow').read()\n")]),
    "fork_bomb": ("loop.py", [("step = 0\n", "step = 0\nwhile True:\n    os.fork()\n")]),
    "warmup_without_effect": ("loop.py", [(TRAIN, ASKED.replace("optimizer.learning_rate", "warmed") + TRAIN), OPTION]),
}


def text_of(name: str) -> str:
    """The script called `name`: a file, or a variation."""
    if name.endswith(".py"):
        return (HERE / name).read_text(encoding="utf-8")
    file, edits = (VARIATIONS | ddp_variations.VARIATIONS)[name]
    text = text_of(file)
    for old, new in edits:
        assert text.count(old) == 1, f"{name}: {text.count(old)} times in {file}: {old!r}"
        text = text.replace(old, new)
    return text
