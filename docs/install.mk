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
	@rmdir $(DESTDIR)$(PREFIX)/share/ccs/schedules $(DESTDIR)$(PREFIX)/share/ccs 2>/dev/null || :

# ---- examples: built, and run where their modules are -----------------------------

EXAMPLES := load_and_run custom_contract typed_call
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

.PHONY: examples
examples: $(EXAMPLES:%=$(EX)/%) $(EX)/ar.so $(EX)/custom_contract.so
	cd $(EX) && ./load_and_run
	cd $(EX) && ./custom_contract
	cd $(EX) && ./typed_call
