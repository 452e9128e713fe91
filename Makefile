# Two commands set everything up on a fresh Debian or Ubuntu machine: `make demo` and `make test`.
# What the set-up does and in what order: tools/setup/bootstrap.py.  PYTHON=… names another interpreter.

VENV := .venv
RUN := $(VENV)/bin/python
PYTEST_ARGS ?=
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1
unexport PYTHONDONTWRITEBYTECODE  # tests start hundreds of interpreters, each of which would compile everything again

# Runs the set-up for one purpose; a few tenths of a second where all is there.
bootstrap = python=$$(sh tools/setup/find_python.sh) && "$$python" tools/setup/bootstrap.py --for $(1)

.PHONY: help setup demo test test-interpreter behaviours fuzz fuzz-lpk soak lint format bench clean

help:
	@echo "make demo    set up, then convolve a photograph on every Vulkan device (pictures in out/)"
	@echo "make test    set up, then run the test suite (PYTEST_ARGS='-k convolution' narrows it)"
	@echo "make test-interpreter  set up, then run the device tests in the reference interpreter"
	@echo "make behaviours  set up, run the tests that prove a numbered behaviour, print which rows are proven"
	@echo "make fuzz    set up, then run random kernels on every device for FUZZ_SECONDS (300)"
	@echo "make fuzz-lpk  set up, then load damaged bundle files for FUZZ_SECONDS (300)"
	@echo "make soak    set up, then run everything at random under the validation layer for SOAK_SECONDS (600)"
	@echo "make lint    ruff check, ruff format --check, pyright in strict mode"
	@echo "make format  rewrite the sources as ruff formats them"
	@echo "make bench   set up, then run the benchmarks; tables in out/bench.md"
	@echo "make setup   only set up, for all of the above"
	@echo "make clean   remove .venv, caches and build output from the checkout"

setup:
	@$(call bootstrap,all)

demo:
	@$(call bootstrap,demo)
	$(RUN) examples/convolution.py --output out --dump out/stages

test:
	@$(call bootstrap,test)
	$(RUN) -m pytest -n auto --maxprocesses 8 $(PYTEST_ARGS)

test-interpreter:
	@$(call bootstrap,test)
	LAPILLI_INTERPRET=1 $(RUN) -m pytest -n auto --maxprocesses 8 tests/device tests/property $(PYTEST_ARGS)

behaviours:
	@$(call bootstrap,test)
	$(RUN) -m pytest -n auto --maxprocesses 8 -q -m behaviour --behaviours $(PYTEST_ARGS)

fuzz:
	@$(call bootstrap,test)
	$(RUN) -m tests.property.soak --seconds $(or $(FUZZ_SECONDS),300) --start $(or $(FUZZ_START),0) --jobs $(or $(FUZZ_JOBS),1)

fuzz-lpk:
	@$(call bootstrap,test)
	$(RUN) -m tests.aot.fuzz --seconds $(or $(FUZZ_SECONDS),300) --start $(or $(FUZZ_START),0)

soak:
	@$(call bootstrap,test)
	$(RUN) -m tests.lifetime.soak --seconds $(or $(SOAK_SECONDS),600) --seed $(or $(SOAK_SEED),1)

lint:
	@$(call bootstrap,lint)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m pyright

format:
	@$(call bootstrap,lint)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench:
	@$(call bootstrap,bench)
	$(RUN) -m benchmarks --json out/bench.json

clean:
	rm -rf $(VENV) build dist out .pytest_cache .ruff_cache .hypothesis *.egg-info src/*.egg-info
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
