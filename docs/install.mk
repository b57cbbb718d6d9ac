# make install, make uninstall, make examples.
#
#   make install PREFIX=/opt/ccs            under a directory of its own
#   make install DESTDIR=/tmp/stage         for packagers: PREFIX stays in the files
#
# ccc looks for imports in $(PREFIX)/share/ccs/schedules, so PREFIX is part of
# it: changing PREFIX builds the objects that know it again.

INSTALL ?= install
MANDIR ?= $(PREFIX)/share/man

SCHEDULES := $(sort $(wildcard schedules/*.ccs))
MAN1 := docs/ccc.1 docs/ccrun.1
MAN5 := lang/ccs.5

.PHONY: prefix-always
prefix-always:
$(BUILD)/prefix: prefix-always
	@mkdir -p $(@D)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' > $@

$(BUILD)/compiler/options.o: $(BUILD)/prefix

$(BUILD)/ccs.pc: docs/ccs.pc.in $(BUILD)/prefix Makefile
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

.PHONY: install
install: all $(BUILD)/ccs.pc
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
		$(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/ccs/schedules \
		$(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man5
	$(INSTALL) -m 755 $(BIN)/ccc $(BIN)/ccrun $(DESTDIR)$(PREFIX)/bin
	$(INSTALL) -m 644 $(LIB)/libccs.a $(DESTDIR)$(PREFIX)/lib
	$(INSTALL) -m 755 $(LIB)/libccs.so.0 $(DESTDIR)$(PREFIX)/lib
	ln -sf libccs.so.0 $(DESTDIR)$(PREFIX)/lib/libccs.so
	$(INSTALL) -m 644 $(BUILD)/ccs.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
	$(INSTALL) -m 644 runtime/ccs.h $(DESTDIR)$(PREFIX)/include
	$(INSTALL) -m 644 $(SCHEDULES) $(DESTDIR)$(PREFIX)/share/ccs/schedules
	$(INSTALL) -m 644 $(MAN1) $(DESTDIR)$(MANDIR)/man1
	$(INSTALL) -m 644 $(MAN5) $(DESTDIR)$(MANDIR)/man5

# Exactly what install puts there; directories only where nothing else is in them.
.PHONY: uninstall
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ccc $(DESTDIR)$(PREFIX)/bin/ccrun
	rm -f $(DESTDIR)$(PREFIX)/lib/libccs.a $(DESTDIR)$(PREFIX)/lib/libccs.so.0 \
		$(DESTDIR)$(PREFIX)/lib/libccs.so $(DESTDIR)$(PREFIX)/lib/pkgconfig/ccs.pc
	rm -f $(DESTDIR)$(PREFIX)/include/ccs.h
	rm -f $(SCHEDULES:%=$(DESTDIR)$(PREFIX)/share/ccs/%)
	rm -f $(MAN1:docs/%=$(DESTDIR)$(MANDIR)/man1/%) $(MAN5:lang/%=$(DESTDIR)$(MANDIR)/man5/%)
	-rmdir $(DESTDIR)$(PREFIX)/share/ccs/schedules $(DESTDIR)$(PREFIX)/share/ccs

# ---- examples: built and run ---------------------------------------------------

EXAMPLES := load_and_run custom_contract typed_call
EX := $(BUILD)/examples

$(EX)/ring_allreduce.so: schedules/ring_allreduce.ccs $(BIN)/ccc
$(EX)/custom_contract.so: examples/custom_contract.ccs $(BIN)/ccc
$(EX)/%.so:
	@mkdir -p $(@D)
	$(BIN)/ccc $< -o $@

$(EX)/ring_allreduce.h: schedules/ring_allreduce.ccs $(BIN)/ccc
	@mkdir -p $(@D)
	$(BIN)/ccc $< --emit=header -o $@

$(EX)/typed_call: $(EX)/ring_allreduce.h $(EX)/ring_allreduce.so
$(EX)/typed_call: EXLIBS := -L$(EX) -l:ring_allreduce.so
$(EX)/%: examples/%.c runtime/ccs.h $(LIB)/libccs.so
	@mkdir -p $(@D)
	$(CC) -Iruntime -I$(EX) -std=c11 $(OPT) $(SAN) $(WARN) -o $@ $< $(EXLIBS) -L$(LIB) -lccs \
		'-Wl,-rpath,$$ORIGIN:$$ORIGIN/../lib'

.PHONY: examples
examples: $(EXAMPLES:%=$(EX)/%) $(EX)/ring_allreduce.so $(EX)/custom_contract.so
	$(EX)/load_and_run $(EX)/ring_allreduce.so
	$(EX)/custom_contract $(EX)/custom_contract.so
	$(EX)/typed_call
