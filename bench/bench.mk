# Measurements: never part of a test. `make bench` prints the tables.

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(LIB)/libccc.a $(LIB)/libccs.a
	$(CC) $(LDFLAGS) -o $@ $^ -ljansson -lpthread -ldl -lm
.SECONDARY: $(BUILD)/bench/check_bench.o

.PHONY: bench
bench: all $(BUILD)/bench/check_bench
	$(BUILD)/bench/check_bench
	bench/commands.sh $(BUILD)
