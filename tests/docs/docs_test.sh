#!/bin/sh
# Runs the commands that README.md, docs/*.md and docs/course/*.md show, and compares what
# they show.
#
# In a block that begins with ```sh, a line `$ COMMAND` is run (a following line
# `> MORE` continues it), and the lines below it are its output, both streams. A
# line of `...` stands for any lines. Where no output is shown none is compared.
# The exit status must be 0, or N where the command ends in `# exit status N`.
# A block after `<!-- file: NAME -->` is written to NAME first.
#
# Every document runs in a directory of its own that has what a checkout has after
# `make`. For ccrun, numbers with a decimal point (times) and of threads are not compared.
# usage: docs_test.sh BUILD [--bless]     --bless: shows what the commands say now
set -u
. tests/support/lib.sh
build=${1:-build}
bless=${2:-}
bare_environment

# What is not run here, as the reader sees it: it builds, installs or is this test.
not_run() {
	case $1 in
	make | make\ * | sudo\ * | apt-get\ * | man\ * | git\ * | cd\ *) return 0 ;;
	esac
	return 1
}

# Splits a document: NNN.cmd NNN.status [NNN.out], or NNN.file NNN.name.
split() { # split DOCUMENT DIRECTORY
	awk -v dir="$2" '
	function next_base() { base = sprintf("%s/%03d", dir, ++n) }
	block == "file" && /^```$/ { block = ""; close(base ".file"); next }
	block == "file" { print > (base ".file"); next }
	block == "other" { if (/^```$/) block = ""; next }
	block == "sh" && /^```$/ { block = ""; next }
	block == "sh" && /^\$ / {
		next_base()
		status = 0
		if (match($0, /# exit status [0-9]+$/))
			status = substr($0, RSTART + 14)
		print substr($0, 3) > (base ".cmd")
		print status > (base ".status")
		print FNR > (base ".line")
		next
	}
	block == "sh" && /^> / { print substr($0, 3) > (base ".cmd"); next }
	block == "sh" { print > (base ".out"); next }
	/^<!-- file: .* -->$/ {
		name = $3
		next
	}
	/^```/ {
		if (name != "") {
			next_base()
			print name > (base ".name")
			printf "" > (base ".file")
			name = ""
			block = "file"
		} else
			block = ($0 == "```sh") ? "sh" : "other"
	}' "$1"
}

# Whether the lines of $2 are as $1 shows them; else prints the first that is not.
same() { # same SHOWN ACTUAL TIMES
	awk -v times="$3" -v shown="$1" '
	function norm(s,   f, k, n) {
		if (times) {
			n = split(s, f, " ")
			if (n == 13 && f[1] ~ /^[0-9]+$/) {	# a row of the table
				s = f[1]
				for (k = 2; k <= n; k++)
					s = s " " (k >= 6 && k <= 12 && k != 9 ? "#" : f[k])
			}
			gsub(/[0-9]+\.[0-9]+/, "#", s)
			sub(/run by [0-9]+ threads?/, "run by # threads", s)
			gsub(/[ \t]+/, " ", s)
		}
		sub(/[ \t\r]+$/, "", s)
		return s
	}
	FILENAME == shown { e[++ne] = norm($0); next }
	{ a[++na] = norm($0) }
	END {
		while (ne && e[ne] == "") ne--
		while (na && a[na] == "") na--
		i = j = 1
		star = 0
		far = 0
		while (j <= na) {
			if (i <= ne && e[i] == "...") { star = i++; mark = j; continue }
			if (i <= ne && e[i] == a[j]) {
				if (j > far) { far = j }
				i++; j++
				continue
			}
			if (!star) break
			i = star + 1
			j = ++mark
		}
		while (i <= ne && e[i] == "...") i++
		if (i > ne && j > na) exit 0
		print "shown:  " (i <= ne ? e[i] : "(end)")
		print "actual: " (j <= na ? a[j] : "(end)")
		exit 1
	}' "$1" "$2"
}

fresh() { # fresh DIRECTORY
	mkdir -p "$1/build" "$1/runtime" "$1/lang" || return 1
	cp -R "$build/bin" "$build/lib" "$1/build" &&
		cp -R schedules examples docs python "$1" &&
		cp runtime/ccs.h "$1/runtime" && cp lang/ccs.5 "$1/lang"
}

# python3 is one that has PyTorch, where a document is about that.
interpreter() { # interpreter DOCUMENT
	case $1 in
	*torch.md) python=$(tests/support/python_with.sh torch) || return 1 ;;
	*) python=$(command -v python3) || return 1 ;;
	esac
	mkdir -p "$tmp/python" && printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$tmp/python/python3" &&
		chmod +x "$tmp/python/python3"
}

run_one() { # run_one BASE DOCUMENT, in the document's directory
	command=$(cat "$1.cmd")
	title="$2:$(cat "$1.line"): $(head -1 "$1.cmd")"
	if not_run "$command"; then
		echo "# not run by this test: $title"
		return
	fi
	case $command in *python3*)
		if ! interpreter "$2"; then
			echo "skip - $title: there is no python3, or none with PyTorch"
			return
		fi ;;
	esac
	(cd "$tmp/at" && NO_COLOR=1 PATH="$tmp/python:$PATH" PYTHONDONTWRITEBYTECODE=1 TMPDIR="$tmp" XDG_CACHE_HOME="$tmp" timeout 600 sh -c "$command") >"$tmp/actual" 2>&1 </dev/null
	status=$?
	why=
	[ "$status" -eq "$(cat "$1.status")" ] || why="exit status $status"
	case $command in *ccrun*) times=1 ;; *) times=0 ;; esac
	if [ -z "$why" ] && [ -s "$1.out" ]; then
		difference=$(same "$1.out" "$tmp/actual" $times) || why="another output"
		if [ -n "$why" ] && [ -n "$bless" ] && ! grep -qx '\.\.\.' "$1.out"; then
			sed 's/[[:space:]]*$//' "$tmp/actual" >"$1.new"
			why=
		fi
	fi
	if [ -z "$why" ]; then
		echo "ok - $title"
		return
	fi
	failed=1
	echo "not ok - $title: $why"
	if [ "$why" = "another output" ]; then
		echo "$difference" | sed 's/^/# /'
	else
		head -20 "$tmp/actual" | sed 's/^/# /'
	fi
}

# Puts the new outputs of $2/NNN.new in their places.
renew() { # renew DOCUMENT DIRECTORY
	awk -v dir="$2" '
	new != "" && !/^> / { # behind the command and what continues it
		while ((getline line < new) > 0) { print line; skip = 1 }
		new = ""
	}
	/^<!-- file: .* -->$/ { name = 1 }
	/^```/ {
		if (block == "") {
			if (name) { n++; name = 0; block = "other" }
			else block = ($0 == "```sh") ? "sh" : "other"
		} else if ($0 == "```") { block = ""; skip = 0 }
	}
	block == "sh" && /^\$ / {
		print
		new = sprintf("%s/%03d.new", dir, ++n)
		skip = 0
		next
	}
	block == "sh" && skip && !/^```/ { next }
	{ print }' "$1" >"$tmp/renewed" && cp "$tmp/renewed" "$1"
}

for document in README.md docs/*.md docs/course/*.md; do
	rm -rf "$tmp/parts" "$tmp/at"
	mkdir -p "$tmp/parts"
	split "$document" "$tmp/parts"
	ls "$tmp/parts"/*.cmd >/dev/null 2>&1 || continue
	fresh "$tmp/at" || { echo "not ok - $document: no copy of $build"; exit 1; }
	for part in "$tmp"/parts/*.cmd "$tmp"/parts/*.name; do
		[ -e "$part" ] && echo "${part%.*}"
	done | sort >"$tmp/order"
	while read -r base; do
		if [ -e "$base.name" ]; then
			cp "$base.file" "$tmp/at/$(cat "$base.name")"
		else
			run_one "$base" "$document"
		fi
	done <"$tmp/order"
	! ls "$tmp/parts"/*.new >/dev/null 2>&1 || renew "$document" "$tmp/parts"
	made=$(cd "$tmp/at" && find . -maxdepth 1 -type f \( -name '*.so' -o -perm -u+x \))
	[ -z "$made" ] || { echo "not ok - $document: what it compiles goes into build, not" $made; failed=1; }
done

# The examples of ccrun(1) that write files, after the one that compiles.
fresh "$tmp/page" && cp schedules/ring_allreduce.ccs "$tmp/page" || exit 1
sed -n '/^\.SH EXAMPLES/,/^\.SH "SEE/ s/^\$ //p' docs/ccrun.1 | sed 's/\\-/-/g' |
	grep -E '^ccc |--json|--csv|--(tune|table|explain-choice) ' >"$tmp/examples"
[ "$(grep -c . "$tmp/examples")" -ge 3 ] || { echo "not ok - ccrun(1) has examples"; failed=1; }
while read -r command; do
	if (cd "$tmp/page" && PATH="$tmp/page/build/bin:$PATH" timeout 120 sh -c "$command") \
			>"$tmp/actual" 2>&1 </dev/null; then
		echo "ok - docs/ccrun.1: $command"
	else
		sed 's/^/# /' "$tmp/actual" | head -20
		echo "not ok - docs/ccrun.1: $command"
		failed=1
	fi
done <"$tmp/examples"
for form in json csv; do	# and read by a parser
	what=$form
	[ $form = json ] && set -- status=0 'rows.0.out_of_place.time_us=*'
	[ $form = csv ] && set -- -1 record=summary status=0
	if "$build/tests/ccrun/report_test" $what "$tmp/page/ar.$form" "$@"; then
		echo "ok - docs/ccrun.1: ar.$form is $form"
	else
		echo "not ok - docs/ccrun.1: ar.$form is $form"
		failed=1
	fi
done

say() { # say WHAT PROBLEMS
	if [ -z "$2" ]; then echo "ok - $1"; else
		echo "$2" | sed 's/^/# /'
		echo "not ok - $1"
		failed=1
	fi
}

say "README.md has at most 120 lines, CONTRIBUTING.md 150, docs/internals.md 400" \
	"$(echo "README.md 120 CONTRIBUTING.md 150 docs/internals.md 400" | tr ' ' '\n' | paste -d ' ' - - |
	while read -r f most; do [ "$(wc -l <"$f")" -le "$most" ] || wc -l "$f"; done)"
say "every schedule of the library has its row in docs/library.md" \
	"$(for f in schedules/*.ccs; do grep -q "^| \[[a-z0-9_]*\](../$f) |" docs/library.md || echo "$f"; done)"
say "every schedule is under 40 lines, as docs/library.md says, with a comment at its head" \
	"$(for f in schedules/*.ccs; do [ "$(wc -l <"$f")" -lt 40 ] && head -n 1 "$f" | grep -q '^// ' || echo "$f"; done)"
say "ccs(5) has sections 1 to 8" \
	"$(for n in 1 2 3 4 5 6 7 8; do grep -q "^\.SH \"$n\. " lang/ccs.5 || echo "$n"; done)"
codes=$(grep -oE '^[EW]0[0-9]{3}$' lang/ccs.5 | sort -u)
say "ccc explains every code of ccs(5) 7" \
	"$([ -n "$codes" ] || echo none; for c in $codes; do
		"$build/bin/ccc" --explain "$c" >/dev/null 2>&1 || echo "$c"; done)"
for command in ccc ccrun; do
	say "$command(1) has every option of $command --help" \
		"$("$build/bin/$command" --help | grep -oE '(^  |, )--?[a-zA-Z-]+' | tr -d ' ,' | sort -u |
		while read -r o; do
			sed 's/\\-/-/g; s/\\f[BIR]//g' "docs/$command.1" | grep -qE -e "(^|[^-a-zA-Z])$o([^-a-zA-Z]|$)" || echo "$o"
		done)"
done
say "ccs(5) 5 names every type and operator of ccrun --help" \
	"$("$build/bin/ccrun" --help | awk '/^  -[do] /{ getline; print; n++ } END { if (n != 2) print "none" }' |
	tr -s ' ' '\n' | while read -r name; do
		sed -n '/^\.SH "5\./,/^\.SH "6\./{s/\\f[BIR]//g;p}' lang/ccs.5 | grep -qwF -e "$name" || echo "$name"; done)"
for page in lang/ccs.5 docs/ccs-tuning.5 docs/ccc.1 docs/ccrun.1 docs/libccs-mpi.7 \
	docs/*.3 "$build/share/man/man3/ccs.3"; do
	if command -v man >/dev/null && command -v groff >/dev/null; then
		say "man $page has no warnings" \
			"$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$page" 2>&1 >/dev/null)"
	else
		echo "skip - man $page: man-db and groff are not installed"
	fi
done
say "ccs(3) has every function that the library exports, once" \
	"$(nm -D --defined-only "$build/lib/libccs.so.0" | sed -n 's/.* T \(ccs_.*\)/\1/p' | while read -r name; do
		[ "$(grep -c "^..B.*[ *]$name(.*;" "$build/share/man/man3/ccs.3")" = 1 ] || echo "$name"; done)"
for command in ccc ccrun; do	# also where a document shows what is not run here
	"$build/bin/$command" --help >"$tmp/options"
	"$build/bin/$command" --options | cut -f 1 >>"$tmp/options"
	say "options of $command in the documents are its own" \
		"$(grep -hoE "(^|[ /\`])$command( [^\`#|>]+)" README.md docs/*.md docs/course/*.md bench/results/*.md |
		sed "s/.*$command //" | grep -oE -e '(^| )--?[a-zA-Z][a-zA-Z-]*' | tr -d ' ' | sort -u |
		while read -r o; do
			grep -qE -e "(^|[ ,[])$o([] =,]|\$)" "$tmp/options" || echo "$o"
		done)"
done
say "tests/README.md names every suite" \
	"$(for suite in tests/*/*_test.*; do
		name=${suite#tests/}
		grep -qF "\`$name\`" tests/README.md || grep -qF "\`${name##*/}\`" tests/README.md || echo "$suite"
	done)"
say "every suite is in a list of tests.mk, or run by one that is" \
	"$(sed -n '/^SUITES_/,/^NEEDS_/p' tests/tests.mk >"$tmp/suites"
	for suite in tests/*/*_test.sh tests/*/*_test.c; do
		name=${suite%.c}
		grep -qE "${name#tests/}[ \"]" "$tmp/suites" && continue
		[ "$name" != "$suite" ] && grep -qw "${name##*/}" "${suite%/*}"/*_test.sh || echo "$suite"
	done)"
say "tests/COVERAGE.md has a row for every source, and suites that there are" \
	"$(tests/coverage.sh verify)"
# The diffs that CONTRIBUTING.md walks through still fit the sources, and are short: walk_test.sh applies them.
for what in warning statement operator; do
	walk=tests/docs/walks/$what.diff
	most=4
	[ $what = statement ] && most=7
	files=$(grep -c '^+++ b/' "$walk")
	command -v git >/dev/null || { echo "skip - the walks of CONTRIBUTING.md: there is no git"; break; }
	say "$walk changes $files files, at most $most, still applies, and CONTRIBUTING.md has it" \
		"$([ "$files" -gt 0 ] && [ "$files" -le $most ] || echo "$files files"
		grep -qF "($walk)" CONTRIBUTING.md || echo "CONTRIBUTING.md: no link"
		git apply --check -C1 "$walk" 2>&1)"
done
sed -n '/^## Words/,/^## The/s/^| \([^|]*\) | [^|]* | `\([^`|]*\)` |$/\2 \1/p' docs/internals.md >"$tmp/words"
say "each word of docs/internals.md is in the header that defines it, and no struct elsewhere" \
	"$([ "$(grep -c . "$tmp/words")" -ge 20 ] || echo "few words: $(grep -c . "$tmp/words")"
	while read -r header word; do
		grep -qwiF -e "$word" "$header" || echo "$header: no $word"
		grep -rnE "(struct|enum) $word \{" compiler runtime --include='*.[ch]' |
		grep -vE "^($header|runtime/ccrun/[a-z_./]*):" # another thing of that name
	done <"$tmp/words" 2>&1
	cut -d' ' -f2- "$tmp/words" | sort | uniq -d
	sed -n '/^## Words/,/^## The/p' docs/internals.md | grep -c '^| [a-zA-Z]' |
	while read -r n; do [ "$n" -eq $(($(grep -c . "$tmp/words") + 1)) ] || echo "a row is not like the others"; done)"
say "links in the documents lead to files" \
	"$(for f in README.md CONTRIBUTING.md docs/*.md docs/course/*.md bench/results/*.md; do
		grep -oE '\]\([^)#]+\)' "$f" | sed 's/^](//; s/)$//' | grep -v '^https*:' |
		while read -r to; do [ -e "$(dirname "$f")/$to" ] || echo "$f: $to"; done; done)"
exit $failed
