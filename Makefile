# ccs: a schedule compiler for collectives. Targets: make help
#
# Everything that is made lies under build/. Sources are found by wildcard, so a
# new pass is a new file and nothing else.

CC ?= cc
BUILD ?= build
# Directories have GNU's names, too, on the command line: prefix=/usr would else be ignored unseen.
given = $(if $(findstring command,$(origin $(1))),$($(1)),$(2))
PREFIX ?= $(call given,prefix,/usr/local)
BINDIR ?= $(call given,bindir,$(PREFIX)/bin)
LIBDIR ?= $(call given,libdir,$(PREFIX)/lib)
INCLUDEDIR ?= $(call given,includedir,$(PREFIX)/include)
DATADIR ?= $(call given,datadir,$(PREFIX)/share)
MANDIR ?= $(call given,mandir,$(DATADIR)/man)
DOCDIR ?= $(call given,docdir,$(DATADIR)/doc/ccs)
DESTDIR ?=
VERSION := 0.1.0
WERROR ?=
OPT ?= -O2 -g
SAN ?=

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wswitch-enum $(WERROR)
CPPFLAGS += -I. -I$(BUILD) -D_GNU_SOURCE -DCCS_VERSION='"$(VERSION)"' \
	-DCCS_LIBRARY_DIR='"$(DATADIR)/ccs/schedules"' -DCCS_PLUGIN_DIR='"$(LIBDIR)"'
CFLAGS += -std=c11 $(OPT) $(SAN) -fvisibility=hidden -fPIC
LDFLAGS += $(SAN)
# The compiler of an MPI, for the plug-in; first that of MPI 5's ABI, which other libraries have,
# too. MPICC= (empty): no plug-in.
ifeq ($(origin MPICC),undefined)
MPICC := $(firstword $(foreach c,mpicc_abi mpicc,\
	$(shell $(c) -include mpi.h -x c -E /dev/null >/dev/null 2>&1 && echo $(c))))
endif
# And that for what is preloaded into MPI's programs, which are made by mpicc.
MPICC_PRELOAD ?= $(MPICC:mpicc_abi=mpicc)
LIBS := -ljansson -lpthread -ldl -lm
# Generated scanners and parsers keep to fewer warnings: the code is not ours.
GENWARN := -Wall -Wno-unused-function -Wno-sign-conversion $(WERROR)

# Libraries without which all else is built: isl, for proofs for every N (compiler/every/), and expat,
# for XML. They are there if their headers are. ISL= (empty): none.
library = $(if $(shell $(CC) $(CPPFLAGS) -include $(1) -x c -E /dev/null >/dev/null 2>&1 && echo 1),$(2))
ifeq ($(origin ISL),undefined)
ISL := $(call library,isl/ctx.h,-lisl)
endif
ifeq ($(origin EXPAT),undefined)
EXPAT := $(call library,expat.h,-lexpat)
endif
CPPFLAGS += $(if $(ISL),-DCCS_HAVE_ISL)

LANG_SRC := $(sort $(wildcard lang/*.c lang/*/*.c))
COMPILER_SRC := $(sort $(filter-out compiler/ccc.c \
	compiler/xml/$(if $(EXPAT),unread,xml).c,$(wildcard compiler/*.c compiler/*/*.c compiler/*/*/*.c)))
RUNTIME_SRC := $(sort $(filter-out runtime/ccrun/%.c runtime/preload/%.c runtime/mpi/plugin.c, \
	$(wildcard runtime/*.c runtime/*/*.c runtime/*/*/*.c)))
PRELOAD_SRC := $(sort $(wildcard runtime/preload/*.c))
CCRUN_SRC := $(sort $(wildcard runtime/ccrun/*.c runtime/ccrun/*/*.c))

LANG_OBJ := $(LANG_SRC:%.c=$(BUILD)/%.o) $(BUILD)/lang/parse.o $(BUILD)/lang/scan.o $(BUILD)/lang/prelude.o
COMPILER_OBJ := $(COMPILER_SRC:%.c=$(BUILD)/%.o) $(addprefix $(BUILD)/compiler/,emit/device_source.o \
	explain/parts.o)
RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(BUILD)/%.o)
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(BUILD)/%.o)
CCRUN_OBJ := $(CCRUN_SRC:%.c=$(BUILD)/%.o)

BIN := $(BUILD)/bin
LIB := $(BUILD)/lib
MPI_PLUGIN := $(LIB)/libccs_mpi.so
MPI_PRELOAD := $(LIB)/libccs-mpi.so
# The tuning that comes with ccs, and the modules that it names (ccs-tuning(5)).
DEFAULT_TUNING := $(LIB)/ccs/default.tuning
DEFAULT_MODULES := $(addprefix $(LIB)/ccs/,$(sort $(filter %.so,$(shell awk '/^[0-9r]/ { print $$2 }' \
	schedules/default.tuning))))

.DELETE_ON_ERROR:
.PHONY: all
all: $(BIN)/ccc $(BIN)/ccrun $(LIB)/libccs.so $(LIB)/libccs.a \
	$(if $(MPICC),$(MPI_PLUGIN) $(MPI_PRELOAD),no-mpi) $(DEFAULT_TUNING) \
	$(BUILD)/share/man/man3/ccs.3 $(BUILD)/share/ccs/schedules

# Programs look for the library beside themselves, here as where it is installed.
$(BUILD)/share/ccs/schedules:
	@mkdir -p $(@D)
	ln -sr schedules $@

# ---- the front end's generated parts -----------------------------------------

$(BUILD)/lang/parse.c $(BUILD)/lang/parse.h &: lang/parse.y
	@mkdir -p $(@D)
	bison -Wall -Wcounterexamples -Werror --defines=$(BUILD)/lang/parse.h -o $(BUILD)/lang/parse.c $<

$(BUILD)/lang/scan.c $(BUILD)/lang/scan.h &: lang/scan.l
	@mkdir -p $(@D)
	flex -Cfe --header-file=$(BUILD)/lang/scan.h -o $(BUILD)/lang/scan.c $<

# Files as C arrays: $(call c_array,NAME,COMMAND that prints the text). A ?? would begin a trigraph.
c_array = { echo 'extern const char $(1)[];'; echo 'const char $(1)[] ='; \
	$(2) | sed -e 's/[\\"?]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/'; echo ';'; }

$(BUILD)/lang/prelude.c: lang/prelude.ccs
	@mkdir -p $(@D)
	$(call c_array,lang_prelude,cat $<) > $@

# The device header: no include path is needed to compile a kernel.
DEVICE_SRC := runtime/cuda/device/args.h runtime/plan/rows.h runtime/plan/narrow.h \
	$(addprefix runtime/cuda/device/,memory.h element.h block.h times.h wait.h ll.h move.h step.h)
$(BUILD)/compiler/emit/device_source.c: $(DEVICE_SRC)
	@mkdir -p $(@D)
	$(call c_array,device_source,for f in $^; do echo "#line 1 \"$${f##*/}\""; cat $$f; done) > $@

# Style sheets, markers and the script of what ccc explain draws: svg.css is svg_css.
PARTS_OF_PICTURES := $(wildcard compiler/draw/*.css compiler/draw/*.svg compiler/explain/*.js)
$(BUILD)/compiler/explain/parts.c: $(PARTS_OF_PICTURES)
	@mkdir -p $(@D)
	{ $(foreach f,$^,$(call c_array,$(subst .,_,$(notdir $f)),cat $f);) } > $@

$(BUILD)/lang/parse.o $(BUILD)/lang/scan.o: $(BUILD)/%.o: $(BUILD)/%.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(GENWARN) -MMD -MP -c -o $@ $<
$(addprefix $(BUILD)/,lang/prelude.o compiler/emit/device_source.o compiler/explain/parts.o): %.o: %.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(LANG_OBJ): | $(BUILD)/lang/parse.h $(BUILD)/lang/scan.h

# ---- objects, libraries, programs ---------------------------------------------

# A system that cannot be built for is refused once, in words, before anything else.
$(BUILD)/system.ok: runtime/ccs.h
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fsyntax-only -x c $<
	@touch $@
$(LANG_OBJ): | $(BUILD)/system.ok

$(BUILD)/%.o: %.c | $(BUILD)/system.ok
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

# What ccc and libccs do alike: reading plans, proving them, and what both stand on.
COMMON_OBJ := $(filter $(BUILD)/runtime/base/% $(BUILD)/runtime/plan/%,$(RUNTIME_OBJ))

# A library that has come, or gone, since ccc was built.
.PHONY: libraries-always
libraries-always:
$(BUILD)/libraries: libraries-always
	@mkdir -p $(@D)
	@echo '$(ISL) $(EXPAT)' | cmp -s - $@ || echo '$(ISL) $(EXPAT)' > $@
$(filter $(BUILD)/compiler/every/%,$(COMPILER_OBJ)): $(BUILD)/libraries

# Files of two folders may have one name: hence q, not r.
$(LIB)/libccc.a: $(LANG_OBJ) $(COMPILER_OBJ) $(COMMON_OBJ) $(BUILD)/libraries
	@mkdir -p $(@D)
	rm -f $@ && ar qcsD $@ $(filter %.o,$^)

$(LIB)/libccs.a: $(RUNTIME_OBJ)
	@mkdir -p $(@D)
	rm -f $@ && ar qcsD $@ $^

$(LIB)/libccs.so.0: $(RUNTIME_OBJ) runtime/libccs.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libccs.so.0 -Wl,--version-script=runtime/libccs.map \
		$(if $(SAN),,-Wl,-z,defs) -o $@ $(RUNTIME_OBJ) -lpthread -ldl -lm
$(LIB)/libccs.so: $(LIB)/libccs.so.0
	ln -sf libccs.so.0 $@

# What knows an MPI's headers. MPI's compilers are wrappers: they get ours.
OF_MPI := $(MPI_PLUGIN) $(BUILD)/runtime/mpi/plugin.o $(MPI_PRELOAD) $(PRELOAD_OBJ)
$(OF_MPI): export OMPI_CC = $(CC)
$(OF_MPI): export MPICH_CC = $(CC)
$(BUILD)/runtime/mpi/plugin.o: runtime/mpi/plugin.c $(BUILD)/mpicc | $(BUILD)/system.ok
	@mkdir -p $(@D)
	$(MPICC) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<
$(MPI_PLUGIN): $(BUILD)/runtime/mpi/plugin.o
	@mkdir -p $(@D)
	$(MPICC) $(LDFLAGS) -shared -o $@ $<
$(PRELOAD_OBJ): $(BUILD)/%.o: %.c $(BUILD)/mpicc | $(BUILD)/system.ok
	@mkdir -p $(@D)
	$(MPICC_PRELOAD) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<
$(MPI_PRELOAD): $(PRELOAD_OBJ) $(LIB)/libccs.so.0
	@mkdir -p $(@D)
	$(MPICC_PRELOAD) $(LDFLAGS) -shared -Wl,-rpath,'$$ORIGIN' -o $@ $(PRELOAD_OBJ) -L$(LIB) \
		-l:libccs.so.0 -lpthread -ldl
.PHONY: mpicc-always no-mpi
mpicc-always:
$(BUILD)/mpicc: mpicc-always
	@mkdir -p $(@D)
	@echo '$(MPICC) $(MPICC_PRELOAD)' | cmp -s - $@ || echo '$(MPICC) $(MPICC_PRELOAD)' > $@
no-mpi:
	@echo 'without the plug-in for MPI, and libccs-mpi: there is no mpicc'

# All numbers of ranks that the tuning is for.
$(DEFAULT_MODULES): $(LIB)/ccs/%.so: schedules/%.ccs $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $< -n 2..16 --target=cpu -o $@
$(DEFAULT_TUNING): schedules/default.tuning $(DEFAULT_MODULES)
	cp $< $@

$(BIN)/ccc: $(BUILD)/compiler/ccc.o $(LIB)/libccc.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(EXPAT) $(ISL) $(LIBS)

# The language, for expressions of --fill and --sizes: what ccrun needs of it is in an archive.
$(BUILD)/lang/lang.a: $(LANG_OBJ)
	rm -f $@ && ar qcsD $@ $^
$(BIN)/ccrun: $(CCRUN_OBJ) $(LIB)/libccs.a $(BUILD)/lang/lang.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

-include editors/editors.mk docs/install.mk tests/tests.mk bench/bench.mk

-include $(shell find $(BUILD) -name '*.d' -type f 2>/dev/null)

.PHONY: clean
clean:
	rm -rf $(BUILD)

# ---- upkeep --------------------------------------------------------------------

# One version of clang-format, or its mind changes: deps.sh fetches it as a wheel.
WHEEL_FORMAT := build/wheels/lib/python3/site-packages/clang_format/data/bin/clang-format
C_FILES = $(sort $(foreach d,lang compiler runtime editors examples bench tests,$(shell find $(d) -name '*.[ch]')))

.PHONY: format format-built lint help
format:
	@tests/deps.sh format
	@$(MAKE) --no-print-directory -j$$(nproc) format-built
format-built: $(BIN)/ccc
	@command -v "$${CLANG_FORMAT:-$(WHEEL_FORMAT)}" >/dev/null || { \
		echo 'make format: there is no clang-format, and it could not be fetched; CLANG_FORMAT=PATH names one' >&2; \
		exit 1; }
	@"$${CLANG_FORMAT:-$(WHEEL_FORMAT)}" -i $(C_FILES)
	for f in schedules/*.ccs schedules/broken/*.ccs schedules/machines/*.ccs examples/*.ccs \
		examples/tutorials/*.ccs; do $(BIN)/ccc fmt -i $$f; done

lint:
	cppcheck --quiet --std=c11 --enable=warning,portability --error-exitcode=1 -I. \
		--suppress=missingIncludeSystem lang compiler runtime

help:
	@echo 'make            ccc, ccrun and libccs, under build/ (needs no network)'
	@echo 'make demo       installs what is missing, builds, compiles and runs a schedule'
	@echo 'make check      installs what is missing, builds, runs all tests'
	@echo 'make check-PART the tests of one part: $(PARTS)'
	@echo 'make check-long what is long and rare to fail, beside make check: minutes'
	@echo 'make coverage   which suites enter which source: tests/COVERAGE.md'
	@echo 'make sanitize   a shorter selection under ASan, UBSan and TSan (asan, tsan: one)'
	@echo 'make bench      prints the tables of measurements'
	@echo 'make machine    fits the constants of this machine to times of ccrun, as a topology'
	@echo 'make default-tuning  measures the tuning that comes with ccs, schedules/default.tuning, anew'
	@echo 'make bench-gpu  checks and measures all on the first GPU; bench/results/'
	@echo 'make fuzz       fuzzes the checker for SECONDS=60'
	@echo 'make mutants    changes the compiler in 200 places; the tests must see 95 in 100'
	@echo 'make bless      renews the golden messages; read their diff'
	@echo 'make examples   builds examples/ and runs them; make tutorials: examples/tutorials/ alone'
	@echo 'make pictures   the pictures in the documents, by ccc explain'
	@echo 'make editors    grammars for editors, completions for shells: docs/editors.md'
	@echo '                MPICC=...: with which MPI the plug-in for --against mpi is built,'
	@echo '                and libccs-mpi.so; MPICC_PRELOAD=...: another one for this'
	@echo 'make install    to PREFIX=/usr/local (or BINDIR, LIBDIR, INCLUDEDIR, DATADIR, MANDIR, DOCDIR),'
	@echo '                below DESTDIR; make uninstall takes it back'
	@echo 'make wheel      ccc, ccrun, libccs and the package for Python, for pip: build/dist/'
	@echo 'make format, lint, clean'
