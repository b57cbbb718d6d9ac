# Tests. `make check` runs them all, `make check-PART` those of a part (PARTS); their last
# line is `N passed, N failed, N skipped`. See tests/README.md.

PARTS := lang check msccl pipe lower plan msccl_out cpu cuda hosts ccrun editors python docs

TEST_WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wswitch-enum -Wno-format-truncation $(WERROR)
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/faults.c,$(wildcard tests/support/*.c)))
# What ccrun has of its own to call the driver and NCCL.
TEST_SUPPORT += $(addprefix $(BUILD)/runtime/ccrun/gpu/,cuda_calls.o nccl_calls.o)
# Their paths and commands are cut on purpose: hence no format-truncation.
TEST_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/*/*_test.c))

$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(TEST_SUPPORT) $(LIB)/libccc.a $(LIB)/libccs.a
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(EXPAT) $(ISL) $(LIBS)
$(BUILD)/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_WARN) -MMD -MP -c -o $@ $<
.PRECIOUS: $(BUILD)/tests/%.o

# A driver and an NVRTC of our own (tests/fake_cuda/fake.h); and an old driver, which
# lacks what only some features need.
FAKE_CUDA := $(BUILD)/tests/fake_cuda/libcuda.so.1 $(BUILD)/tests/fake_cuda/libnvrtc.so \
	$(BUILD)/tests/fake_cuda/old/libcuda.so.1 $(BUILD)/tests/fake_cuda/libnvrtc_ptx.so
FAKE_COMMON := $(BUILD)/tests/fake_common/inject.o $(BUILD)/runtime/plan/types.o \
	$(addprefix $(BUILD)/runtime/cpu/core/,reduce.o reduce_avx2.o reduce_avx512.o)
FAKE_DRIVER := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_nvrtc.c,$(wildcard tests/fake_cuda/*.c))) \
	$(FAKE_COMMON)
$(BUILD)/tests/fake_cuda/libcuda.so.1: $(FAKE_DRIVER)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -o $@ $^ -lpthread -lm
$(BUILD)/tests/fake_cuda/old/libcuda.so.1: $(FAKE_DRIVER) tests/fake_cuda/old.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,--version-script=tests/fake_cuda/old.map \
		-o $@ $(FAKE_DRIVER) -lpthread -lm
$(BUILD)/tests/fake_cuda/libnvrtc.so: $(BUILD)/tests/fake_cuda/fake_nvrtc.o
	$(CC) $(LDFLAGS) -shared -o $@ $^
$(BUILD)/tests/fake_cuda/libnvrtc_ptx.so: $(addprefix $(BUILD)/tests/fake_cuda/,ptx_nvrtc.o occupancy.o) \
		$(BUILD)/runtime/base/file.o $(addprefix $(BUILD)/runtime/base/load/,nvrtc.o library.o)
	$(CC) $(LDFLAGS) -shared -o $@ $^ -ldl
$(BUILD)/tests/fake_cuda/%.o: TEST_WARN += -Wno-missing-prototypes
# What executes PTX, without a driver before it.
$(BUILD)/tests/cuda/element_test: $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_nvrtc.c,$(wildcard tests/fake_cuda/ptx_*.c)))

# And an NCCL (tests/fake_nccl/fake.h).
FAKE_NCCL := $(BUILD)/tests/fake_nccl/libnccl.so.2
$(FAKE_NCCL): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fake_nccl/*.c)) $(FAKE_COMMON)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libnccl.so.2 -o $@ $^ -lpthread -ldl
$(BUILD)/tests/fake_nccl/%.o: TEST_WARN += -Wno-missing-prototypes

# And a plug-in for MPI, which needs none (tests/fake_mpi/fake_mpi.c).
FAKE_MPI := $(BUILD)/tests/fake_mpi/libfake_mpi.so
$(FAKE_MPI): $(BUILD)/tests/fake_mpi/fake_mpi.o $(BUILD)/runtime/plan/types.o
	$(CC) $(LDFLAGS) -shared -o $@ $^

# And one before the real one, which knows what MPI has (tests/fake_mpi/held_mpi.c).
HELD_MPI := $(BUILD)/tests/fake_mpi/libheld_mpi.so
$(HELD_MPI): $(BUILD)/tests/fake_mpi/held_mpi.o
	$(CC) $(LDFLAGS) -shared -o $@ $^ -ldl

# Programs of MPI's, for libccs-mpi.so.
OF_PRELOAD := $(addprefix $(BUILD)/tests/ccrun/preload_,prog forms)
MPI_PROGRAM := $(if $(MPICC),$(OF_PRELOAD) $(BUILD)/bench/mpi_loop)
# In Fortran, where MPI and this machine have it.
MPIFORT := $(MPICC_PRELOAD:mpicc=mpifort)
FORTRAN := $(addprefix $(BUILD)/tests/ccrun/preload_,fortran fortran_f08)
MPI_PROGRAM += $(if $(MPICC),$(if $(shell $(MPIFORT) --version 2>/dev/null),$(FORTRAN)))
$(FORTRAN): tests/ccrun/preload_fortran.F90 $(BUILD)/mpicc
	@mkdir -p $(@D)
	$(MPIFORT) -O -g $(addprefix -D,$(findstring _f08,$@)) -o $@ $<
$(OF_PRELOAD): export OMPI_CC = $(CC)
$(OF_PRELOAD): export MPICH_CC = $(CC)
$(OF_PRELOAD): $(BUILD)/%: %.c $(BUILD)/mpicc
	@mkdir -p $(@D)
	$(MPICC_PRELOAD) $(CPPFLAGS) $(CFLAGS) $(TEST_WARN) -MMD -MP -rdynamic -o $@ $< $(LDFLAGS) \
		-lpthread -ldl

# The same for other MPIs, where deps.sh has fetched them (tests/ccrun/mpis_test.sh): NAME is the
# wheel in build/wheels, and NAME_abi the same MPI by MPI 5's standard ABI.
MPIS := $(foreach m,mpich mpich402 mpich5 mpich5_abi openmpi5,$(if \
	$(wildcard build/wheels/$(m:_abi=)/bin/mpicc$(findstring _abi,$m)),$m))
OF_MPIS := $(foreach m,$(MPIS),$(addprefix $(BUILD)/tests/mpis/$m/,libccs_mpi.so libccs-mpi.so \
	preload_prog preload_forms)) $(if $(wildcard build/wheels/mpich402/bin/mpifort),$(if $(shell command -v gfortran), \
	$(addprefix $(BUILD)/tests/mpis/mpich402/preload_,fortran fortran_f08)))
# The directory that the product is in names the MPI.
MPI_NAME = $(notdir $(@D))
COMPILE_MPIS = mkdir -p $(@D) && OMPI_CC="$(CC)" MPICH_CC="$(CC)" \
	build/wheels/$(MPI_NAME:_abi=)/bin/mpicc$(findstring _abi,$(MPI_NAME)) $(CPPFLAGS) $(CFLAGS) $(WARN)
$(BUILD)/tests/mpis/%/libccs_mpi.so: runtime/mpi/plugin.c runtime/mpi/calls.h runtime/ccs.h
	@$(COMPILE_MPIS) $(LDFLAGS) -shared -o $@ $<
$(BUILD)/tests/mpis/%/libccs-mpi.so: $(PRELOAD_OBJ:$(BUILD)/%.o=%.c) $(wildcard runtime/preload/*.[hi]*) \
		$(LIB)/libccs.so.0
	@$(COMPILE_MPIS) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN/../../../lib' -o $@ $(filter %.c,$^) -L$(LIB) \
		-l:libccs.so.0 -lpthread -ldl
$(BUILD)/tests/mpis/%/preload_prog: tests/ccrun/preload_prog.c
	@$(COMPILE_MPIS) $(LDFLAGS) -rdynamic -o $@ $< -lpthread -ldl
$(BUILD)/tests/mpis/%/preload_forms: tests/ccrun/preload_forms.c
	@$(COMPILE_MPIS) $(LDFLAGS) -o $@ $<
$(BUILD)/tests/mpis/mpich402/preload_fortran $(BUILD)/tests/mpis/mpich402/preload_fortran_f08: \
		tests/ccrun/preload_fortran.F90
	@mkdir -p $(@D)
	@build/wheels/mpich402/bin/mpifort -O -g -D_persistent $(addprefix -D,$(findstring _f08,$@)) -o $@ $<

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

# And those of buffers `by column` and `sized`.
LAYOUT_MODULES := $(patsubst tests/cpu/layouts/%.ccs,$(BUILD)/tests/layout_modules/%.so,$(wildcard tests/cpu/layouts/*.ccs))
$(BUILD)/tests/layout_modules/%.so: tests/cpu/layouts/%.ccs $(BIN)/ccc $(BUILD)/tests/fake_cuda/libnvrtc.so
	@mkdir -p $(@D)
	CCS_CACHE_DIR= CCS_NVRTC="$$(cd $(BUILD) && pwd)/tests/fake_cuda/libnvrtc.so" \
		$(BIN)/ccc $< -n 2..5 --target=cuda -o $@

# NVRTC, where deps.sh has fetched it: found as in an active Python environment.
ifneq ($(wildcard build/wheels),)
export VIRTUAL_ENV := $(CURDIR)/build/wheels
endif

export CCC := $(BIN)/ccc
export CCRUN := $(BIN)/ccrun

T := $(BUILD)/tests

# ---- suites: one list a part, one line a suite ---------------------------------------------
# A number before a suite is about the seconds that it takes: run.sh begins with the most. One
# with ~ waits most of its time, and runs beside the others.

SUITES_lang := \
	"$(T)/lang/unit_lang_test" \
	"15 $(T)/lang/mistakes_test tests/lang/mistakes" \
	"10 tests/lang/diagnostics_test.sh $(BUILD)" \
	"tests/lang/format_test.sh $(BUILD)" \
	"tests/lang/depth_test.sh $(BUILD)" \
	"15 $(T)/lang/fuzz_test tests/lang/corpus schedules/broken -- schedules tests/check/good tests/check/diag"
NEEDS_lang := all

SUITES_check := \
	"$(T)/check/unit_before_test" \
	"$(T)/check/unit_race_test" \
	"$(T)/check/unit_step_test" \
	"$(T)/check/unit_value_test" \
	"$(T)/check/unit_bits_test" \
	"$(T)/check/unit_bound_test" \
	"$(T)/check/bits_test 8000 1 schedules" \
	"$(T)/check/dfa_test 1000 1" \
	"20 $(T)/check/every_test 20 1 schedules" \
	"20 tests/check/certificate_test.sh $(BUILD)" \
	"15 tests/check/certificate_forged_test.sh $(BUILD)" \
	"$(T)/check/strips_test 1200 1" \
	"tests/check/text_reader_test.sh $(BUILD)" \
	"$(T)/check/strips_test files 150 1 schedules/*.ccs tests/check/good/*.ccs" \
	"10 $(T)/check/diag_test tests/check/diag tests/check/good schedules/broken schedules" \
	"20 tests/check/golden_test.sh $(BUILD)" \
	"10 tests/check/cli_test.sh $(BUILD)" \
	"tests/check/table_test.sh $(BUILD)" \
	"20 tests/explain/pictures_test.sh $(BUILD)" \
	"15 tests/cost/simulate_test.sh $(BUILD)" \
	"tests/cost/bound_test.sh $(BUILD)" \
	"10 tests/cost/topo_test.sh $(BUILD)" \
	"10 tests/cost/machine_test.sh $(BUILD)" \
	"$(T)/check/diag_test tests/cost/topo/good tests/cost/topo/diag" \
	"10 tests/cost/simgrid_test.sh $(BUILD)" \
	"15 tests/explain/schema_test.py $(BUILD)" \
	"100 tests/explain/page_test.py $(BUILD)" \
	"20 tests/check/limits_test.sh $(BUILD)" \
	"$(T)/check/oracle_test random 4000 1" \
	"15 $(T)/check/oracle_test small 1" \
	"$(T)/check/oracle_test spin 100 1" \
	"$(T)/check/symmetry_test kinds" \
	"$(T)/check/symmetry_test library schedules 64" \
	"$(T)/check/symmetry_test mutants 5000 1 schedules" \
	"tests/check/symmetry_test.sh $(BUILD)" \
	"$(T)/check/roots_test 4000 1 schedules" \
	"$(T)/check/roots_test traps" \
	"15 $(T)/check/mutants_test schedules 10"
NEEDS_check := all $(T)/cpu/results_test $(T)/ccrun/report_test

SUITES_msccl := \
	"$(T)/check/diag_test tests/msccl/good tests/msccl/diag" \
	"tests/msccl/msccl_test.sh $(BUILD)" \
	"$(T)/msccl/oracle_test 2000 1" \
	"$(T)/msccl/fuzz_test 20 1 tests/msccl/good tests/msccl/diag tests/cost/topo/good tests/cost/topo/diag"
NEEDS_msccl := all $(T)/check/diag_test

SUITES_pipe := \
	"10 tests/pipe/pipe_test.sh $(BUILD)" \
	"tests/pipe/referee_test.py" \
	"tests/pipe/mutants.py --control 300 1" \
	"10 tests/pipe/mutants.py 800 1 $(BUILD)" \
	"tests/pipe/generator_test.py" \
	"10 tests/pipe/torch_test.py $(BUILD)"
NEEDS_pipe := all

SUITES_lower := \
	"$(T)/lower/plan_test library schedules" \
	"$(T)/lower/plan_test random 1000 1" \
	"$(T)/lower/plan_test long 1000 1" \
	"15 $(T)/lower/plan_test controls schedules" \
	"$(T)/lower/good_test tests/check/good" \
	"25 tests/lower/read_back_test.sh $(BUILD)" \
	"tests/lower/module_test.sh $(BUILD)" \
	"tests/lower/output_test.sh $(BUILD)"
NEEDS_lower := all $(FAULTS) $(FAKE_CUDA) $(T)/plan/prove_test

SUITES_plan := \
	"$(T)/plan/unit_choice_test" \
	"$(T)/plan/cuts_test $(TEST_MODULES)" \
	"$(T)/plan/unit_in_place_test" \
	"$(T)/plan/tuning_test $(T)/modules" \
	"$(T)/plan/unit_prove_test" \
	"$(T)/plan/prove_test library $(TEST_MODULES)" \
	"$(T)/plan/prove_test good tests/check/good" \
	"$(T)/plan/prove_test random 1500 1" \
	"10 $(T)/plan/prove_test alter 10000 1 schedules" \
	"$(T)/plan/rounds_test $(TEST_MODULES)" \
	"$(T)/plan/rounds_test random 500 1"
NEEDS_plan := all $(TEST_MODULES)

SUITES_msccl_out := \
	"tests/msccl_out/export_test.sh $(BUILD)"
NEEDS_msccl_out := all

SUITES_cpu := \
	"$(T)/cpu/unit_fold_test" \
	"$(T)/cpu/unit_reduce_test" \
	"15 $(T)/cpu/results_test $(TEST_MODULES)" \
	"$(T)/cpu/order_test $(T)/modules" \
	"$(T)/cpu/post_test $(T)/modules" \
	"$(T)/cpu/in_place_test" \
	"$(T)/cpu/sequence_test $(T)/modules" \
	"$(T)/cpu/layouts_test tests/cpu/layouts" \
	"$(T)/cpu/kept_layouts_test $(T)/modules" \
	"$(T)/cpu/ways_test $(T)/modules" \
	"~ $(T)/cpu/mixed_calls_test $(T)/modules tests/cpu/layouts tasks 7" \
	"~ $(T)/cpu/mixed_calls_test $(T)/modules tests/cpu/layouts procs 7" \
	"$(T)/cpu/random_runs_test 60 1 tasks" \
	"$(T)/cpu/random_runs_test 60 1 procs" \
	"$(T)/cpu/runtime_test $(T)/modules" \
	"$(T)/cpu/prepared_test $(T)/modules tests/cpu/layouts" \
	"$(T)/cpu/public_test $(T)/modules" \
	"$(T)/cpu/operators_test $(T)/modules" \
	"$(T)/cpu/fork_test $(T)/modules" \
	"15 $(T)/cpu/procs_test $(T)/modules" \
	"~ $(T)/cpu/procs_fail_test $(T)/modules" \
	"~ $(T)/cpu/procs_edge_test $(T)/modules" \
	"~ $(T)/cpu/procs_refused_test $(T)/modules" \
	"$(T)/cpu/procs_files_test" \
	"~ $(T)/cpu/no_memory_test $(T)/modules" \
	"~ $(T)/cpu/split_test $(T)/modules tasks" \
	"~ $(T)/cpu/split_test $(T)/modules procs" \
	"~ $(T)/cpu/p2p_test $(T)/modules" \
	"~ $(T)/cpu/late_read_test $(T)/modules" \
	"~ $(T)/cpu/kills_test $(T)/modules" \
	"$(T)/cpu/file_test $(T)/modules" \
	"$(T)/cpu/trace_test $(T)/modules"
NEEDS_cpu := all $(TEST_MODULES)

SUITES_cuda := \
	"60 tests/cuda/nvrtc_test.sh $(BUILD)" \
	"10 tests/cuda/ptx_test.sh $(BUILD)" \
	"35 tests/emu/emu_test.sh $(BUILD) $(TEST_MODULES)" \
	"25 tests/cuda/cuda_test.sh $(BUILD)" \
	"15 tests/cuda/bench_test.sh $(BUILD)" \
	"$(T)/cuda/element_test" \
	"$(T)/cuda/unit_place_test" \
	"$(T)/cuda/unit_tables_test" \
	"tests/cuda/cuda_driver_test.sh $(BUILD)" \
	"25 tests/cuda/cuda_places_test.sh $(BUILD)" \
	"tests/cuda/abi_test.sh $(BUILD)" \
	"$(T)/cuda/cache_test"
NEEDS_cuda := all $(TEST_MODULES) $(CUDA_MODULES) $(LAYOUT_MODULES) $(FAKE_CUDA) $(FAKE_NCCL) $(BUILD)/bench/gpu_hand

SUITES_hosts := \
	"$(T)/hosts/unit_blake2s_test" \
	"$(T)/hosts/group_env_test" \
	"~ $(T)/hosts/group_meet_test" \
	"~ $(T)/hosts/group_fail_test" \
	"~ tests/hosts/nccl_test.sh $(BUILD)" \
	"20 tests/hosts/hosts_test.sh $(BUILD)"
NEEDS_hosts := all $(CUDA_MODULES) $(LAYOUT_MODULES) $(FAKE_CUDA) $(FAKE_NCCL)

SUITES_ccrun := \
	"tests/ccrun/report_test.sh $(BUILD)" \
	"tests/ccrun/show_test.sh $(BUILD)" \
	"tests/ccrun/ccrun_cuda_test.sh $(BUILD)" \
	"15 tests/ccrun/procs_test.sh $(BUILD)" \
	"10 tests/ccrun/tune_test.sh $(BUILD)" \
	"25 tests/ccrun/trace_test.sh $(BUILD)" \
	"~ tests/ccrun/mpi_test.sh $(BUILD)" \
	"~ tests/ccrun/net_test.sh $(BUILD)" \
	"~ tests/ccrun/preload_test.sh $(BUILD)" \
	"~ tests/ccrun/mpis_test.sh $(BUILD)"
NEEDS_ccrun := all $(TEST_MODULES) $(CUDA_MODULES) $(FAKE_CUDA) $(FAKE_NCCL) $(FAKE_MPI) $(HELD_MPI) $(FAULTS) \
	$(T)/plan/prove_test $(T)/cpu/operators_test $(T)/cpu/layouts_test $(T)/hosts/group_fail_test $(MPI_PROGRAM) \
	$(OF_MPIS) $(patsubst %,$(T)/cpu/%_test,split p2p mixed_calls random_runs no_memory trace)

SUITES_editors := \
	"10 tests/editors/lsp_test.sh $(BUILD)" \
	"20 tests/editors/panel_test.py $(BUILD)" \
	"tests/editors/grammars_test.sh $(BUILD)" \
	"tests/editors/completion_test.sh $(BUILD)"
NEEDS_editors := all editors

SUITES_python := \
	"tests/python/python_test.sh $(BUILD)" \
	"40 tests/python/torch_test.sh $(BUILD)" \
	"~ tests/python/ends_test.sh $(BUILD) 60" \
	"~ tests/python/recorder_test.sh $(BUILD) 2" \
	"15 tests/python/wheel_test.sh $(BUILD)"
NEEDS_python := all editors $(FAKE_CUDA) $(FAKE_NCCL)

SUITES_docs := \
	"tests/docs/run_test.sh" \
	"tests/docs/deps_test.sh" \
	"tests/docs/architecture_test.sh $(BUILD)" \
	"15 tests/docs/docs_test.sh $(BUILD)" \
	"tests/docs/examples_test.sh $(BUILD)" \
	"tests/docs/tutorials_test.sh $(BUILD)" \
	"35 tests/docs/torch_tutorials_test.sh $(BUILD)" \
	"tests/docs/form_test.sh $(BUILD)" \
	"15 tests/docs/install_test.sh $(BUILD)" \
	"15 tests/docs/musl_test.sh $(BUILD)"
NEEDS_docs := all $(TEST_MODULES) $(FAKE_MPI) $(T)/ccrun/report_test \
	$(TUTORIALS:%=$(TUT)/%) $(TUTORIAL_MODULES)

# MOST_SKIPS=N: with more, or with a suite that skips all, a check has failed. MOST_AGAIN=N: if
# at most N suites fail, they are run again, and the second result counts.
RUN = tests/run.sh $(if $(MOST_SKIPS),-s $(MOST_SKIPS)) $(if $(MOST_AGAIN),-r $(MOST_AGAIN))

.PHONY: deps check check-built check-short sanitize asan tsan ubsan bless demo test-programs
deps:
	@tests/deps.sh check

# What the suites of a part run; of all parts.
NEEDS := $(PARTS:%=needs-%)
.PHONY: $(NEEDS)
$(foreach p,$(PARTS),$(eval needs-$(p): $(NEEDS_$(p)) $(filter $(T)/$(p)/%,$(TEST_PROGRAMS))))
test-programs: $(NEEDS)

check: deps
	@$(MAKE) --no-print-directory -j$$(nproc) test-programs
	@$(MAKE) --no-print-directory check-built
check-built: test-programs
	@$(RUN) $(foreach p,$(PARTS),$(SUITES_$(p)))

CHECKS := $(PARTS:%=check-%)
.PHONY: $(CHECKS)
$(CHECKS): check-%: deps
	@$(MAKE) --no-print-directory -j$$(nproc) needs-$*
	@$(RUN) $(SUITES_$*)

# Which suites enter which source: the table of tests/COVERAGE.md, made anew. CC and CXX are
# compilers that count, for what the suites build themselves, too. Minutes.
COUNTED = --no-print-directory BUILD=build/coverage OPT="-O1 -g" \
	CC="$(CURDIR)/build/coverage/cc" CXX="$(CURDIR)/build/coverage/c++"
.PHONY: coverage coverage-built
coverage: deps
	@tests/coverage.sh compilers build/coverage
	@$(MAKE) $(COUNTED) -j$$(nproc) test-programs
	@$(MAKE) $(COUNTED) coverage-built
coverage-built: test-programs
	@rm -rf $(BUILD)/suites
	-@CCS_COVERAGE="$(CURDIR)/$(BUILD)/suites" tests/run.sh $(foreach p,$(PARTS),$(SUITES_$(p)))
	@tests/coverage.sh table $(BUILD)

# What is long and rare to fail, and of which check has a part: every schedule's kernels for all
# GPUs as users get them; more seeds of their emulation; every schedule with each type and operator;
# on stand-ins for GPUs for each number of ranks, in each way, in tiles; every module by MPI's messages, in jobs of each size;
# more altered modules; CONTRIBUTING.md's walks, followed. Minutes.
SUITES_long := \
	"200 tests/cuda/nvrtc_test.sh $(BUILD) --long" \
	"60 tests/cuda/ptx_test.sh $(BUILD) --long" \
	"60 $(T)/cuda/element_test --long" \
	"35 $(T)/cpu/results_test --long $(TEST_MODULES)" \
	"100 tests/emu/emu_test.sh $(BUILD) --long $(TEST_MODULES)" \
	"35 tests/cuda/cuda_test.sh $(BUILD) --long" \
	"40 tests/cuda/cuda_places_test.sh $(BUILD) --long" \
	"45 tests/hosts/hosts_test.sh $(BUILD) --long" \
	"~ tests/ccrun/net_test.sh $(BUILD) --long" \
	"~ tests/ccrun/mpis_test.sh $(BUILD) --long" \
	"~ $(T)/cpu/mixed_calls_test $(T)/modules tests/cpu/layouts tasks" \
	"~ $(T)/cpu/mixed_calls_test $(T)/modules tests/cpu/layouts procs" \
	"20 $(T)/cpu/random_runs_test 1000 2 tasks" \
	"20 $(T)/cpu/random_runs_test 1000 2 procs" \
	"100 $(T)/lang/fuzz_test schedules tests/check/good tests/check/diag tests/lang/mistakes" \
	"60 $(T)/check/mutants_test schedules" \
	"60 tests/explain/pictures_test.sh $(BUILD) 1000 3 4 8" \
	"20 tests/cost/simgrid_test.sh $(BUILD) 200" \
	"30 $(T)/check/bits_test 100000 2 schedules" \
	"60 $(T)/check/oracle_test random 40000 2" \
	"30 $(T)/check/symmetry_test mutants 100000 2 schedules" \
	"30 $(T)/check/roots_test 100000 2 schedules" \
	"40 tests/msccl_out/export_test.sh $(BUILD) 1000 2 3 4 6 7 8 9 12 16" \
	"60 $(T)/check/dfa_test 100000 2" \
	"600 $(T)/check/every_test 10000 2 schedules" \
	"tests/check/certificate_test.sh $(BUILD) --long" \
	"40 $(T)/check/strips_test 60000 2" \
	"60 tests/check/text_reader_test.sh $(BUILD) --long" \
	"40 $(T)/check/strips_test files 8000 2 schedules/*.ccs tests/check/good/*.ccs tests/check/diag/*.ccs" \
	"60 $(T)/plan/prove_test random 10000 3" \
	"60 $(T)/plan/prove_test alter 100000 3 schedules" \
	"30 $(T)/msccl/oracle_test 100000 2" \
	"100 tests/pipe/torch_test.py $(BUILD) 8 16 6" \
	"600 tests/pipe/mutants.py 100000 1 $(BUILD)" \
	"60 tests/pipe/generator_test.py 8 16" \
	"30 $(T)/msccl/fuzz_test 2000 2 tests/msccl/good tests/msccl/diag tests/cost/topo/good tests/cost/topo/diag" \
	"300 tests/python/ends_test.sh $(BUILD) 5000" \
	"~ tests/python/recorder_test.sh $(BUILD) 100" \
	"10 tests/explain/schema_test.py $(BUILD) 2000" \
	"300 tests/explain/page_test.py $(BUILD) 400 2" \
	"60 tests/docs/walk_test.sh $(BUILD)"
NEEDS_long := test-programs

.PHONY: check-long
check-long: deps
	@$(MAKE) --no-print-directory -j$$(nproc) $(NEEDS_long)
	@tests/run.sh $(SUITES_long)

# All that nvrtc_test.sh takes a sample of: hours.
.PHONY: check-nvrtc
check-nvrtc: test-programs
	tests/cuda/nvrtc_test.sh $(BUILD) --full

# Many more altered modules than check has: minutes.
.PHONY: check-prove
check-prove: test-programs
	@tests/run.sh "$(T)/plan/prove_test random 50000 2" "$(T)/plan/prove_test alter 500000 2 schedules"

# Changes the compiler in 200 places, one at a time, in a copy, and looks which suite sees
# it: an hour. MUTANTS="--jobs 1 7": with these options; see tests/mutants/mutants.py.
.PHONY: mutants
mutants: deps
	@tests/mutants/mutants.py $(MUTANTS)

# A shorter selection, for builds that run slowly.
UNITS := $(foreach p,$(PARTS),$(filter $(T)/$(p)/unit_%,$(TEST_PROGRAMS)))
SHORT := check/diag check/bits check/symmetry check/roots msccl/oracle msccl/fuzz lang/fuzz check/oracle lower/plan plan/prove plan/rounds plan/tuning cpu/results cpu/post cpu/in_place cpu/layouts cpu/runtime cpu/prepared cpu/random_runs cpu/public cpu/operators cpu/fork cpu/file cpu/procs cpu/procs_fail cpu/procs_edge cpu/procs_refused cpu/procs_files cpu/split cpu/p2p cuda/cache hosts/group_meet hosts/group_fail
check-short: all $(UNITS) $(SHORT:%=$(T)/%_test) $(TEST_MODULES)
	@tests/run.sh \
		$(foreach u,$(UNITS),"$(u)") \
		"$(T)/check/diag_test tests/check/diag tests/check/good schedules/broken schedules" \
		"$(T)/check/diag_test tests/msccl/good tests/msccl/diag" \
		"$(T)/msccl/oracle_test 500 2" \
		"$(T)/msccl/fuzz_test 5 2 tests/msccl/good tests/msccl/diag tests/cost/topo/good tests/cost/topo/diag" \
		"tests/lower/module_test.sh $(BUILD)" \
		"$(T)/lang/fuzz_test tests/lang/corpus" \
		"$(T)/check/oracle_test random 400 2" \
		"$(T)/check/bits_test 500 2 schedules" \
		"$(T)/check/symmetry_test mutants 500 2 schedules" \
		"$(T)/check/roots_test 500 2 schedules" \
		"$(T)/lower/plan_test library schedules 3 8" \
		"$(T)/lower/plan_test random 100 2" \
		"$(T)/lower/plan_test long 50 2" \
		"$(T)/plan/prove_test library $(TEST_MODULES)" \
		"$(T)/plan/prove_test good tests/check/good" \
		"$(T)/plan/prove_test random 200 2" \
		"$(T)/plan/prove_test alter 4000 2 schedules" \
		"$(T)/plan/rounds_test $(TEST_MODULES)" \
		"$(T)/plan/rounds_test random 50 2" \
		"$(T)/plan/tuning_test $(T)/modules" \
		"$(T)/cpu/results_test --short $(TEST_MODULES)" \
		"$(T)/cpu/post_test $(T)/modules 300" \
		"$(T)/cpu/in_place_test 10" \
		"$(T)/cpu/layouts_test --short tests/cpu/layouts" \
		"$(T)/cpu/runtime_test $(T)/modules" \
		"$(T)/cpu/prepared_test $(T)/modules tests/cpu/layouts" \
		"$(T)/cpu/random_runs_test 20 3 tasks" \
		"$(T)/cpu/random_runs_test 20 3 procs" \
		"$(T)/cpu/public_test $(T)/modules" \
		"$(T)/cpu/operators_test $(T)/modules" \
		"$(T)/cpu/fork_test $(T)/modules quiet" \
		"$(T)/cpu/file_test $(T)/modules" \
		"$(T)/cpu/procs_test --short $(T)/modules" \
		"$(T)/cpu/procs_fail_test $(T)/modules 20" \
		"$(T)/cpu/procs_edge_test $(T)/modules" \
		"$(T)/cpu/procs_refused_test $(T)/modules" \
		"$(T)/cpu/procs_files_test" \
		"$(T)/cpu/split_test $(T)/modules tasks" \
		"$(T)/cpu/split_test $(T)/modules procs" \
		"$(T)/cpu/p2p_test $(T)/modules" \
		"$(T)/cuda/cache_test" \
		"$(T)/hosts/group_meet_test" \
		"$(T)/hosts/group_fail_test 500"

# AddressSanitizer and UBSan on all, ThreadSanitizer on what has threads; and clang's UBSan,
# which sees more than gcc's, on what is compiled from any text.
asan:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT="-O1 -g" WERROR=$(WERROR) \
		SAN="-fsanitize=address,undefined -fno-sanitize-recover=all" check-short
THREADS := cpu/results cpu/post cpu/runtime cpu/prepared cpu/split cpu/operators cpu/p2p hosts/group_meet hosts/group_fail
tsan:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT="-O1 -g" WERROR=$(WERROR) \
		SAN="-fsanitize=thread" check-threads
check-threads: $(THREADS:%=$(T)/%_test) $(TEST_MODULES)
	@tests/run.sh \
		"$(T)/cpu/results_test --short $(TEST_MODULES)" \
		"$(T)/cpu/post_test $(T)/modules 300" \
		"$(T)/cpu/runtime_test $(T)/modules" \
		"$(T)/cpu/prepared_test $(T)/modules tests/cpu/layouts" \
		"$(T)/cpu/split_test $(T)/modules tasks" \
		"$(T)/cpu/operators_test $(T)/modules" \
		"$(T)/cpu/p2p_test $(T)/modules tasks" \
		"$(T)/hosts/group_meet_test" \
		"$(T)/hosts/group_fail_test 200"
ANY_TEXT := check/diag lang/fuzz msccl/fuzz lower/good lower/plan plan/prove
ubsan:
	@tests/deps.sh fuzz
	@$(MAKE) --no-print-directory BUILD=build/ubsan CC=clang OPT="-O1 -g -Wno-pass-failed -Wno-unknown-warning-option" \
		WERROR=$(WERROR) SAN="-fsanitize=undefined -fno-sanitize-recover=all" check-any-text
check-any-text: all $(ANY_TEXT:%=$(T)/%_test)
	@tests/run.sh \
		"$(T)/lang/fuzz_test tests/lang/corpus -- tests/check/good tests/lang/mistakes schedules schedules/broken" \
		"$(T)/msccl/fuzz_test 5 2 tests/msccl/good tests/msccl/diag tests/cost/topo/good tests/cost/topo/diag" \
		"$(T)/lower/good_test tests/check/good" \
		"$(T)/check/diag_test tests/check/diag tests/check/good schedules/broken schedules" \
		"$(T)/lower/plan_test library schedules 3 8" \
		"$(T)/lower/plan_test random 100 2" \
		"$(T)/plan/prove_test good tests/check/good" \
		"$(T)/plan/prove_test random 200 2" \
		"$(T)/plan/prove_test alter 4000 2 schedules"
.PHONY: check-threads check-any-text
sanitize: asan tsan ubsan

bless: all $(T)/lang/mistakes_test
	@$(T)/lang/mistakes_test --bless tests/lang/mistakes
	@tests/check/golden_test.sh $(BUILD) --bless
	@for f in tests/lang/format/*.ccs; do $(BIN)/ccc fmt $$f >$${f%.ccs}.txt; done
	@tests/msccl/msccl_test.sh $(BUILD) --bless
	@tests/cost/topo_test.sh $(BUILD) --bless
	@tests/pipe/pipe_test.sh $(BUILD) --bless
	@tests/docs/docs_test.sh $(BUILD) --bless

demo:
	@tests/deps.sh
	@echo "building: about 90 s on one core, and 50 s on two"
	@tests/building.sh $(MAKE) --no-print-directory -j$$(nproc) all
	$(BIN)/ccc schedules/ring_allreduce.ccs -o $(BUILD)/ring_allreduce.so
	$(BIN)/ccrun -n 4 $(BUILD)/ring_allreduce.so

# Coverage-guided fuzzing of the whole checker, for SECONDS (clang's libFuzzer).
# What it finds goes to tests/lang/corpus under a telling name, with its mend.
SECONDS ?= 60
.PHONY: fuzz fuzz-built
fuzz:
	@tests/deps.sh fuzz
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang OPT="-O1 -g" \
		SAN="-fsanitize=fuzzer-no-link,address,undefined" fuzz-built
fuzz-built: $(T)/fuzz
	@mkdir -p $(T)/found
	$(T)/fuzz -max_total_time=$(SECONDS) -timeout=600 -rss_limit_mb=3000 -max_len=4096 \
		-artifact_prefix=$(T)/found/ $(T)/found tests/lang/corpus tests/check/good tests/check/diag schedules
$(T)/fuzz: tests/lang/fuzz_test.c tests/support/command_lines.c $(LIB)/libccc.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DFUZZING -fsanitize=fuzzer -o $@ $^ $(EXPAT) $(ISL) $(LIBS)
