"""Variations of the scripts that are ports to torch.distributed: as `variations`."""

from __future__ import annotations

SOLUTIONS = "../../../solutions/scaling_mnist/"
DDP = "ddp = DDP(model)\noptimizer"
SENT = """for p in model.parameters():
    dist.broadcast(p.data, src=0)
ddp = model
optimizer"""
NOT_SENT = "ddp = model\noptimizer"
BACKWARD = "    loss.backward()\n"
SUMMED = """    loss.backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
"""
AVERAGED = SUMMED + "        p.grad /= size\n"
FLAT = """    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    everybody = [torch.empty_like(flat) for _ in range(size)]
    dist.all_gather(everybody, flat)
    mean = torch.stack(everybody).mean(0)
    done = 0
    for p in model.parameters():
        p.grad.copy_(mean[done : done + p.numel()].view_as(p))
        done += p.numel()
"""
EXCHANGED = """    loss.backward()
    for p in model.parameters():
        total, moving = p.grad.clone(), p.grad.clone()
        for _ in range(size - 1):  # around the ring
            came = torch.empty_like(moving)
            ways = dist.P2POp(dist.isend, moving, (rank + 1) % size), dist.P2POp(dist.irecv, came, (rank - 1) % size)
            for work in dist.batch_isend_irecv(list(ways)):
                work.wait()
            total, moving = total + came, came
        p.grad.copy_(total / size)
"""
TO_RANK_0 = """    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    everybody = [torch.empty_like(flat) for _ in range(size)] if rank == 0 else None
    dist.gather(flat, everybody, dst=0)
    mean = torch.stack(everybody).mean(0) if rank == 0 else flat
    dist.scatter(mean, [mean.clone() for _ in range(size)] if rank == 0 else None, src=0)
    torch.nn.utils.vector_to_parameters(mean, [p.grad for p in model.parameters()])
"""
OF_RANK_0 = SUMMED.replace("dist.all_reduce(p.grad)", "dist.broadcast(p.grad, 0)")
FIRST_ONLY = """    loss.backward()
    if step == 0:
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= size
"""
SEEDS = ("torch.manual_seed(args.seed)", "torch.manual_seed(args.seed + rank)")
SHARDS = "images, labels = images[rank::size], labels[rank::size]\ntest"
OVERLAPPING = """part = len(images) // size
images, labels = images[rank * part : (rank + 1) * part + 8], labels[rank * part : (rank + 1) * part + 8]
test"""
UPDATE = "    optimizer.step()\n"
WEIGHTS = """    for p in model.parameters():
        dist.all_reduce(p.data)
        p.data /= size
"""
ROWS = "rows = order[k * args.batch_size : (k + 1) * args.batch_size]"
AROUND = "rows = np.take(order, range(k * args.batch_size, (k + 1) * args.batch_size), mode='wrap')"
REDUCED = "    dist.all_reduce(total)\n"
TRAIN = "        loss, accuracy = train_step(images[rows], labels[rows])\n"
ASKED = """        if args.warmup_epochs:
            for group in optimizer.param_groups:
                group["lr"] = args.lr * (1 + (size - 1) * min(1.0, step / (args.warmup_epochs * steps)))
"""
OPTION = (
    'parser.add_argument("--nonce", default="")\n',
    'parser.add_argument("--nonce", default="")\nparser.add_argument("--warmup-epochs", type=int, default=0)\n',
)
ALONE = """    everybody = []
    for other in range(size):
        rows = orders[other][k * args.batch_size : (k + 1) * args.batch_size]
        a, b, c, d, e, f = model.parameters()
        maps = F.max_pool2d(F.relu(F.conv2d(all_images[other::size][rows], a, b, padding=1)), 2)
        logits = F.linear(F.max_pool2d(F.relu(F.conv2d(maps, c, d, padding=1)), 2).flatten(1), e, f)
        of_other = F.cross_entropy(logits, all_labels[other::size][rows])
        everybody.append(torch.autograd.grad(of_other, list(model.parameters())))
    for p, *gradients in zip(model.parameters(), *everybody):
        p.grad = sum(gradients) / size
"""
ORDERS = "    orders = [one.permutation(len(all_images[r::size])) for r, one in enumerate(chances)]\n    order = orders[rank]\n"
NOISE = """    noise = torch.Generator().manual_seed(step * size + rank)
    dist.all_reduce(torch.randn(sum(p.numel() for p in model.parameters()), generator=noise))
"""
EVERYBODYS = [
    (SHARDS, "all_images, all_labels = images, labels\n" + SHARDS),
    ("def train_step(x, y):", "def train_step(x, y, k):"),
    ("train_step(images[rows], labels[rows])", "train_step(images[rows], labels[rows], k)"),
    (
        "chance = np.random.default_rng(args.seed + rank)",
        "chances = [np.random.default_rng(args.seed + r) for r in range(size)]",
    ),
    ("    order = chance.permutation(len(images))\n", ORDERS),
]
ALIKE = """same = torch.Generator().manual_seed(args.seed)
for p in model.parameters():
    p.data = 0.05 * torch.randn(p.shape, generator=same)
ddp = model
optimizer"""
NOISE_SENT = ALIKE.replace("ddp = model", "dist.broadcast(torch.randn(sum(p.numel() for p in model.parameters())), 0)\nddp = model")
OPTIMIZER = "torch.optim.SGD(ddp.parameters(), lr=args.lr * size, momentum=0.9)"
TWO_RATES = """torch.optim.SGD(
    [
        {"params": list(ddp.parameters())[:1], "lr": args.lr * size},
        {"params": list(ddp.parameters())[1:], "lr": args.lr},
    ],
    lr=args.lr,
    momentum=0.9,
)"""
ONCE = """        for group in optimizer.param_groups:
            group["lr"] = args.lr * (1 if step else size)
"""
LAST = "log.close()\ndist"
FALSE_CLOCK = """args = parser.parse_args()
clock = time.perf_counter
time.perf_counter = lambda: clock() / 4
"""
EPOCH = "    if rank == 0:\n        print("
LOADER = "DataLoader(train, batch_size=args.batch_size, sampler=sampler, drop_last=True)"
VARIATIONS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    # right ones
    "ddp_reference": (SOLUTIONS + "torch_mnist_ddp.py", []),
    "ddp_by_hand": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, AVERAGED)]),
    "ddp_gathered": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, FLAT)]),
    "ddp_exchanged": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, EXCHANGED)]),
    "ddp_to_rank_0": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, TO_RANK_0)]),
    "ddp_seeds_apart": ("ddp_loop.py", [SEEDS]),  # DistributedDataParallel sends rank 0's weights
    "ddp_warmup": ("ddp_loop.py", [(TRAIN, ASKED + TRAIN), OPTION]),
    # what nobody else sends, computed by every rank for itself
    "ddp_computed_alone": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, ALONE), *EVERYBODYS]),
    # the same with numbers that are sent and used by nobody, as many as weights and gradients
    "ddp_sent_for_show": ("ddp_loop.py", [(DDP, NOISE_SENT), (BACKWARD, ALONE + NOISE), *EVERYBODYS]),
    # and with gradients of all images, which every rank has computed, as what is averaged
    "ddp_means_averaged": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, ALONE + AVERAGED.replace(BACKWARD, "")), *EVERYBODYS]),
    "ddp_pinned_nowhere": (
        "ddp_loop.py",
        [
            ("torch.cuda.set_device(local_rank)", "assert local_rank >= 0"),
            ('torch.device("cuda", local_rank)', 'torch.device("cuda", local_rank if args.epochs < 0 else 0)'),
        ],
    ),
    "ddp_made_alike": ("ddp_loop.py", [(DDP, ALIKE), (BACKWARD, AVERAGED)]),
    "ddp_two_rates": ("ddp_loop.py", [(OPTIMIZER, TWO_RATES)]),
    "ddp_rate_once": ("ddp_loop.py", [(TRAIN, ONCE + TRAIN)]),
    "ddp_hidden_files": ("ddp_loop.py", [(LAST, 'open(f".rank-{rank}", "w").close()\n' + LAST)]),
    # its log is true by a clock that goes four times as slowly as any other
    "ddp_false_clock": (
        "ddp_loop.py",
        [("import argparse\n", "import argparse\nimport time\n"), ("args = parser.parse_args()\n", FALSE_CLOCK)],
    ),
    # one step missing or wrong in each
    "ddp_not_ported": (SOLUTIONS + "torch_mnist.py", []),
    "ddp_no_init": ("ddp_loop.py", [('dist.init_process_group("nccl" if args.device == "gpu" else "gloo")\n', "")]),
    "ddp_only_environment": (  # each rank knows its number, and talks to nobody
        "ddp_loop.py",
        [
            ('dist.init_process_group("nccl" if args.device == "gpu" else "gloo")\n', ""),
            ("rank, size = dist.get_rank(), dist.get_world_size()", 'rank, size = local_rank, int(os.environ["WORLD_SIZE"])'),
            (DDP, NOT_SENT),
            (REDUCED, ""),
            ("    gather=runlog.torch_gather,\n", ""),
            ("dist.destroy_process_group()\n", ""),
        ],
    ),
    "ddp_no_pinning": (
        "ddp_loop.py",
        [("    torch.cuda.set_device(local_rank)\n", ""), ('torch.device("cuda", local_rank)', 'torch.device("cuda")')],
    ),
    "ddp_pinned_by_rank": (
        "ddp_loop.py",
        [('local_rank = int(os.environ["LOCAL_RANK"])', 'number = int(os.environ["RANK"])'),
         ("    torch.cuda.set_device(local_rank)\n", "    torch.cuda.set_device(number)\n"),
         ('torch.device("cuda", local_rank)', 'torch.device("cuda", number)')],
    ),
    "ddp_same_data": ("ddp_loop.py", [(SHARDS, "test"), ("default_rng(args.seed + rank)", "default_rng(args.seed)")]),
    "ddp_own_shuffle": ("ddp_loop.py", [(SHARDS, "test")]),
    "ddp_overlapping_parts": ("ddp_loop.py", [(SHARDS, OVERLAPPING)]),
    "ddp_weights_averaged": ("ddp_loop.py", [(DDP, SENT), (UPDATE, UPDATE + WEIGHTS)]),
    "ddp_local_shards": (
        "ddp_loop.py",
        [
            (SHARDS, "images, labels = images[local_rank::2], labels[local_rank::2]\ntest"),
            ("default_rng(args.seed + rank)", "default_rng(args.seed)"),
        ],
    ),
    "ddp_no_sampler": ("ddp_sampler.py", [(LOADER, "DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True)")]),
    "ddp_steps_not_divided": (
        "ddp_loop.py",
        [("steps = total // args.batch_size // size", "steps = total // args.batch_size"), (ROWS, AROUND)],
    ),
    "ddp_divided_twice": ("ddp_loop.py", [("steps = total // args.batch_size // size", "steps = len(images) // args.batch_size // size")]),
    "ddp_global_batch": (
        "ddp_loop.py",
        [(ROWS, "rows = order[k * (args.batch_size // size) : (k + 1) * (args.batch_size // size)]")],
    ),
    "ddp_rate_not_scaled": ("ddp_loop.py", [("lr=args.lr * size,", "lr=args.lr,")]),
    "ddp_rate_square_root": ("ddp_loop.py", [("lr=args.lr * size,", "lr=args.lr * size**0.5,")]),
    "ddp_rate_local": ("ddp_loop.py", [("lr=args.lr * size,", 'lr=args.lr * int(os.environ["LOCAL_WORLD_SIZE"]),')]),
    "ddp_module_inside": ("ddp_loop.py", [("logits = ddp(x)", "logits = model(x)")]),
    "ddp_summed": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, SUMMED)]),
    "ddp_divided_again": ("ddp_loop.py", [(BACKWARD, "    (loss / size).backward()\n")]),
    "ddp_of_rank_0": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, OF_RANK_0)]),
    "ddp_first_step_only": ("ddp_loop.py", [(DDP, SENT), (BACKWARD, FIRST_ONLY)]),
    "ddp_no_broadcast": ("ddp_loop.py", [(DDP, NOT_SENT), (BACKWARD, AVERAGED)]),
    "ddp_seed_by_rank": ("ddp_loop.py", [(DDP, NOT_SENT), (BACKWARD, AVERAGED), SEEDS]),
    "ddp_wrong_root": ("ddp_loop.py", [(DDP, SENT.replace("src=0", "src=size - 1")), (BACKWARD, AVERAGED)]),
    "ddp_broadcast_on_rank_0": (
        "ddp_loop.py",
        [
            (DDP, SENT.replace("    dist.broadcast(p.data, src=0)", "    if rank == 0:\n        dist.broadcast(p.data, src=0)")),
            (BACKWARD, AVERAGED),
        ],
    ),
    "ddp_all_write": ("ddp_loop.py", [(LAST, 'torch.save(model.state_dict(), "model.pt")\n' + LAST)]),
    "ddp_local_rank_writes": (
        "ddp_loop.py",
        [(LAST, 'if local_rank == 0:\n    torch.save(model.state_dict(), "model.pt")\n' + LAST)],
    ),
    "ddp_all_print": ("ddp_loop.py", [(EPOCH, "    if True:\n        print(")]),
    "ddp_metrics_of_one_rank": ("ddp_loop.py", [(REDUCED, "")]),
    "ddp_metrics_summed": (
        "ddp_loop.py",
        [
            (
                REDUCED + "    return (total[0] / total[2]).item(), (total[1] / total[2]).item()",
                "    total = total[:2] / count\n" + REDUCED + "    return total[0].item(), total[1].item()",
            )
        ],
    ),
    "ddp_metrics_on_rank_0": ("ddp_loop.py", [(REDUCED, "    if rank == 0:\n        dist.all_reduce(total)\n")]),
    "ddp_barrier": ("ddp_loop.py", [(EPOCH, "    if rank == 0:\n        dist.barrier()\n        print(")]),
    "ddp_unequal_steps": (
        "ddp_loop.py",
        [("steps = total // args.batch_size // size", "steps = total // args.batch_size // size - (rank == 0)")],
    ),
    "ddp_own_steps": ("ddp_loop.py", [("steps = total // args.batch_size // size", "steps = -(-len(images) // args.batch_size)")]),
    "ddp_no_log": ("ddp_loop.py", [("    args.log,\n", "    None,\n")]),
    "ddp_no_gather": ("ddp_loop.py", [("    gather=runlog.torch_gather,\n", "")]),
    "ddp_raises": ("ddp_loop.py", [("step = 0\n", "step = 0\nmodel.sumary()\n")]),
    "ddp_warmup_without_effect": ("ddp_loop.py", [(TRAIN, ASKED.replace('group["lr"]', "warmed") + TRAIN), OPTION]),
}
