# Every target sets up what it needs first; when that is done already, this takes a fraction of a second.
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3 || command -v python3.11 || echo python3)
COURSE := $(PYTHON) tools/bootstrap.py
RUN := $(COURSE) run

.PHONY: help lab test notebooks bank bench-comm bench-check bench-train doctor horovod clean
.DEFAULT_GOAL := help

lab:  ## open the course in JupyterLab (OPTIONS="--port 9000" goes to JupyterLab)
	@$(COURSE) lab $(OPTIONS)

test:  ## run the tests (OPTIONS="-k setup" goes to pytest)
	@$(COURSE) setup --wait-horovod
	@$(RUN) python -m pytest $(OPTIONS)

notebooks:  ## build notebooks/ from solutions/
	@$(RUN) python tools/build_notebooks.py $(OPTIONS)

bank:  ## judge the bank of right and wrong answers to every exercise
	@$(RUN) autograder bank $(OPTIONS)

bench-comm:  ## measure the MPI backend against gloo and against plain MPI
	@$(RUN) python benchmarks/comm.py $(OPTIONS)

bench-check:  ## measure how long a check takes
	@$(RUN) python benchmarks/check.py $(OPTIONS)

bench-train:  ## measure training steps: by hand, DDP and Horovod, against independent processes
	@$(RUN) python benchmarks/train.py $(OPTIONS)

doctor:  ## what this machine can do, and what to do about what it cannot
	@$(RUN) labkit doctor $(OPTIONS)

horovod:  ## wait for Horovod to be compiled; after a failure, try again
	@$(COURSE) horovod

clean:  ## remove the environment and the caches in this folder; work/ stays
	@$(COURSE) clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
