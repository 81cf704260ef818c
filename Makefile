# Thin fronts; the work is in CMake and scripts/.
.DEFAULT_GOAL := build
.PHONY: build test demo bench oracle fuzz format lint clean

JOBS ?= $(shell nproc)

build:  ## build/bin/graft, build/lib/libgraft.so
	@scripts/setup.sh build
	@cmake --preset release -DGRAFT_TESTS=OFF >/dev/null
	@cmake --build --preset release -j $(JOBS)

test:  ## builds and runs all tests, also under the sanitizers
	@scripts/setup.sh test
	@scripts/test.sh $(JOBS)

demo:  ## a picture in, a picture out; builds the program and the library alone
	@scripts/setup.sh build
	@cmake --preset release -DGRAFT_TESTS=OFF >/dev/null
	@cmake --build --preset release -j $(JOBS) --target graft
	@scripts/demo.sh

bench: build  ## speed and memory, beside other engines where they can be had; BENCH=--quick: the short form
	@scripts/setup.sh oracle
	@scripts/bench.sh $(BENCH)

oracle: build  ## against OpenVINO, ONNX Runtime, OpenCV, TensorFlow and PyTorch from PyPI
	@scripts/setup.sh oracle
	@scripts/oracle.sh

fuzz:  ## each fuzz target for SECONDS (60)
	@scripts/setup.sh fuzz
	@scripts/fuzz.sh

format:
	@scripts/setup.sh lint
	@git ls-files '*.cpp' '*.hpp' '*.h' | xargs clang-format -i

lint:
	@scripts/setup.sh lint
	@scripts/lint.sh

clean:
	@rm -rf build
