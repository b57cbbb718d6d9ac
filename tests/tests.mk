# Tests. `make check` runs them all; its last line is
# `N passed, N failed, N skipped`. See tests/README.md.

TEST_WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wswitch-enum -Wno-format-truncation $(WERROR)
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/faults.c,$(wildcard tests/support/*.c)))
# Their paths and commands are cut on purpose: hence no format-truncation.
TEST_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*_test.c))

$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(TEST_SUPPORT) $(LIB)/libccc.a $(LIB)/libccs.a
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson -lpthread -ldl -lm
$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_WARN) -MMD -MP -c -o $@ $<
.PRECIOUS: $(BUILD)/tests/%.o

# A driver and an NVRTC of our own (tests/fake_cuda/fake.h); and an old driver, which
# lacks what only some features need.
FAKE_CUDA := $(BUILD)/tests/fake_cuda/libcuda.so.1 $(BUILD)/tests/fake_cuda/libnvrtc.so \
	$(BUILD)/tests/fake_cuda/old/libcuda.so.1
FAKE_COMMON := $(BUILD)/tests/fake_common/inject.o $(BUILD)/runtime/reduce.o $(BUILD)/runtime/dtype.o
FAKE_DRIVER := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/fake_nvrtc.c,$(wildcard tests/fake_cuda/*.c))) \
	$(FAKE_COMMON)
$(BUILD)/tests/fake_cuda/libcuda.so.1: $(FAKE_DRIVER)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -o $@ $^ -lpthread -lm
$(BUILD)/tests/fake_cuda/old/libcuda.so.1: $(FAKE_DRIVER) tests/fake_cuda/old.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,--version-script=tests/fake_cuda/old.map \
		-o $@ $(FAKE_DRIVER) -lpthread -lm
$(BUILD)/tests/fake_cuda/libnvrtc.so: $(BUILD)/tests/fake_cuda/fake_nvrtc.o
	$(CC) $(LDFLAGS) -shared -o $@ $^
$(BUILD)/tests/fake_cuda/%.o: TEST_WARN += -Wno-missing-prototypes

# And an NCCL (tests/fake_nccl/fake.h).
FAKE_NCCL := $(BUILD)/tests/fake_nccl/libnccl.so.2
$(FAKE_NCCL): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fake_nccl/*.c)) $(FAKE_COMMON)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libnccl.so.2 -o $@ $^ -lpthread -ldl
$(BUILD)/tests/fake_nccl/%.o: TEST_WARN += -Wno-missing-prototypes

# What the machine refuses, and a record of calls (tests/support/faults.c).
FAULTS := $(BUILD)/tests/faults.so
$(FAULTS): tests/support/faults.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TEST_WARN) -Wno-missing-prototypes -fvisibility=default -shared -o $@ $<

# Modules for the runtime's tests: every schedule of the library.
TEST_MODULES := $(patsubst schedules/%.ccs,$(BUILD)/tests/modules/%.so,$(wildcard schedules/*.ccs))
$(BUILD)/tests/modules/%.so: schedules/%.ccs $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $< $$(tests/admitted.sh $(BIN)/ccc $<) --target=cpu -o $@

# The same with kernels: their source, and what our own NVRTC makes of it.
CUDA_MODULES := $(patsubst $(BUILD)/tests/modules/%,$(BUILD)/tests/cuda_modules/%,$(TEST_MODULES))
$(BUILD)/tests/cuda_modules/%.so: schedules/%.ccs $(BIN)/ccc $(BUILD)/tests/fake_cuda/libnvrtc.so
	@mkdir -p $(@D)
	CCS_CACHE_DIR= CCS_NVRTC="$$(cd $(BUILD) && pwd)/tests/fake_cuda/libnvrtc.so" \
		$(BIN)/ccc $< $$(tests/admitted.sh $(BIN)/ccc $<) --target=cuda -o $@

# NVRTC, where deps.sh has fetched it: found as in an active Python environment.
ifneq ($(wildcard build/wheels),)
export VIRTUAL_ENV := $(CURDIR)/build/wheels
endif

export CCC := $(BIN)/ccc
export CCRUN := $(BIN)/ccrun

T := $(BUILD)/tests

.PHONY: deps check check-built check-short sanitize asan tsan ubsan bless demo test-programs
deps:
	@tests/deps.sh check

test-programs: all $(TEST_PROGRAMS) $(TEST_MODULES) $(CUDA_MODULES) $(FAKE_CUDA) \
		$(FAKE_NCCL) $(FAULTS) $(BUILD)/bench/gpu_hand

check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) test-programs
	@$(MAKE) --no-print-directory check-built

# The suites that take longest come first: they run side by side.
check-built: test-programs
	@tests/run.sh \
		"tests/nvrtc_test.sh $(BUILD)" \
		"tests/emu/emu_test.sh $(BUILD) $(TEST_MODULES)" \
		"tests/cuda_test.sh $(BUILD)" \
		"tests/bench_test.sh $(BUILD)" \
		"tests/hosts_test.sh $(BUILD)" \
		"$(T)/group_fail_test" \
		"tests/read_back_test.sh $(BUILD)" \
		"$(T)/oracle_test random 10000 1" \
		"$(T)/rounds_test random 500 1" \
		"tests/cuda_places_test.sh $(BUILD)" \
		"tests/limits_test.sh $(BUILD)" \
		"tests/architecture_test.sh $(BUILD)" \
		"tests/musl_test.sh $(BUILD)" \
		$(foreach u,$(filter $(T)/unit_%,$(TEST_PROGRAMS)),"$(u)") \
		"$(T)/diag_test tests/diag tests/good schedules/broken schedules" \
		"$(T)/mistakes_test tests/mistakes" \
		"tests/golden_test.sh $(BUILD)" \
		"tests/cli_test.sh $(BUILD)" \
		"tests/output_test.sh $(BUILD)" \
		"tests/diagnostics_test.sh $(BUILD)" \
		"tests/format_test.sh $(BUILD)" \
		"tests/module_test.sh $(BUILD)" \
		"$(T)/fuzz_test tests/corpus tests/good tests/diag schedules schedules/broken" \
		"$(T)/oracle_test small 1" \
		"$(T)/oracle_test spin 100 1" \
		"$(T)/plan_test library schedules" \
		"$(T)/plan_test random 1000 1" \
		"$(T)/plan_test long 1000 1" \
		"$(T)/plan_test controls schedules" \
		"$(T)/good_test tests/good" \
		"$(T)/prove_test library $(TEST_MODULES)" \
		"$(T)/prove_test good tests/good" \
		"$(T)/prove_test random 2000 1" \
		"$(T)/prove_test alter 20000 1 schedules" \
		"$(T)/rounds_test $(TEST_MODULES)" \
		"$(T)/mutants_test schedules" \
		"$(T)/results_test $(TEST_MODULES)" \
		"$(T)/runtime_test $(T)/modules" \
		"$(T)/fork_test $(T)/modules" \
		"$(T)/file_test $(T)/modules" \
		"$(T)/cache_test" \
		"tests/abi_test.sh $(BUILD)" \
		"tests/cuda_driver_test.sh $(BUILD)" \
		"tests/report_test.sh $(BUILD)" \
		"tests/ccrun_cuda_test.sh $(BUILD)" \
		"$(T)/group_env_test" \
		"$(T)/group_meet_test" \
		"tests/nccl_test.sh $(BUILD)" \
		"tests/examples_test.sh $(BUILD)" \
		"tests/docs_test.sh $(BUILD)" \
		"tests/install_test.sh $(BUILD)"

# All that nvrtc_test.sh takes a sample of: hours.
.PHONY: check-nvrtc
check-nvrtc: test-programs
	FULL=1 tests/nvrtc_test.sh $(BUILD)

# Many more altered modules than check has: minutes.
.PHONY: check-prove
check-prove: test-programs
	@tests/run.sh "$(T)/prove_test random 50000 2" "$(T)/prove_test alter 500000 2 schedules"

# A shorter selection, for builds that run slowly.
SHORT := diag fuzz oracle plan prove rounds results runtime fork file cache group_meet group_fail
check-short: all $(filter $(T)/unit_%,$(TEST_PROGRAMS)) $(SHORT:%=$(T)/%_test) $(TEST_MODULES)
	@tests/run.sh \
		$(foreach u,$(filter $(T)/unit_%,$(TEST_PROGRAMS)),"$(u)") \
		"$(T)/diag_test tests/diag tests/good schedules/broken schedules" \
		"tests/module_test.sh $(BUILD)" \
		"$(T)/fuzz_test tests/corpus" \
		"$(T)/oracle_test random 400 2" \
		"$(T)/plan_test library schedules 3 4" \
		"$(T)/plan_test random 100 2" \
		"$(T)/plan_test long 50 2" \
		"$(T)/prove_test library $(TEST_MODULES)" \
		"$(T)/prove_test good tests/good" \
		"$(T)/prove_test random 200 2" \
		"$(T)/prove_test alter 4000 2 schedules" \
		"$(T)/rounds_test $(TEST_MODULES)" \
		"$(T)/rounds_test random 50 2" \
		"$(T)/results_test --short $(TEST_MODULES)" \
		"$(T)/runtime_test $(T)/modules" \
		"$(T)/fork_test $(T)/modules quiet" \
		"$(T)/file_test $(T)/modules" \
		"$(T)/cache_test" \
		"$(T)/group_meet_test" \
		"$(T)/group_fail_test 500"

# AddressSanitizer and UBSan on all, ThreadSanitizer on what has threads; and clang's UBSan,
# which sees more than gcc's, on what is compiled from any text.
asan:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1 -g" WERROR=$(WERROR) \
		SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" check-short
THREADS := results runtime group_meet group_fail
tsan:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT="-O1 -g" WERROR=$(WERROR) \
		SAN="-fsanitize=thread" check-threads
check-threads: $(THREADS:%=$(T)/%_test) $(TEST_MODULES)
	@tests/run.sh \
		"$(T)/results_test --short $(TEST_MODULES)" \
		"$(T)/runtime_test $(T)/modules" \
		"$(T)/group_meet_test" \
		"$(T)/group_fail_test 200"
ANY_TEXT := diag fuzz good plan prove
ubsan:
	@tests/deps.sh fuzz
	@$(MAKE) --no-print-directory BUILD=build/ubsan CC=clang OPT="-O1 -g -Wno-pass-failed -Wno-unknown-warning-option" \
		WERROR=$(WERROR) SAN="-fsanitize=undefined -fno-sanitize-recover=all" check-any-text
check-any-text: all $(ANY_TEXT:%=$(T)/%_test)
	@tests/run.sh \
		"$(T)/fuzz_test tests/corpus tests/good tests/mistakes schedules schedules/broken" \
		"$(T)/good_test tests/good" \
		"$(T)/diag_test tests/diag tests/good schedules/broken schedules" \
		"$(T)/plan_test library schedules 3 4" \
		"$(T)/plan_test random 100 2" \
		"$(T)/prove_test good tests/good" \
		"$(T)/prove_test random 200 2" \
		"$(T)/prove_test alter 4000 2 schedules"
.PHONY: check-threads check-any-text
sanitize: asan tsan ubsan

bless: all $(T)/mistakes_test
	@$(T)/mistakes_test --bless tests/mistakes
	@tests/golden_test.sh $(BUILD) --bless
	@tests/docs_test.sh $(BUILD) --bless

demo: deps
	@$(MAKE) --no-print-directory -j$$(nproc) all
	$(BIN)/ccc schedules/ring_allreduce.ccs -o $(BUILD)/ring_allreduce.so
	$(BIN)/ccrun -n 4 $(BUILD)/ring_allreduce.so

# Coverage-guided fuzzing of the whole checker, for SECONDS (clang's libFuzzer).
# What it finds goes to tests/corpus under a telling name, with its mend.
SECONDS ?= 60
.PHONY: fuzz fuzz-built
fuzz:
	@tests/deps.sh fuzz
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang OPT="-O1 -g" \
		SAN="-fsanitize=fuzzer-no-link,address,undefined" fuzz-built
fuzz-built: $(T)/fuzz
	@mkdir -p $(T)/found
	$(T)/fuzz -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=3000 -max_len=4096 \
		-artifact_prefix=$(T)/found/ $(T)/found tests/corpus tests/good tests/diag schedules
$(T)/fuzz: tests/fuzz_test.c $(LIB)/libccc.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DFUZZING -fsanitize=fuzzer -o $@ $^ -ljansson -lpthread -ldl -lm
