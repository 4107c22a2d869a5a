"""The throw-away Slurm: real jobs on hosts with addresses of their own, and nothing of it outside."""


def test_jobs_run_on_the_nodes_as_root_and_as_users(slurm):
    for user in (None, "student"):
        done = slurm.run(["srun", "--nodes=4", "bash", "-c", 'echo "$(hostname) $(id -un) $SLURM_PROCID"'], user=user)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split("\n")[:-1]) == [f"node{i + 1} {user or 'root'} {i}" for i in range(4)]
