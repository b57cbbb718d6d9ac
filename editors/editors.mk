# make editors: grammars for editors from the table of words (lang/keywords.c), and completions
# for shells from the tables of options, below $(BUILD)/share as they are installed.

SHARE := $(BUILD)/share
FILL := $(BUILD)/editors/fill
VIM := syntax ftdetect ftplugin

EDITOR_FILES := $(VIM:%=vim/vimfiles/%/ccs.vim) \
	emacs/site-lisp/ccs-mode.el \
	ccs/vscode/package.json ccs/vscode/extension.js ccs/vscode/language-configuration.json \
	ccs/vscode/syntaxes/ccs.tmLanguage.json \
	ccs/tree-sitter-ccs/grammar.js ccs/tree-sitter-ccs/tree-sitter.json \
	ccs/tree-sitter-ccs/queries/highlights.scm \
	$(foreach c,ccc ccrun,bash-completion/completions/$(c) zsh/site-functions/_$(c) \
		fish/vendor_completions.d/$(c).fish)

.PHONY: editors
editors: $(EDITOR_FILES:%=$(SHARE)/%)

$(FILL): $(BUILD)/editors/fill.o $(LIB)/libccc.a
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(EXPAT) $(ISL) $(LIBS)

# Which template makes a file.
define filled
$(SHARE)/$(1): editors/$(2) $(FILL)
	@mkdir -p $$(@D)
	$(FILL) $$< >$$@
endef
$(foreach f,$(VIM),$(eval $(call filled,vim/vimfiles/$(f)/ccs.vim,vim/$(f).vim.in)))
$(eval $(call filled,emacs/site-lisp/ccs-mode.el,emacs/ccs-mode.el.in))
$(eval $(call filled,ccs/vscode/package.json,vscode/package.json.in))
$(eval $(call filled,ccs/vscode/language-configuration.json,vscode/language-configuration.json.in))
$(eval $(call filled,ccs/vscode/syntaxes/ccs.tmLanguage.json,vscode/ccs.tmLanguage.json.in))
$(eval $(call filled,ccs/tree-sitter-ccs/grammar.js,tree-sitter/grammar.js.in))
$(eval $(call filled,ccs/tree-sitter-ccs/tree-sitter.json,tree-sitter/tree-sitter.json.in))
$(eval $(call filled,ccs/tree-sitter-ccs/queries/highlights.scm,tree-sitter/highlights.scm.in))

$(SHARE)/ccs/vscode/extension.js: editors/vscode/extension.js
	@mkdir -p $(@D)
	cp $< $@

# completion COMMAND, FILES: what it takes ends in .FILES
define completion
$(BUILD)/editors/$(1).options: $(BIN)/$(1)
	@mkdir -p $$(@D)
	$(BIN)/$(1) --options >$$@
$(SHARE)/bash-completion/completions/$(1): OF_SHELL := bash
$(SHARE)/zsh/site-functions/_$(1): OF_SHELL := zsh
$(SHARE)/fish/vendor_completions.d/$(1).fish: OF_SHELL := fish
$(SHARE)/bash-completion/completions/$(1) $(SHARE)/zsh/site-functions/_$(1) \
$(SHARE)/fish/vendor_completions.d/$(1).fish: editors/completion.awk $(BUILD)/editors/$(1).options
	@mkdir -p $$(@D)
	awk -f editors/completion.awk -v command=$(1) -v files=$(2) -v shell=$$(OF_SHELL) \
		$(BUILD)/editors/$(1).options >$$@
endef
$(eval $(call completion,ccc,ccs))
$(eval $(call completion,ccrun,so))
