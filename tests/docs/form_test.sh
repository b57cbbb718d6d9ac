#!/bin/sh
# The form of the sources: `make format` changes nothing; and what public headers say of
# themselves. usage: form_test.sh BUILD
set -u
. tests/support/lib.sh
wheels=build/wheels/lib/python3/site-packages
format=${CLANG_FORMAT:-$wheels/clang_format/data/bin/clang-format}
[ -e "$format" ] || format=clang-format
formatted="lang compiler runtime editors tests bench examples"
wanted=$(sed -n 's/^clang-format==\([0-9.]*\).*/\1/p' tests/wheels/format.txt)

if ! "$format" --version >"$tmp/version" 2>/dev/null; then
	echo "skip - the form of C: there is no clang-format $wanted (make deps fetches it)"
elif ! grep -q " version $wanted" "$tmp/version"; then
	echo "skip - the form of C: it is that of clang-format $wanted, and here is $(cat "$tmp/version")"
else
	for folder in $formatted; do
		# shellcheck disable=SC2046
		"$format" -n --ferror-limit=0 $(find $folder -name '*.[ch]') 2>&1 |
			sed -n 's/: \(error\|warning\): code should be.*//p' | cut -d: -f1 | sort | uniq -c >"$tmp/bad"
		if [ -s "$tmp/bad" ]; then
			not_ok "make format changes nothing in $folder" "$(cat "$tmp/bad")"
		else
			ok "make format changes nothing in $folder"
		fi
	done
fi

# shellcheck disable=SC2046
bare=$(grep -nE '\<sizeof[[:space:]]' $(find $formatted -name '*.[chyl]' -o -name '*.inc' -o \
	-name '*.cc' -o -name '*.cu'))
if [ "$bare" ]; then
	not_ok "sizeof(x), of types and of expressions" "$bare"
else
	ok "sizeof(x), of types and of expressions"
fi

# A source that a comment names is there. (`x.c` is a member of something: names have two letters
# or more.)
# shellcheck disable=SC2046
git ls-files 2>/dev/null | sed 's:.*/::' | sort -u >"$tmp/files"
grep -ohE '^[[:space:]]*(\*|/\*|//).*' $(find lang compiler runtime -name '*.[chyl]') |
	grep -oE '\b[a-z][a-z0-9]+(_[a-z0-9]+)*\.(c|inc)\b' | sort -u >"$tmp/named"
if ! [ -s "$tmp/files" ]; then
	echo "skip - sources that comments name: this is no clone of git's"
elif grep -vxFf "$tmp/files" "$tmp/named" >"$tmp/gone" || ! [ -s "$tmp/named" ]; then
	not_ok "sources that comments name are there" "$(cat "$tmp/gone")"
else
	ok "sources that comments name are there"
fi

# Every ccs_... that a comment of a public header names is declared in it, or is a symbol
# that the runtime asks a module for.
for header in runtime/ccs.h; do
	sed 's://.*$::' "$header" | awk '
		{ text = $0
		  while (text != "") {
			if (inside) {
				at = index(text, "*/")
				if (!at) { print text >comments; break }
				print substr(text, 1, at - 1) >comments
				text = substr(text, at + 2); inside = 0
			} else {
				at = index(text, "/*")
				if (!at) { print text >code; break }
				print substr(text, 1, at - 1) >code
				text = substr(text, at + 2); inside = 1
			} } }' comments="$tmp/comments" code="$tmp/code"
	{ grep -oE '\bccs_[a-z0-9_]+' "$tmp/code"
	  grep -rhoE '"ccs_[a-z0-9_]+"' runtime --include='*.[ch]' | tr -d '"'; } | sort -u >"$tmp/known"
	grep -oE '\bccs_[a-z0-9_]+' "$tmp/comments" | sort -u | grep -vxFf "$tmp/known" >"$tmp/unknown"
	holds "$header: its comments name things" test -s "$tmp/comments"
	if [ -s "$tmp/unknown" ]; then
		not_ok "$header: what its comments name is there" "$(cat "$tmp/unknown")"
	else
		ok "$header: what its comments name is there"
	fi
done
exit $failed
