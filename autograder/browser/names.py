"""The exercises that can be written on a page of the site, and the units that they are from."""

UNITS = ("01_mpi_pi", "17_pipeline", "20_ten_thousand", "21_puzzles")
PUZZLES = ("two_alive", "three_alive", "slow_stage", "slow_links", "three_parts", "heavy_head", "two_chunks")
EXERCISES = (
    *("fair_share", "bubble", "enough_micro_batches", "partition", "order_1f1b", "order_interleaved"),
    *("order_zero_bubble", "rank_memory", "step_bytes", "best_mesh", "mfu_and_hfu", "checkpoint_every"),
    *("compute_optimal", "days_and_energy", "budget_plan"),
)
MESHES = 10  # that the planner shows
