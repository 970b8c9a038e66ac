# What people type; CMake does the work. `make help` lists the targets.
#
# Everything is built below build/: build/ itself is the build that is used and tested, build/asan
# and the like are the same sources under other compilers or checks. build/ort and build/openvino
# hold engines (scripts/setup.sh). CROSS=aarch64-linux-gnu builds for that machine into
# build/aarch64/, with Debian's cross compiler; `make check` runs tests there under QEMU.

CROSS        ?=
BUILD        := build$(addprefix /,$(firstword $(subst -, ,$(CROSS))))
PREFIX       ?= /usr/local
DESTDIR      ?=
JOBS         ?= $(shell nproc)
FUZZ_SECONDS ?= 60
CONFIGURE    := cmake -G Ninja -S . -Wno-dev
WERROR       := $(if $(CI),ON,OFF)

ifneq ($(CROSS),)
ifeq ($(wildcard cmake/$(CROSS).cmake),)
$(error CROSS=$(CROSS): expected aarch64-linux-gnu)
endif
QEMU         ?= qemu-aarch64-static
SETUP        := scripts/setup.sh --cross $(firstword $(subst -, ,$(CROSS)))
LIBRARIES    := CROSS=$(CROSS) scripts/libraries.sh $(BUILD) libzip libspng
CONFIGURE    += --no-warn-unused-cli --toolchain cmake/$(CROSS).cmake -DQDQ_EMULATOR=$(QEMU) \
                -DQDQ_PORTABLE_WORKER=ON
endif

.PHONY: all demo check check-all asan coverage fuzz bench install wheel worker format tidy clean \
        distclean help check-gcc check-python check-python-asan check-abi check-clang

ifeq ($(CROSS),)
all: ## build the tool, the library, examples and, where cmocka is, the tests
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS)

else
all:
	@$(SETUP)
	@$(LIBRARIES)
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING -DQDQ_TESTS=OFF
	@cmake --build $(BUILD) -j $(JOBS) -t qdq -t qdq_shared -t qdq-worker
endif

demo: ## install what is missing, build, tune a face detector, show what it brings
	@scripts/setup.sh
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING
	@cmake --build $(BUILD) -j $(JOBS) -t qdq qdq-worker ultraface_demo
	@scripts/demo.sh $(BUILD)

ifeq ($(CROSS),)
check: ## install what the tests need, build and run them
	@scripts/setup.sh --tests
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING -DQDQ_TESTS=ON -DQDQ_WERROR=$(WERROR)
	@cmake --build $(BUILD) -j $(JOBS)
	@scripts/test.sh $(BUILD) -LE 'long|heavy'
else
check:
	@$(SETUP) --tests
	@$(LIBRARIES)
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING -DQDQ_TESTS=ON -DQDQ_WERROR=$(WERROR)
	@cmake --build $(BUILD) -j $(JOBS) -t qdq -t qdq_shared -t qdq-worker -t unit_tests
	@scripts/cross_test.sh $(BUILD) $(QEMU)
endif

# Other builds find what set-up unpacked where the main build has it.
define other_build
	@mkdir -p $(BUILD)/$(1)
	@ln -sfn ../ort $(BUILD)/$(1)/ort
	@ln -sfn ../openvino $(BUILD)/$(1)/openvino
	@$(CONFIGURE) -B $(BUILD)/$(1) --log-level=WARNING -DQDQ_TESTS=ON $(2)
	@cmake --build $(BUILD)/$(1) -j $(JOBS)
endef

# CI has 20 minutes; of these what is left out there would take minutes each, and check-all runs it.
asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh --tests
	$(call other_build,asan,-DQDQ_SANITIZE=ON -DQDQ_WERROR=$(WERROR))
	@scripts/test.sh $(BUILD)/asan -LE 'long|perf|tools$(if $(CI),|heavy)' \
	    $(if $(CI),-E '^(cli/(autotune|quantize|transformers)|unit/probe_measure)$$')

# Tests of time and of the repository run no code that others do not. Where a test limits the size
# of files, counts get lost.
coverage: ## lines and branches of src/ that the tests run; UPDATE=1 writes them to CONTRIBUTING.md
	@scripts/setup.sh --all
	$(call other_build,coverage,-DCMAKE_C_COMPILER=gcc -DQDQ_COVERAGE=ON)
	@find $(BUILD)/coverage -name '*.gcda' -delete
	@GCOV_ERROR_FILE=/dev/null scripts/test.sh $(BUILD)/coverage -LE 'long|perf|tools'; tested=$$?; \
	scripts/coverage.sh $(BUILD)/coverage && exit $$tested

fuzz: ## libFuzzer, FUZZ_SECONDS (60) for each target
	@scripts/setup.sh --all
	$(call other_build,fuzz,-DCMAKE_C_COMPILER=clang -DQDQ_SANITIZE=ON -DQDQ_FUZZ=ON)
	@scripts/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

check-all: ## gcc and clang with warnings as errors, ABI, sanitizers, coverage, long and fuzz runs
	@$(MAKE) --no-print-directory --keep-going check-gcc check-python check-abi check-clang \
	    tidy asan check-python-asan coverage fuzz && echo "check-all: all passed"

check-gcc:
	@scripts/setup.sh --all
	$(call other_build,gcc,-DCMAKE_C_COMPILER=gcc -DQDQ_WERROR=ON)
	@scripts/test.sh $(BUILD)/gcc

check-python:
	@QDQ_PYTEST_ARGS= bash tests/tools/python.sh . $(BUILD)/gcc

check-python-asan: ## the tests of the Python package under AddressSanitizer
	@scripts/setup.sh --tests
	$(call other_build,asan,-DQDQ_SANITIZE=ON -DQDQ_WERROR=$(WERROR))
	@QDQ_PYTEST_ARGS= bash tests/tools/python.sh . $(BUILD)/asan

check-abi:
	@scripts/abi.sh $(BUILD)/gcc

# the package is GCC's in either build
check-clang:
	@scripts/setup.sh --all
	$(call other_build,clang,-DCMAKE_C_COMPILER=clang -DQDQ_WERROR=ON)
	@scripts/test.sh $(BUILD)/clang -LE 'long|heavy' -E '^tools/python$$'

bench: ## measure what docs/benchmarks.md says; peers go to a virtual environment below build/
	@scripts/setup.sh
	@$(MAKE) --no-print-directory all
	@scripts/bench.sh $(BUILD)

# Root's installation is in the loader's cache, so that programs start that are linked with it.
install: all ## install below PREFIX (/usr/local), DESTDIR in front of it
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || PATH=$$PATH:/sbin ldconfig || :

ifeq ($(CROSS),)
worker: ## build/portable/qdq-worker, for other machines: it needs nothing but an old glibc
	@$(MAKE) --no-print-directory all
	@scripts/worker.sh $(BUILD)
else
worker: all
endif

wheel: ## build the Python package for Linux into build/dist/; the rest is compiled first
	@scripts/setup.sh --with-python
	@$(CONFIGURE) -B $(BUILD) --log-level=WARNING
	@scripts/wheel.sh $(BUILD)

format: ## lay out the sources as .clang-format says
	@git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: ## clang-tidy over the library and the tool; a finding is an error
	@scripts/setup.sh --all
	$(call other_build,clang,-DCMAKE_C_COMPILER=clang -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
	@git ls-files 'src/*.c' | grep -v -e data/image.c -e old_glibc.c | \
	xargs -P $(JOBS) -n 4 clang-tidy --quiet -p $(BUILD)/clang

clean: ## remove what was built; keep the engines that set-up fetched
	@[ ! -d $(BUILD) ] || \
	find $(BUILD) -mindepth 1 -maxdepth 1 ! -name ort ! -name openvino -exec rm -rf {} +

distclean: ## remove everything that is not source
	@rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | \
	awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'
