# Measurements: never part of a test. `make bench` prints the tables;
# `make bench-gpu` checks and measures on the first GPU, into bench/results/.

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(LIB)/libccc.a $(LIB)/libccs.a
	$(CC) $(LDFLAGS) -o $@ $^ $(EXPAT) $(ISL) $(LIBS)
.SECONDARY: $(BUILD)/bench/check_bench.o $(BUILD)/bench/cpu_bench.o $(BUILD)/bench/trace_bench.o

# A program of MPI's, for libccs-mpi.so.
MPI_LOOP := $(if $(MPICC),$(BUILD)/bench/mpi_loop) $(patsubst %,$(BUILD)/tests/mpis/%/mpi_loop,$(filter openmpi5,$(MPIS)))
$(BUILD)/bench/mpi_loop: export OMPI_CC = $(CC)
$(BUILD)/bench/mpi_loop: export MPICH_CC = $(CC)
$(BUILD)/bench/mpi_loop: bench/mpi_loop.c $(BUILD)/mpicc
	@mkdir -p $(@D)
	$(MPICC_PRELOAD) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -o $@ $< $(LDFLAGS)
$(BUILD)/tests/mpis/%/mpi_loop: bench/mpi_loop.c
	@$(COMPILE_MPIS) -o $@ $<

CPU_MODULES := $(patsubst %,$(BUILD)/bench/cpu/%.so,recursive_doubling_allreduce \
	direct_allreduce fixed_order_allreduce ring_allreduce halving_doubling_allreduce)
$(CPU_MODULES): $(BUILD)/bench/cpu/%.so: schedules/%.ccs $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $< -n 2,8 --target=cpu -o $@

.PHONY: bench
bench: all $(MPI_LOOP) $(MPIS:%=$(BUILD)/tests/mpis/%/libccs-mpi.so) $(BUILD)/bench/check_bench $(BUILD)/bench/cpu_bench $(BUILD)/bench/trace_bench $(CPU_MODULES) $(FAKE_CUDA)
	$(BUILD)/bench/check_bench
	bench/commands.sh $(BUILD)
	$(BUILD)/bench/cpu_bench -n 2 $(CPU_MODULES)
	$(BUILD)/bench/cpu_bench -n 8 $(CPU_MODULES)
	$(BUILD)/bench/trace_bench $(BUILD)/bench/cpu/ring_allreduce.so 2
	$(BUILD)/bench/trace_bench $(BUILD)/bench/cpu/ring_allreduce.so 8
	bench/mpi.sh $(BUILD)
	bench/ptx.sh $(BUILD)

# The constants of this machine as a topology for ccc simulate, fitted to times of ccrun: minutes. Others: see
# the head of machine.py.
.PHONY: machine
machine: all
	@python3 bench/machine.py $(BUILD)

# Measures schedules/default.tuning anew, which comes with ccs.
.PHONY: default-tuning
default-tuning: all
	bench/default_tuning.sh $(BUILD)

# What gpu.sh runs: may be made on another machine than the GPU's. GPU_ARCH: whose
# kernels are made ahead, where there is NVRTC; for another GPU they are made there.
GPU_ARCH ?= sm_90
GPU_MODULES := $(patsubst schedules/%.ccs,$(BUILD)/bench/gpu/%.so,$(wildcard schedules/*.ccs))
# The same without straight-line code (compiler/emit/cuda.c), to see what that is worth.
GPU_TABLES := $(patsubst %,$(BUILD)/bench/gpu/table/%.so,direct_allreduce ring_allreduce)

gpu_module = $(1) $(2) --target=cpu,cuda --arch=$(GPU_ARCH) -o $(3) 2>$(3).log || \
	$(1) $(2) -o $(3)
$(GPU_MODULES): $(BUILD)/bench/gpu/%.so: schedules/%.ccs $(BIN)/ccc
	@mkdir -p $(@D)
	admitted=$$(tests/admitted.sh $(BIN)/ccc $<); $(call gpu_module,$(BIN)/ccc,$< $$admitted,$@)
$(GPU_TABLES): $(BUILD)/bench/gpu/table/%.so: schedules/%.ccs $(BUILD)/bench/ccc_table
	@mkdir -p $(@D)
	$(call gpu_module,$(BUILD)/bench/ccc_table,$< -n 2..8,$@)
$(BUILD)/bench/cuda_table.o: compiler/emit/cuda.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DLINE_OPS=0 -MMD -MP -c -o $@ $<
$(BUILD)/bench/ccc_table: $(BUILD)/compiler/ccc.o $(BUILD)/bench/cuda_table.o $(LIB)/libccc.a
	$(CC) $(LDFLAGS) -o $@ $^ $(EXPAT) $(ISL) $(LIBS)
$(BUILD)/bench/gpu_hand: $(BUILD)/bench/gpu_hand.o $(BUILD)/runtime/ccrun/gpu/cuda_calls.o $(LIB)/libccs.a
	$(CC) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

# The kernels by hand, for a machine without NVRTC; which commit all of it is of; and libraries that
# one without a compiler may lack.
$(BUILD)/bench/gpu_hand.cubin: bench/gpu_hand.cu $(BUILD)/bench/gpu_hand
	$(BUILD)/bench/gpu_hand --compile $(GPU_ARCH) $< $@ 2>$@.log || rm -f $@
$(BUILD)/bench/lib: $(BIN)/ccrun
	@rm -rf $@ && mkdir -p $@
	cp $$(ldd $< | sed -n 's/.*=> \(.*libjansson[^ ]*\) .*/\1/p') $@

.PHONY: bench-gpu bench-gpu-files bench-gpu-pack
bench-gpu-files: all $(BUILD)/bench/gpu_hand $(GPU_MODULES) $(GPU_TABLES) \
		$(BUILD)/bench/gpu_hand.cubin $(BUILD)/bench/lib
	@git rev-parse --short HEAD >$(BUILD)/bench/commit 2>/dev/null || true
# All that gpu.sh needs on a machine with a driver alone: unpacked there, bench/gpu.sh runs.
bench-gpu-pack: bench-gpu-files
	tar -czf $(BUILD)/bench/gpu.tar.gz --transform='s,^$(BUILD)/,build/,' bench/gpu.sh bench/gpu_page.sh \
		bench/gpu_machine.sh bench/gpu_fit.sh bench/gpu_hand.cu bench/results/README.md $(BIN)/ccrun \
		$$(ls -d $(addprefix $(BUILD)/bench/,gpu gpu_hand gpu_hand.cubin lib commit) 2>/dev/null)
bench-gpu:
	bench/gpu.sh --build $(BUILD)
