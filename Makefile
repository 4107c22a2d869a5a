# Every target sets up what it needs first; when that is done already, this takes a fraction of a second.
SHELL := /bin/bash
# PYTHON=3.11: the Python of .venv, a version or an interpreter (the set-up itself runs on any). TORCH=cpu: PyTorch's small build.
export COURSE_PYTHON := $(PYTHON)
export COURSE_TORCH := $(TORCH)
START := $(shell command -v python3 || command -v python3.11 || echo python3)
BOOTSTRAP := $(START) tools/bootstrap.py
RUN := $(BOOTSTRAP) run
TIER := --tier=test

# What works in the students' files, where there are no tests and no solutions.
FOR_STUDENTS := lab gpu-check cluster-up cluster-run cluster-down doctor horovod clean help
ifeq ($(wildcard tests),)
HIDDEN := $(filter-out $(FOR_STUDENTS),$(MAKECMDGOALS))
$(if $(HIDDEN),$(error These are the students' files: $(HIDDEN) needs the course's repository. `make help` lists what works here))
SHOWN := $(FOR_STUDENTS)
endif

.PHONY: help lab site test test-cluster test-torch test-all mutants holes verdicts slides notebooks bank course-release grade-demo hub bench-comm bench-check bench-train bench-grading bench-plots bench-links bench-relay bench-simulation gpu-check cluster-up cluster-run cluster-down doctor horovod clean
.DEFAULT_GOAL := help

lab:  ## open the course in JupyterLab (PYTHON=3.11, TORCH=cpu: README; OPTIONS="--port 9000" goes to JupyterLab)
	@$(BOOTSTRAP) lab $(OPTIONS)

site:  ## the course as pages for any web server, in build/site (SOLUTIONS=no: without solutions, for a class; docs/site.md)
	@$(START) tools/site_environment.py $(if $(filter no,$(SOLUTIONS)),--without-solutions) $(OPTIONS)

test:  ## the tests for any Linux and any user, some at a time (OPTIONS="-k setup" goes to pytest; OPTIONS="-n 0": one at a time)
	@$(BOOTSTRAP) setup --wait-horovod
	@$(RUN) python -m pytest -n auto --durations=30 --durations-min=10 $(TIER) $(OPTIONS)

test-cluster:  ## the tests that need root, a Slurm, ssh or a browser; as root
	@$(MAKE) --no-print-directory test TIER=--tier=cluster

test-torch:  ## those that PyTorch's build can change, once more with pip's default build (4 GB in .cache; CI does it, too)
	@$(BOOTSTRAP) setup
	@$(RUN) python tools/default_torch.py $(OPTIONS)

test-all:  ## both, whole: every answer, port, script and unsolved notebook, full-size notebooks, many more random cases (hours)
	@COURSE_TEST_ALL=1 $(MAKE) --no-print-directory test TIER=

mutants:  ## put wrong pieces into a copy of our own code, one after the other, and tell which test notices (half an hour)
	@$(RUN) python tests/mutations/mutants.py $(OPTIONS)

holes:  ## change right answers of the bank by machine, and tell what no case notices (hours; OPTIONS="14/log_grid" for one exercise)
	@$(RUN) autograder mutate $(OPTIONS)

verdicts:  ## the verdicts of two trees beside each other: make verdicts OPTIONS="take before.json" (tools/compare_verdicts.py)
	@$(RUN) python tools/compare_verdicts.py $(OPTIONS)

slides:  ## slides of a unit, one HTML file: make slides UNIT=05 (docs/teaching.md)
	@test -n "$(UNIT)" || { echo "Say which: make slides UNIT=05, or UNIT=all"; exit 1; }
	@$(RUN) python -m tools.slides $(UNIT) $(OPTIONS)

notebooks:  ## build solutions/, notebooks/ and homework/ from units/
	@$(RUN) python tools/build_notebooks.py $(OPTIONS)

bank:  ## judge the bank of right and wrong answers to every exercise
	@$(RUN) autograder bank $(OPTIONS)

course-release:  ## build the root of a class: make course-release DIR=/srv/courses/dl2027
	@test -n "$(DIR)" || { echo "Say where: make course-release DIR=/srv/courses/dl2027"; exit 1; }
	@$(RUN) python tools/course_release.py "$(DIR)" $(OPTIONS)

grade-demo:  ## grade a pretend class of 40 and show what was expected and what was given
	@$(RUN) python tools/grade_demo.py $(DIR) $(OPTIONS)

hub:  ## try out a JupyterHub with an instructor and two students, as root: make hub SPAWNER=slurm PORT=8000
	@$(RUN) python tools/hub.py try --spawner $(or $(SPAWNER),local) --port $(or $(PORT),8000) $(OPTIONS)

bench-comm:  ## measure the MPI backend against gloo and against plain MPI
	@$(RUN) python benchmarks/comm.py $(OPTIONS)

bench-check:  ## measure how long a check takes
	@$(RUN) python benchmarks/check.py $(OPTIONS)

bench-train:  ## measure training steps: by hand, DDP and Horovod, against independent processes
	@$(RUN) python benchmarks/train.py $(OPTIONS)

bench-grading:  ## measure grading against stock nbgrader
	@$(RUN) python benchmarks/grading.py $(OPTIONS)

bench-plots:  ## read random figures back from their PDFs and compare with what was drawn
	@$(RUN) python -m benchmarks.plots $(OPTIONS)

bench-links:  ## measure an all-reduce over links of 100 Mbit/s, 1 Gbit/s and without a limit (as root)
	@$(RUN) python benchmarks/links.py

bench-relay:  ## measure what an operation of a simulation costs, on 4 to 4,096 ranks
	@$(RUN) python -m benchmarks.relay

bench-simulation:  ## hold relay, replay and formulas of a training step against each other on 48 meshes, and time large replays
	@$(RUN) python -m benchmarks.simulation

gpu-check:  ## what the course says about GPUs, tried on this machine's (PYTHON=python3: any with torch; docs/gpu.md)
	@$(if $(PYTHON:3.%=),$(PYTHON),$(RUN) python) tools/gpu_check $(OPTIONS)

cluster-up:  ## start a throw-away Slurm: make cluster-up N=4 RATE=1gbit (as root)
	@$(RUN) python tools/slurm_cluster.py up $(or $(N),4) $(RATE) $(OPTIONS)

cluster-run:  ## run on its login host: make cluster-run CMD="sbatch --wait script.sh"; without CMD a shell
	@$(RUN) python tools/slurm_cluster.py run $(OPTIONS) "$$CMD"

cluster-down:  ## end it and remove its files
	@$(RUN) python tools/slurm_cluster.py down

doctor:  ## what this machine can do, and what to do about what it cannot
	@$(RUN) labkit doctor $(OPTIONS)

horovod:  ## wait for Horovod to be compiled; after a failure, try again
	@$(BOOTSTRAP) horovod

clean:  ## remove the environment and the caches in this folder; work/ stays
	@$(BOOTSTRAP) clean

help:  ## this list
	@awk -F ':.*## ' -v shown=" $(SHOWN) " '/^[a-z-]+:.*## / && (shown ~ /^ *$$/ || index(shown, " " $$1 " ")) {printf "  make %-16s %s\n", $$1, $$2}' Makefile
