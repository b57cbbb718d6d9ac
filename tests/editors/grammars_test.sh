#!/bin/sh
# Grammars for editors are made of the compiler's words, and work: Vim, Emacs and node run what
# they have.   usage: grammars_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
share=$build/share
tree=$share/ccs/tree-sitter-ccs
vim=$share/vim/vimfiles
json=$share/ccs/vscode/syntaxes/ccs.tmLanguage.json

# ---- all words, as the reference has them ---------------------------------------------------
sed -n '/^Reserved:/,/^After /p' lang/ccs.5 | sed 's/^Reserved://; s/\\fB//g; s/\\fR.*//; /^After/d' |
	tr -s ' ' '\n' | grep . | sort >"$tmp/words"
sed -n '/^Built-in functions:/,/^Names:/s/^\\fB\([a-z0-9]*\)(.*/\1/p' lang/ccs.5 >"$tmp/functions"
sed -n 's/^.*\\fB\(max\)(.*/\1/p' lang/ccs.5 | head -n 1 >>"$tmp/functions"
holds "ccs(5) has reserved words" test "$(grep -c . "$tmp/words")" -ge 39
holds "... and functions" test "$(grep -c . "$tmp/functions")" -ge 9

# ... and as the compiler's table has them
printf '@any:bars@' >"$tmp/any.in"
"$build/editors/fill" "$tmp/any.in" | tr '|' '\n' | sort >"$tmp/table"
printf '%s\n' after bandwidth column cost latency switch | sort - "$tmp/words" "$tmp/functions" | uniq >"$tmp/reference"
if diff "$tmp/table" "$tmp/reference" >"$tmp/diff"; then ok "the compiler's table has the words of ccs(5)"
else not_ok "the compiler's table has the words of ccs(5)" "$(cat "$tmp/diff")"; fi

lacks() { # lacks FILE WORDS: prints the words that it has not
	while read -r word; do grep -qw -e "$word" "$1" || echo "$word"; done <"$2"
}
has() { # has WHAT FILE WORDS
	missing=$(lacks "$2" "$3")
	if [ -z "$missing" ]; then ok "$1"; else not_ok "$1" "not there: $missing"; fi
}
cat "$tmp/words" "$tmp/functions" >"$tmp/all"
for file in "$vim/syntax/ccs.vim" "$share/emacs/site-lisp/ccs-mode.el" "$json"; do
	has "${file##*/} has every word" "$file" "$tmp/all"
done
has "highlights.scm colours every word" "$tree/queries/highlights.scm" "$tmp/all"
has "grammar.js has every word of the language" "$tree/grammar.js" "$tmp/words"
grep -vw scratch "$vim/syntax/ccs.vim" >"$tmp/less.vim"
holds "a word that is missing is noticed" test "$(lacks "$tmp/less.vim" "$tmp/words" | grep -c scratch)" = 1
holds "a mark that means nothing is an error" sh -c \
	"echo '@operation:stars@' >'$tmp/bad.in' && ! '$build/editors/fill' '$tmp/bad.in' 2>/dev/null"
holds "no mark is left over" test -z "$(grep -rE '@[a-z+]+(:[a-z]+)?@' "$share" --include='*ccs*')"

# ---- Vim ---------------------------------------------------------------------------------------
cat >"$tmp/look.vim" <<'EOV'
" The group of each place that is asked for, and messages, into a file.
function! At(pattern)
  call cursor(1, 1)
  call search(a:pattern, 'cW')
  return a:pattern . ' ' . synIDattr(synID(line('.'), col('.'), 1), 'name')
endfunction
let lines = ['type ' . &filetype, 'step ' . &shiftwidth . ' ' . &expandtab]
for pattern in ['Ring AllReduce', 'schedule ring', 'implements', 'for s', 'send  *data', 'rank - s', 'data\[', 'to ', '% N']
  call add(lines, At(pattern))
endfor
call writefile(lines, $LOOK_OUT)
EOV
if ! vim --version 2>/dev/null | grep -q '+syntax'; then
	echo "skip - Vim colours a schedule: there is no vim with +syntax"
else
	LOOK_OUT="$tmp/groups" timeout 60 vim -Nu NONE -i NONE -n -es \
		--cmd "set rtp^=$vim" --cmd 'filetype plugin on' --cmd 'syntax on' \
		-c "source $tmp/look.vim" -c 'qa!' schedules/ring_allreduce.ccs >"$tmp/said" 2>&1 </dev/null
	holds "Vim says nothing in batch mode" test ! -s "$tmp/said"
	printf '%s\n' 'type ccs' 'step 2 1' 'Ring AllReduce ccsComment' 'schedule ring ccsDeclaration' \
		'implements ccsClause' 'for s ccsBlock' 'send  *data ccsOperation' 'rank - s ccsConstant' \
		'data\[ ' 'to  ccsPreposition' '% N ccsOperator' >"$tmp/wanted"
	if diff "$tmp/wanted" "$tmp/groups" >"$tmp/diff" 2>&1; then
		ok "Vim colours a schedule"
	else
		not_ok "Vim colours a schedule" "$(cat "$tmp/diff")"
	fi
	printf 'let a = b\nschedule s implements t(inout x[1]) { }\n' >"$tmp/wrong.ccs"
	timeout 60 vim -Nu NONE -i NONE -n -es --cmd "set rtp^=$vim" --cmd 'filetype plugin on' \
		-c "setlocal makeprg=$PWD/$build/bin/ccc\\ check\\ %:S" -c 'silent! make' \
		-c "call writefile(map(getqflist(), 'v:val.lnum . \" \" . v:val.col . \" \" . v:val.type'), '$tmp/errors')" \
		-c 'qa!' "$tmp/wrong.ccs" >/dev/null 2>&1 </dev/null
	says "Vim's :make finds the places of errors" "$tmp/errors" '^1 9 e$'
	printf '#!/bin/sh\ncp "$1" "%s/drawn.html"\n' "$tmp" >"$tmp/browser"
	chmod +x "$tmp/browser"
	cat schedules/ring_allreduce.ccs - >"$tmp/two.ccs" <<'EOT'
schedule late implements broadcast(inout data[1]) where N == 3 {
  if rank == 0 { for p in 1..N { send data[0] to p } } else { recv data[0] from 0 }
}
EOT
	while read -r place name ranks; do
		rm -f "$tmp/drawn.html"
		PATH="$PWD/$build/bin:$PATH" timeout 60 vim -Nu NONE -i NONE -n -es --cmd "set rtp^=$vim" \
			--cmd 'filetype plugin on' --cmd "let g:ccs_browser = '$tmp/browser'" \
			-c "$place" -c "CcsDraw $ranks" -c 'qa!' "$tmp/two.ccs" >/dev/null 2>&1 </dev/null
		says "Vim's :CcsDraw shows the schedule at the cursor: $name" "$tmp/drawn.html" \
			"<title>$name: .* on $ranks ranks"
	done <<'EOT'
/reduce.*from/ ring_allreduce 5
$ late 3
EOT
fi

# ---- Emacs ---------------------------------------------------------------------------------------
cat >"$tmp/look.el" <<'EOE'
(setq byte-compile-error-on-warn t)
(unless (byte-compile-file (getenv "LOOK_MODE")) (kill-emacs 3))
(load (getenv "LOOK_MODE"))
(find-file "schedules/ring_allreduce.ccs")
(unless (eq major-mode 'ccs-mode) (error "the mode is %s" major-mode))
(font-lock-ensure)
(dolist (at '(("send " . font-lock-keyword-face) ("rank - s" . font-lock-constant-face)
              ("ring_allreduce$" . font-lock-function-name-face) ("inout" . font-lock-type-face)))
  (goto-char (point-min))
  (re-search-forward (car at))
  (unless (eq (get-text-property (match-beginning 0) 'face) (cdr at))
    (error "%s is %s" (car at) (get-text-property (match-beginning 0) 'face))))
(let ((before (buffer-string)))
  (indent-region (point-min) (point-max))
  (unless (equal before (buffer-string)) (error "indented otherwise: %s" (buffer-string))))
EOE
# As an Emacs with windows, and as one on a terminal.
cat >"$tmp/draw.el" <<'EOE'
(load (getenv "LOOK_MODE"))
(require 'browse-url)
(require 'image-mode)
(defun holds (what buffer &rest parts)
  (with-current-buffer buffer
    (dolist (part parts)
      (goto-char (point-min))
      (unless (search-forward part nil t) (error "%s has no %s: %s" what part (buffer-string))))))
(find-file (getenv "LOOK_TEXT"))
(goto-char (point-min))
(search-forward "prev")
(cl-letf (((symbol-function 'display-graphic-p) (lambda (&rest _) t))
          ((symbol-function 'image-type-available-p) (lambda (_) t))
          ((symbol-function 'image-mode) #'fundamental-mode))
  (unless (eq (key-binding (kbd "C-c C-d")) 'ccs-draw) (error "the key is %s" (key-binding (kbd "C-c C-d"))))
  (dotimes (_ 2) (ccs-draw 5))
  (holds "the picture" "*ccs picture*" "<svg" "ring_allreduce: allreduce on 5 ranks")
  (unless (get-buffer-window "*ccs picture*") (error "the picture is in no window"))
  (unless (eq (window-buffer) (get-file-buffer (getenv "LOOK_TEXT"))) (error "the text is not selected"))
  (goto-char (point-max))
  (insert "// not saved\n")
  (ccs-draw)
  (holds "the picture" "*ccs picture*" "late: " "E0304")
  (when (buffer-modified-p) (error "the text was not saved"))
  (condition-case why (progn (ccs-draw 1) (error "a number that `where' refuses is drawn"))
    (user-error (unless (string-match-p "N > 1" (cadr why)) (signal 'error (cdr why))))))
(let* ((url nil) (browse-url-browser-function (lambda (u &rest _) (setq url u))))
  (ccs-draw 3)
  (with-temp-buffer
    (insert-file-contents (url-unhex-string (substring url 7)))
    (holds "the page" (current-buffer) "<html" "on 3 ranks")))
EOE
if ! command -v emacs >/dev/null; then
	echo "skip - Emacs colours, indents and draws a schedule: there is no emacs"
else
	cp "$share/emacs/site-lisp/ccs-mode.el" schedules/ring_allreduce.ccs "$tmp"
	cat >>"$tmp/ring_allreduce.ccs" <<'EOT'
schedule late implements allreduce(inout data[N]) on ring where N > 1 {
  recv data from prev
  send data to next
}
EOT
	for part in look draw; do
		what="colours and indents a schedule"
		[ $part = look ] || what="C-c C-d draws the schedule at point"
		PATH="$PWD/$build/bin:$PATH" LOOK_MODE="$tmp/ccs-mode.el" LOOK_TEXT="$tmp/ring_allreduce.ccs" \
			TMPDIR="$tmp" timeout 120 emacs --batch -Q -l cl-lib -l "$tmp/$part.el" >"$tmp/said" 2>&1 </dev/null
		code=$?
		if [ $code = 0 ]; then ok "Emacs: $what"; else not_ok "Emacs: $what" "status $code: $(cat "$tmp/said")"; fi
	done
fi

# ---- VS Code, tree-sitter: by node ------------------------------------------------------------------
cat >"$tmp/look.js" <<'EOJ'
// Every pattern compiles; the first that matches at a place of a line names it.
const fs = require('fs'), path = process.argv[2];
const grammar = JSON.parse(fs.readFileSync(path)), dir = require('path').dirname(path);
for (const f of ['package.json', 'language-configuration.json'])
  JSON.parse(fs.readFileSync(dir + '/../' + f));
const scope = (line) => {
  for (const p of grammar.patterns) {
    const m = new RegExp(p.match || p.begin, 'y').exec(line);
    if (m) return p.captures ? Object.values(p.captures).map((c) => c.name).join(' ') : p.name;
  }
};
for (const [line, wanted] of [
  ['// send', 'comment.line.double-slash.ccs'], ['/* x', 'comment.block.ccs'],
  ['schedule ring', 'keyword.declaration.ccs entity.name.function.ccs'],
  ['implements reduce(', 'keyword.declaration.ccs entity.name.type.ccs'],
  ['reduce x from', 'keyword.operation.ccs'], ['within group', 'keyword.control.ccs'],
  ['0x1f', 'constant.numeric.ccs'], ['N', 'constant.language.ccs'], ['min(', 'support.function.ccs'],
  ['inout', 'storage.modifier.ccs'], ['by column', 'keyword.other.ccs support.constant.ccs'],
  ['sending', undefined], ['..', 'keyword.operator.ccs']])
  if (scope(line) !== wanted) { console.log(line, '->', scope(line)); process.exitCode = 1; }
EOJ
check="node tests/editors/grammar_check.js $tree/grammar.js"
if ! command -v node >/dev/null; then
	echo "skip - VS Code's grammar and tree-sitter's: there is no node"
else
	status "VS Code's grammar names what it should" 0 node "$tmp/look.js" "$json"
	[ ! -s "$tmp/out" ] || sed 's/^/# /' "$tmp/out"
	status "tree-sitter's grammar takes every right schedule" 0 $check right lang/prelude.ccs \
		schedules/*.ccs schedules/broken/*.ccs examples/*.ccs tests/check/good/*.ccs
	[ ! -s "$tmp/out" ] || sed 's/^/# /' "$tmp/out"
	# Of the wrong texts those that the compiler's own grammar refuses, but for what it says of
	# a text that its grammar takes (a send outside of a block is one, a link in a body none).
	# shellcheck disable=SC2046
	$check wrong $(grep -l E0101 tests/lang/mistakes/*.txt | sed 's/txt$/ccs/') >"$tmp/taken"
	all=$(grep -l E0101 tests/lang/mistakes/*.txt | grep -c .)
	holds "... and refuses what is none: all but $(grep -c . "$tmp/taken") of $all" \
		test $(($(grep -c . "$tmp/taken") * 20)) -le "$all"
	$check tokens | grep -E '^[a-zN]' | sort >"$tmp/tokens"
	printf '%s\n' cost switch | sort - "$tmp/words" >"$tmp/all_words" # words of one place, with a rule
	if diff "$tmp/all_words" "$tmp/tokens" >"$tmp/diff"; then ok "... its words are the language's"
	else not_ok "... its words are the language's" "$(cat "$tmp/diff")"; fi
fi
# What is coloured by name is a word of the grammar: else tree-sitter refuses the colours.
grep -v any-of "$tree/queries/highlights.scm" | grep -oE '"[^"]+"' | tr -d '"' | sort -u >"$tmp/coloured"
missing=$(while read -r word; do grep -qF -e "'$word'" "$tree/grammar.js" || echo "$word"; done <"$tmp/coloured")
if [ -z "$missing" ]; then ok "highlights.scm names words of grammar.js"; else
	not_ok "highlights.scm names words of grammar.js" "$missing"; fi
if ! command -v tree-sitter >/dev/null; then
	echo "skip - tree-sitter generates a parser: there is no tree-sitter"
else
	cp -r "$tree" "$tmp/ts"
	status "tree-sitter generates a parser" 0 sh -c "cd '$tmp/ts' && tree-sitter generate"
	status "... that takes every right schedule" 0 sh -c \
		"cd '$tmp/ts' && tree-sitter parse -q $PWD/schedules/*.ccs $PWD/tests/check/good/*.ccs"
fi
exit $failed
