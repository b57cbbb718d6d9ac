#!/bin/sh
# The architecture as tests: includes go one way, headers compile alone, there
# are no writable globals, and the library exports ccs_* only.
# usage: architecture_test.sh BUILD
set -u
build=${1:-build}
failed=0
say() { # say WHAT PROBLEMS
	if [ -z "$2" ]; then echo "ok - $1"; else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok - $1"
		failed=1
	fi
}

say "lang includes lang only" \
	"$(grep -nE '#include "(compiler|runtime|tests)/' lang/*.[chly])"
say "runtime includes runtime only" \
	"$(grep -nE '#include "(compiler|lang|tests)/' runtime/*.[ch])"
say "compiler includes lang, compiler, and the runtime's common headers" \
	"$(grep -nE '#include "' compiler/*.[ch] |
	   grep -vE '"(lang/[a-z_]+\.h|compiler/[a-z_]+\.h|runtime/(ccs|plan|load|prove|nvrtc|kernel|cache|choice)\.h)"')"
say "what processes meet by knows of no GPU" \
	"$(grep -nE '#include "' runtime/group*.[ch] |
	   grep -vE '"runtime/(group|group_wire|error)\.h"')"
say "examples include public headers and generated ones only" \
	"$(grep -nE '#include "(compiler|lang|runtime)/' examples/*.c)"

bad=
for h in lang/*.h compiler/*.h runtime/*.h; do
	echo "#include \"$h\"" | ${CC:-cc} -std=c11 -D_GNU_SOURCE -I. -I"$build" -Wall -Wextra \
		-Werror -fsyntax-only -x c - 2>/dev/null || bad="$bad $h"
done
say "every header compiles alone" "$bad"

# Objects in .data and .bss; constant tables of pointers lie in .data.rel.ro, and
# the last error's text is each thread's own (.tbss).
say "no writable globals in the libraries" \
	"$(for lib in "$build"/lib/libccc.a "$build"/lib/libccs.a; do
		objdump -t "$lib" | awk '$0 ~ / O / && $0 ~ / \.(data|bss)(\.[A-Za-z_0-9]*)?\t/ &&
			$0 !~ /\.data\.rel\.ro/ && $NF !~ /^__(asan|odr_asan|sancov|gcov|tsan)/'
	   done)"
say "libccs.so exports ccs_* only" \
	"$(nm -D --defined-only "$build"/lib/libccs.so | awk '{ print $3 }' |
	   grep -vE '^ccs_|^CCS_|^_init$|^_fini$')"
say "nothing links the CUDA driver" \
	"$(for f in "$build"/bin/ccc "$build"/bin/ccrun "$build"/lib/libccs.so; do
		readelf -d "$f" | grep -E 'NEEDED.*(libcuda|libnvrtc|libnccl)'; done)"
refuses() { # refuses TEXT OPTION...: the header does, before all else
	text=$1
	shift
	echo '#include "runtime/ccs.h"' | ${CC:-cc} -std=c11 -I. "$@" -fsyntax-only -x c - 2>&1 |
		grep 'error' | head -n 1 | grep -q "error.*$text" || echo "not refused: $*"
}
say "systems of 32 bits, or with the bytes the other way round, are refused in words" \
	"$(refuses 'needs a 64-bit system' -U__LP64__
	   refuses 'needs a little-endian system' -U__BYTE_ORDER__ \
		-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__)"
say "generated files are not in git" \
	"$(git ls-files 2>/dev/null | grep -E '\.(o|so|a|d)$|^build/')"
exit $failed
