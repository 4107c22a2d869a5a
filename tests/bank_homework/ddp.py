"""Folders whose port is one to torch.distributed, right and wrong: the logs, the table and the figures are right_plain's."""

from __future__ import annotations

from bank_homework.folders import PERSON, add, ported

PORT = ("init", "devices", "shards", "steps", "learning_rate", "gradients", "broadcast")
LAST = ("rank_zero", "global_metrics", "run_log")  # what is known only of a script that comes to its end
REST = (*(line for line in PORT if line != "devices"), *LAST)

RIGHT = {  # script -> (what it is, whether it warms up)
    "ddp_reference": ("the solution", True),
    "ddp_loop.py": ("DistributedDataParallel in a loop of one's own", False),
    "ddp_sampler.py": ("DataLoader and DistributedSampler, checkpoints, reduce and broadcast for the metrics", False),
    "ddp_by_hand": ("every gradient all-reduced and divided, the weights broadcast, no DistributedDataParallel", False),
    "ddp_gathered": ("gradients gathered in one vector, and averaged by every rank itself", False),
    "ddp_exchanged": ("every gradient sent around a ring, no collective", False),
    "ddp_to_rank_0": ("gradients gathered on rank 0, which averages and deals the mean out", False),
    "ddp_seeds_apart": ("another seed on each rank: DistributedDataParallel sends rank 0's weights", False),
    "ddp_warmup": ("a warm-up on demand", True),
}
for script, (says, bonus) in RIGHT.items():
    name = f"right_{script.removesuffix('.py')}"
    add(name, f"the port: {says}", ported(script), script=script, like_base=True, bonus=bonus)

WRONG: dict[str, dict[str, str | None]] = {
    "ddp_not_ported": dict.fromkeys((*PORT, *LAST), "not_ported"),
    "ddp_computed_alone": {"shards": PERSON, "gradients": "gradients_not_sent"},
    "ddp_sent_for_show": {
        "shards": PERSON,
        "gradients": "gradients_not_used",
        "broadcast": "broadcast_not_used",
    },
    "ddp_means_averaged": {"shards": PERSON, "gradients": "gradients_not_sent"},
    "ddp_pinned_nowhere": {"devices": "not_pinned"},
    "ddp_made_alike": {"broadcast": "no_broadcast"},
    "ddp_two_rates": {"learning_rate": "rate_not_scaled"},
    "ddp_rate_once": {"learning_rate": "rate_not_scaled"},
    "ddp_hidden_files": {"rank_zero": "all_ranks_write"},
    "ddp_false_clock": {"run_log": PERSON},
    "ddp_no_init": {"init": "not_initialised"},
    "ddp_only_environment": {
        "init": "not_initialised",
        "shards": "sharded_by_local_rank",
        "gradients": "gradients_apart",
        "broadcast": "no_broadcast",
        "rank_zero": "one_rank_per_machine_writes",
        "global_metrics": "metrics_of_one_rank",
        "run_log": "wrong_samples",
    },
    "ddp_no_pinning": {"devices": "not_pinned"},
    "ddp_pinned_by_rank": {"devices": "pinned_by_rank"},
    "ddp_same_data": {"shards": "same_data"},
    "ddp_own_shuffle": {"shards": "own_shuffle"},
    "ddp_overlapping_parts": {"shards": "overlap"},
    "ddp_local_shards": {"shards": "sharded_by_local_rank"},
    "ddp_no_sampler": {"shards": "same_data", "steps": "steps_not_divided"},
    "ddp_steps_not_divided": {"steps": "steps_not_divided"},
    "ddp_divided_twice": {"steps": "too_few_steps"},
    "ddp_global_batch": {"steps": "wrong_batch_size"},
    "ddp_rate_not_scaled": {"learning_rate": "rate_not_scaled"},
    "ddp_rate_square_root": {"learning_rate": "rate_square_root"},
    "ddp_rate_local": {"learning_rate": "scaled_by_local_size"},
    "ddp_weights_averaged": {"gradients": "gradients_apart"},
    "ddp_module_inside": {"gradients": "gradients_apart"},
    "ddp_summed": {"gradients": "gradients_summed"},
    "ddp_divided_again": {"gradients": "gradients_divided_again"},
    "ddp_of_rank_0": {"gradients": "gradients_of_rank_0", "broadcast": "broadcast_again"},
    "ddp_first_step_only": {"gradients": "averaged_first_only"},
    "ddp_no_broadcast": {"broadcast": "no_broadcast"},
    "ddp_seed_by_rank": {"broadcast": "no_broadcast"},
    "ddp_wrong_root": {"broadcast": "wrong_root"},
    "ddp_broadcast_on_rank_0": {"broadcast": "script_hangs"},
    "ddp_all_write": {"rank_zero": "all_ranks_write"},
    "ddp_local_rank_writes": {"rank_zero": "one_rank_per_machine_writes"},
    "ddp_all_print": {"rank_zero": "all_ranks_print"},
    "ddp_metrics_of_one_rank": {"global_metrics": "metrics_of_one_rank"},
    "ddp_metrics_summed": {"global_metrics": "metrics_summed"},
    "ddp_metrics_on_rank_0": dict.fromkeys(LAST, "script_hangs") | {"global_metrics": "metrics_on_one_rank"},
    "ddp_barrier": dict.fromkeys(LAST, "script_hangs") | {"global_metrics": "metrics_on_one_rank"},
    "ddp_unequal_steps": dict.fromkeys(LAST, "script_hangs") | {"steps": "unequal_steps"},
    "ddp_own_steps": {"steps": "unequal_steps"},
    "ddp_no_log": {"run_log": "no_log"},
    "ddp_no_gather": {"run_log": "wrong_samples"},
    "ddp_raises": dict.fromkeys(REST, "script_failed"),
    "ddp_warmup_without_effect": {},
}
for script, expected in WRONG.items():
    says = f"the port: {script.replace('_', ' ')}"
    add(f"wrong_{script}", says, ported(script), expected=expected, script=script, like_base=True)
