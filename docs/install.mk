# make install, make uninstall, make examples, make tutorials.
#
#   make install PREFIX=/opt/ccs            under a directory of its own
#   make install LIBDIR=/usr/lib64          a directory of another name; also BINDIR,
#                                           INCLUDEDIR, DATADIR, MANDIR and DOCDIR; or
#                                           all of them in small letters, as GNU has them
#   make install DESTDIR=/tmp/stage         for packagers: PREFIX stays in the files
#
# Paths may have spaces. What is installed may be moved: ccc looks for imports in
# ../share/ccs/schedules, and ccrun for plug-ins in ../lib. Where these have other names, the
# paths of make install are part of the programs, and another one builds some objects again.

INSTALL ?= install

SCHEDULES := $(sort $(wildcard schedules/*.ccs))
MACHINES := $(sort $(wildcard schedules/machines/*.ccs))
PIPELINES := $(sort $(wildcard schedules/pipelines/*.csv))
GENERATE := schedules/pipelines/generate.py
MAN1 := docs/ccc.1 docs/ccrun.1
MAN3 := $(BUILD)/share/man/man3/ccs.3 docs/ccs_comm_split.3
MAN5 := lang/ccs.5 docs/ccs-tuning.5
MAN7 := docs/libccs-mpi.7
DOCS := $(sort $(wildcard docs/*.md docs/*.json docs/course/* docs/pictures/*.svg docs/pictures/library/*.svg))
DIRS := $(PREFIX)|$(BINDIR)|$(LIBDIR)|$(INCLUDEDIR)|$(DATADIR)|$(MANDIR)

.PHONY: prefix-always
prefix-always:
$(BUILD)/prefix: prefix-always
	@mkdir -p $(@D)
	@echo '$(DIRS)' | cmp -s - $@ || echo '$(DIRS)' > $@

$(BUILD)/compiler/options.o $(BUILD)/runtime/base/beside.o: $(BUILD)/prefix

# The C interface has one text, ccs.h. Each function's page is the one that has it.
paren := (
API := $(shell grep -oE '^CCS_API [^$(paren)]*' runtime/ccs.h | grep -oE 'ccs_[a-z0-9_]+$$')
SPLIT := $(shell sed -n '/^ccs_comm_split, /{s/ .-.*//;s/,//g;p;}' docs/ccs_comm_split.3)
$(BUILD)/share/man/man3/ccs.3: docs/ccs.3.in docs/ccs3.awk runtime/ccs.h
	@mkdir -p $(@D)
	awk -f docs/ccs3.awk runtime/ccs.h | sed -e '/^@ccs.h@/{r /dev/stdin' -e 'd;}' docs/ccs.3.in > $@

$(BUILD)/ccs.pc: docs/ccs.pc.in $(BUILD)/prefix Makefile
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@DATADIR@|$(DATADIR)|' \
		-e 's|@VERSION@|$(VERSION)|' -e 's|^\([a-z]*\)=$(PREFIX)/|\1=$${prefix}/|' $< > $@

# Where things go, for the shell.
TO_BIN := "$(DESTDIR)$(BINDIR)"
TO_LIB := "$(DESTDIR)$(LIBDIR)"
TO_PC := "$(DESTDIR)$(LIBDIR)/pkgconfig"
TO_INCLUDE := "$(DESTDIR)$(INCLUDEDIR)"
TO_DATA := "$(DESTDIR)$(DATADIR)/ccs"
TO_MAN := "$(DESTDIR)$(MANDIR)"
TO_SHARE := "$(DESTDIR)$(DATADIR)"
TO_DOC := "$(DESTDIR)$(DOCDIR)"

.PHONY: install
install: all editors $(BUILD)/ccs.pc
	$(INSTALL) -d $(TO_BIN) $(TO_LIB) $(TO_PC) $(TO_INCLUDE) $(TO_DATA)/schedules/pipelines $(TO_DATA)/schedules/machines \
		$(TO_MAN)/man1 $(TO_MAN)/man3 $(TO_MAN)/man5 $(TO_MAN)/man7
	$(INSTALL) -m 755 $(BIN)/ccc $(BIN)/ccrun $(TO_BIN)
	$(INSTALL) -m 644 $(LIB)/libccs.a $(TO_LIB)
	$(INSTALL) -m 755 $(LIB)/libccs.so.0 $(TO_LIB)
	ln -sf libccs.so.0 $(TO_LIB)/libccs.so
	$(if $(MPICC),$(INSTALL) -m 755 $(MPI_PLUGIN) $(MPI_PRELOAD) $(TO_LIB))
	$(INSTALL) -d $(TO_LIB)/ccs
	$(INSTALL) -m 644 $(DEFAULT_TUNING) $(TO_LIB)/ccs
	$(INSTALL) -m 755 $(DEFAULT_MODULES) $(TO_LIB)/ccs
	$(INSTALL) -m 644 $(BUILD)/ccs.pc $(TO_PC)
	$(INSTALL) -m 644 runtime/ccs.h $(TO_INCLUDE)
	$(INSTALL) -m 644 $(SCHEDULES) $(TO_DATA)/schedules
	$(INSTALL) -m 644 $(MACHINES) $(TO_DATA)/schedules/machines
	$(INSTALL) -m 644 $(PIPELINES) $(TO_DATA)/schedules/pipelines
	$(INSTALL) -m 755 $(GENERATE) $(TO_DATA)/schedules/pipelines
	$(INSTALL) -m 644 $(MAN1) $(TO_MAN)/man1
	$(INSTALL) -m 644 $(MAN3) $(TO_MAN)/man3
	$(INSTALL) -m 644 $(MAN5) $(TO_MAN)/man5
	$(INSTALL) -m 644 $(MAN7) $(TO_MAN)/man7
	for f in $(filter-out $(SPLIT),$(API)); do \
		echo '.so man3/ccs.3' >$(TO_MAN)/man3/$$f.3 || exit 1; \
	done
	for f in $(filter-out ccs_comm_split,$(SPLIT)); do \
		echo '.so man3/ccs_comm_split.3' >$(TO_MAN)/man3/$$f.3 || exit 1; \
	done
	for f in README.md LICENSE $(DOCS); do \
		$(INSTALL) -D -m 644 $$f $(TO_DOC)/$$f || exit 1; \
	done
	for f in $(EDITOR_FILES); do \
		$(INSTALL) -D -m 644 $(SHARE)/$$f $(TO_SHARE)/$$f || exit 1; \
	done

# The pictures in the documents.
.PHONY: pictures
pictures: $(BIN)/ccc
	docs/pictures.sh $(BIN)/ccc docs

# What pip installs: build/dist/ccs-VERSION-py3-none-PLATFORM.whl
.PHONY: wheel
wheel: all editors
	@tests/deps.sh wheel
	@python/wheel.sh $(BUILD) $(BUILD)/dist

# Exactly what install puts there; and of folders those that are empty then: ours everywhere, and
# any in a PREFIX that is no system's.
OUR_FOLDERS := $(TO_LIB)/ccs $(TO_DATA)/schedules/pipelines $(TO_DATA)/schedules/machines $(TO_DATA)/schedules $(TO_DOC)/docs/course $(TO_DOC)/docs/pictures/library $(TO_DOC)/docs/pictures \
	$(TO_DOC)/docs $(TO_DOC) \
	$(addprefix $(TO_DATA)/,vscode/syntaxes vscode tree-sitter-ccs/queries tree-sitter-ccs) $(TO_DATA) \
	$(VIM:%=$(TO_SHARE)/vim/vimfiles/%) $(TO_SHARE)/vim/vimfiles $(TO_SHARE)/vim
FOLDERS := $(TO_BIN) $(TO_PC) $(TO_LIB) $(TO_INCLUDE) $(patsubst %,$(TO_MAN)/man%,1 3 5 7) \
	$(addprefix $(TO_SHARE)/,doc emacs/site-lisp bash-completion/completions zsh/site-functions \
	fish/vendor_completions.d)
.PHONY: uninstall
uninstall:
	rm -f $(TO_BIN)/ccc $(TO_BIN)/ccrun
	rm -f $(TO_LIB)/libccs.a $(TO_LIB)/libccs.so.0 $(TO_LIB)/libccs.so $(TO_PC)/ccs.pc
	rm -f $(TO_LIB)/libccs_mpi.so $(TO_LIB)/libccs-mpi.so
	rm -f $(TO_LIB)/ccs/default.tuning $(foreach m,$(notdir $(DEFAULT_MODULES)),$(TO_LIB)/ccs/$(m))
	rm -f $(TO_INCLUDE)/ccs.h
	rm -f $(foreach f,$(SCHEDULES) $(MACHINES) $(PIPELINES) $(GENERATE),$(TO_DATA)/$(f))
	rm -f $(MAN1:docs/%=$(TO_MAN)/man1/%) $(foreach p,$(notdir $(MAN5)),$(TO_MAN)/man5/$(p))
	rm -f $(MAN7:docs/%=$(TO_MAN)/man7/%) $(patsubst %,$(TO_MAN)/man3/%.3,ccs $(API))
	for f in $(EDITOR_FILES); do rm -f $(TO_SHARE)/$$f; done
	for f in README.md LICENSE $(DOCS); do rm -f $(TO_DOC)/$$f; done
	@rmdir $(OUR_FOLDERS) 2>/dev/null || :
	@prefix="$(DESTDIR)$(PREFIX)"; case "$(PREFIX)" in "" | / | /usr | /usr/local) exit ;; esac; \
	for folder in $(FOLDERS); do \
		while case $$folder in "$$prefix" | "$$prefix"/*) rmdir "$$folder" ;; *) false ;; esac 2>/dev/null; do \
			folder=$${folder%/*}; \
		done; \
	done

# ---- examples: built, and run where their modules are -----------------------------

EXAMPLES := load_and_run custom_contract typed_call check_any
EX := $(BUILD)/examples

$(EX)/ar.so $(EX)/ring_allreduce.h: schedules/ring_allreduce.ccs
$(EX)/custom_contract.so: examples/custom_contract.ccs
$(EX)/%.so: $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $(filter %.ccs,$^) -o $@
$(EX)/%.h: $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $(filter %.ccs,$^) --emit=header -o $@

$(EX)/typed_call: $(EX)/ring_allreduce.h $(EX)/ar.so
$(EX)/typed_call: EXLIBS := -L$(EX) -l:ar.so
$(EX)/%: examples/%.c runtime/ccs.h $(LIB)/libccs.so
	@mkdir -p $(@D)
	$(CC) -Iruntime -I$(EX) -std=c11 $(OPT) $(SAN) $(WARN) -o $@ $< $(EXLIBS) -L$(LIB) -lccs \
		'-Wl,-rpath,$$ORIGIN:$$ORIGIN/../lib'

# The tutorials: a program each, with their modules beside them.
TUT := $(EX)/tutorials
TUTORIALS := $(filter-out tutorial,$(patsubst examples/tutorials/%.c,%,$(sort \
	$(wildcard examples/tutorials/*.c))))
TUTORIAL_SCHEDULES := $(wildcard examples/tutorials/*.ccs) $(addprefix schedules/,\
	binomial_broadcast.ccs binomial_gather.ccs binomial_reduce.ccs binomial_scatter.ccs \
	dissemination_barrier.ccs fixed_order_allreduce.ccs pairwise_all_to_all.ccs \
	recursive_doubling_allreduce.ccs ring_allgather.ccs ring_allreduce.ccs \
	ring_reduce_scatter.ccs)
TUTORIAL_MODULES := $(patsubst %.ccs,$(TUT)/%.so,$(notdir $(TUTORIAL_SCHEDULES)))

TUTORIAL_RANKS := 2,4
$(TUT)/pass_on.so: TUTORIAL_RANKS := 3,4
$(TUT)/ring_allreduce.so: TUTORIAL_RANKS := 2,3,4,8
$(TUT)/switch_allreduce.so: TUTORIAL_RANKS := 5
$(TUT)/ordered_ring.so: TUTORIAL_WARNS := -Wno-serial # it shows the chain
COMPILE_TUTORIAL = mkdir -p $(@D) && $(BIN)/ccc $< -n $(TUTORIAL_RANKS) $(TUTORIAL_WARNS) --target=cpu -o $@
$(TUT)/%.so: schedules/%.ccs $(BIN)/ccc docs/install.mk
	@$(COMPILE_TUTORIAL)
$(TUT)/%.so: examples/tutorials/%.ccs $(BIN)/ccc docs/install.mk
	@$(COMPILE_TUTORIAL)
$(TUT)/%: examples/tutorials/%.c examples/tutorials/tutorial.c examples/tutorials/tutorial.h \
		runtime/ccs.h $(LIB)/libccs.so
	@mkdir -p $(@D)
	$(CC) -Iruntime -std=c11 $(OPT) $(SAN) $(WARN) -o $@ $(filter %.c,$^) -L$(LIB) -lccs -lm \
		'-Wl,-rpath,$$ORIGIN/../../lib'

.PHONY: examples tutorials
tutorials: $(TUTORIALS:%=$(TUT)/%) $(TUTORIAL_MODULES)
	cd $(TUT) && for tutorial in $(TUTORIALS); do ./$$tutorial || exit 1; done

examples: $(EXAMPLES:%=$(EX)/%) $(EX)/ar.so $(EX)/custom_contract.so tutorials
	cd $(EX) && ./load_and_run
	cd $(EX) && ./custom_contract
	cd $(EX) && ./typed_call
	cd $(EX) && ./check_any
