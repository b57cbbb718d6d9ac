#!/bin/sh
# Which suites enter which source file: `make coverage` writes tests/COVERAGE.md.
#
#   coverage.sh compilers BUILD   makes BUILD/cc and BUILD/c++, which count what is run
#   coverage.sh table BUILD       from the counts of each suite, in BUILD/suites, to
#                                 tests/COVERAGE.md; and the functions that no suite
#                                 enters, to stdout
#   coverage.sh verify            the table is about the sources and suites that there are
#
# In: gcc's counts of every process that ended by itself (those killed leave none), a folder
# a suite (run.sh). Out: one row a source, its suites by how telling they are: the share of the
# file's lines that the suite runs, squared, times the share of the file in all that it runs.
# So a unit test of a file stands before a suite that passes through everything. O(suites x
# objects), each asked of gcov: minutes.
set -u
page=tests/COVERAGE.md
listed=5	# suites in a row; of more, their number

sources() { # what a row is for: the tests of headers and tables are those of what includes them
	find lang compiler runtime -name '*.c' -o -name '*.y' -o -name '*.l' | sort
}

compilers() {
	mkdir -p "$1" || exit 1
	# A child that ends without atexit() leaves its counts, too.
	printf '%s\n' 'void __gcov_dump(void);' 'void __real__exit(int status);' \
		'void __wrap__exit(int status);' \
		'void __wrap__exit(int status) { __gcov_dump(); __real__exit(status); }' |
		gcc -fPIC -c -x c -o "$1/exit.o" - || exit 1
	for name in cc c++; do
		case $name in cc) compiler=gcc ;; *) compiler=g++ ;; esac
		cat >"$1/$name" <<END
#!/bin/sh
# A module, or a library of counted objects; an object; a program.
case " \$* " in
*' -shared '*) exec $compiler "\$@" -lgcov ;;
*' -c '* | *' -E '* | *' -M '* | *' -fsyntax-only '*) exec $compiler --coverage "\$@" ;;
esac
exec $compiler --coverage -Wl,--wrap=_exit "\$@" "$PWD/$1/exit.o"
END
		chmod +x "$1/$name"
	done
}

# Lines `SUITE SOURCE lines EXECUTED ALL` and `SUITE SOURCE function NAME EXECUTED`, the latter
# with 0 or 1. A source without lines of its own, but for an .inc, has those of that.
counts() { # counts BUILD SUITE
	at=$1/suites/$2$PWD/$1
	(cd "$at" 2>/dev/null && find lang compiler runtime -name '*.gcda' 2>/dev/null) |
	while read -r gcda; do
		object=${gcda%.gcda}
		ln -sf "$PWD/$1/$object.gcno" "$at/$object.gcno"
		source=$object.c
		for kind in y l; do [ -e "$object.$kind" ] && source=$object.$kind; done
		gcov -n -f "$at/$gcda" 2>/dev/null | awk -v suite="$2" -v source="$source" '
		function ends(text, with) {
			return length(text) >= length(with) &&
				substr(text, length(text) - length(with) + 1) == with
		}
		/^Function / { name = substr($2, 2, length($2) - 2); next }
		/^File / { file = substr($2, 2, length($2) - 2); next }
		/^Lines executed:/ {
			split($2, part, "[:%]")
			if (name != "")
				print suite, source, "function", name, (part[2] > 0)
			else if (ends(file, source)) {
				run += part[2] / 100 * $4
				all += $4
			} else if (ends(file, ".inc")) {
				run_table += part[2] / 100 * $4
				all_table += $4
			}
			name = file = ""
		}
		/^$/ { name = file = "" }
		END {
			if (all)
				print suite, source, "lines", run, all
			else if (all_table)
				print suite, source, "lines", run_table, all_table
		}'
	done
}

rows() { # rows COUNTS
	awk -v listed=$listed '
	$3 == "lines" && $4 > 0 {
		run[$1, $2] += $4
		all[$2] = $5
		whole[$1] += $4
		suites[$1] = sources[$2] = 1
	}
	END {
		for (source in sources) {
			n = 0
			for (suite in suites)
				if (run[suite, source] > 0) {
					name[++n] = suite
					score[n] = (run[suite, source] / all[source]) ^ 2 * run[suite, source] / whole[suite]
				}
			for (i = 1; i <= n && i <= listed; i++)
				for (k = i + 1; k <= n; k++)
					if (score[k] > score[i] || (score[k] == score[i] && name[k] < name[i])) {
						t = name[i]; name[i] = name[k]; name[k] = t
						t = score[i]; score[i] = score[k]; score[k] = t
					}
			line = ""
			for (i = 1; i <= n && i <= listed; i++) {
				sub(/^.*tests\//, "", name[i])
				line = line (i > 1 ? ", " : "") "`" name[i] "`"
			}
			if (n > listed)
				line = line ", and " n - listed " more"
			printf "| %s | %s |\n", source, line
		}
	}' "$1" | sort
}

table() { # table BUILD
	find "$1/suites" -path "*$PWD/$1" -prune -print | sed "s|^$1/suites/||; s|$PWD/$1\$||" |
		sort >"$1/suites.txt"
	[ -s "$1/suites.txt" ] || { echo "coverage.sh: no suite left counts in $1/suites" >&2; exit 1; }
	xargs -P "$(nproc)" -I SUITE sh -c '"$0" counts "$1" "$2" >"$1/suites/$2/counts"' \
		"$0" "$1" SUITE <"$1/suites.txt" || exit 1
	while read -r suite; do cat "$1/suites/$suite/counts"; done <"$1/suites.txt" >"$1/counts.txt"
	rows "$1/counts.txt" >"$1/rows.txt"
	{
		sed '/^| [a-z]*\//d' "$page"
		cat "$1/rows.txt"
		sources | while read -r source; do
			grep -qF "| $source |" "$1/rows.txt" || # why it is no source here stays
				grep -F "| $source | (" "$page" || echo "| $source | none |"
		done
	} >"$1/page.md" && head -n "$(grep -c -v '^| [a-z]*/' "$1/page.md")" "$1/page.md" >"$page" &&
		grep '^| [a-z]*/' "$1/page.md" | sort >>"$page" || exit 1
	echo "functions that no suite enters:"
	awk '$3 == "function" { known[$2 ": " $4] = 1; if ($5) entered[$2 ": " $4] = 1 }
	END { for (f in known) if (!(f in entered)) print "  " f }' "$1/counts.txt" | sort
}

verify() {
	sources | while read -r source; do
		grep -qF "| $source |" $page || echo "$source has no row in $page: make coverage"
	done
	sed -n 's/^| \([a-z]*\/[^ ]*\) | \(.*\) |$/\1 \2/p' $page | while read -r source suites; do
		[ -e "$source" ] || echo "$source is in $page, and not in the tree"
		[ "$suites" != none ] || echo "$source: no suite enters it"
		for suite in $(echo "$suites" | grep -o '`[^`]*`' | tr -d '`'); do
			[ -e "tests/$suite" ] || [ -e "tests/$suite.c" ] ||
				echo "$source: there is no suite $suite"
		done
	done
}

case ${1:-} in
compilers) compilers "$2" ;;
counts) counts "$2" "$3" ;;
table) table "$2" ;;
verify) verify ;;
*) echo "usage: coverage.sh compilers BUILD | table BUILD | verify" >&2; exit 2 ;;
esac
