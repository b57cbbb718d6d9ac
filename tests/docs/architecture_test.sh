#!/bin/sh
# The architecture as tests: includes go one way, headers compile alone, there
# are no writable globals, the library exports ccs_* only, and what is missing is left out.
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

# ---- files ------------------------------------------------------------------------
say "no two files have one name" \
	"$(find lang compiler runtime -name '*.[chly]' | sed 's:.*/::' | sort | uniq -d)"
say "a folder can be taken in at a look: at most 25 files" \
	"$(find lang compiler runtime -type f | sed 's:/[^/]*$::' | sort | uniq -c | awk '$1 > 25')"

# ---- folders ----------------------------------------------------------------------
# What a folder may include, in its own words: `lang` is lang/*, `compiler/check`
# compiler/check/*. A header of the folder above that includes nothing of its folders is what
# they have in common, and all of them may.
may() { # may FOLDER FOLDER...
	folder=$1
	for file in "$folder"/*.[chly] "$folder"/*.inc; do
		[ -e "$file" ] || continue
		sed -n 's/^#include "\(.*\)".*/\1/p' "$file" | while read -r header; do
			from=${header%/*}
			case " $* parse.h scan.h " in *" $from "*|*" $header "*) continue ;; esac
			[ "$from" = "${folder%/*}" ] && ! grep -q "^#include \"$from/.*/" "$header" &&
				continue
			echo "$file includes $header"
		done
	done
}
c=compiler r=runtime
base="$r/base $r/base/load" plan="$r/plan $r/plan/proof $r/plan/tuning"
cuda="$r/cuda $r/cuda/driver $r/cuda/nccl"
cpu="$r/cpu/core $r/cpu/play $r/cpu/shm $r/cpu/mpi"
lang="lang lang/base lang/diag" check="$c/check $c/check/values"
ccrun="$r/ccrun $r/ccrun/say $r/ccrun/values $r/ccrun/gpu $r/ccrun/measure"
every="$c/every/affine $c/every/bits $c/every/grid"
say "compiler: includes go one way" "$(
	may lang/base
	may lang/diag lang/base
	may lang lang/base lang/diag
	may lang/names $lang
	may lang/print $lang
	may lang/number $lang
	may $c/expand $lang lang/number
	may $c/check $lang $c/expand
	may $c/check/values $lang $c/expand $c/check
	may $c/witness $lang $c/expand $check
	may $c/draw $lang
	may $c/explain $lang $c/expand $check $c/witness $c/draw
	may $c/cost $lang $c/expand $check $c/draw runtime $r/plan $r/plan/tuning
	may $c/symmetry/kinds $lang lang/number $c/expand
	may $c/symmetry $lang $c/expand $check $c/witness $c/symmetry/kinds
	may $c/lower $lang $c/expand $check $plan
	may $c/every/affine $lang
	may $c/every/bits $lang
	may $c/every/grid $lang $c/every/affine $c/every/bits
	may $c/every $lang $every
	may $c/emit $lang $c/expand $check $c/every $c/lower runtime $base $plan
	may $c/emit/msccl $lang $c/expand $check $c/lower $c/emit $plan
	may $c/lsp $lang $base
	may $c/xml $lang
	may $c/msccl $lang $c/expand $check $c/xml
	may $c/topo $lang $c $c/xml
	may $c/pipe $lang $c/expand $check $c/witness $c/draw $c/cost $c/emit
	may $c $lang $c/expand $check $c/symmetry $c/witness $c/explain $c/cost $c/every $c/lower $c/emit \
		$c/emit/msccl $c/lsp $c/xml $c/msccl $c/topo $c/pipe runtime $base $plan)"

say "runtime includes runtime only; ccrun also expressions of the language" \
	"$(grep -rnE '#include "(compiler|lang|tests)/' runtime |
	   grep -v "^$r/ccrun/values/.*lang/number/formula.h")"
say "what processes meet by knows of no GPU" \
	"$(grep -rnE '#include "' runtime/meet/group* |
	   grep -vE '"runtime/(meet/group|meet/group_wire|base/[a-z0-9]+)\.h"')"

# A build may hold objects of sources that are no more.
objects() { # objects FOLDER...: of the sources that are there
	for source in $(for folder; do ls "$folder"/*.[cly]; done 2>/dev/null); do
		object=$build/${source%.*}.o
		[ -e "$object" ] && echo "$object"
	done
}

# Calls between folders, or files, by the object files' symbols: tsort finds circles.
circles() { # circles folders|files FOLDER...: below $build
	level=$1
	shift
	objects=$(objects "$@")
	[ -z "$objects" ] ||
	nm -A $objects |
	awk -v level="$level" '{ file = $1; sub(/\.o:.*/, "", file)
	       if (level == "folders") sub(/\/[^\/]*$/, "", file)
	       kind = $(NF - 1); name = $NF
	       if (kind ~ /^[TDRBV]$/) home[name] = file
	       else if (kind == "U") { n++; from[n] = file; used[n] = name } }
	     END { for (i = 1; i <= n; i++)
			if (used[i] in home && home[used[i]] != from[i])
				print from[i], home[used[i]] }' | sort -u | tsort 2>&1 >/dev/null |
	sed "s|$build/||"
}
say "compiler: calls between folders have no circles" \
	"$(circles folders $lang lang/names lang/print lang/number compiler $c/expand $check $c/witness $c/draw $c/explain $c/cost $c/symmetry \
		$c/symmetry/kinds $c/every $every $c/lower $c/emit $c/emit/msccl $c/lsp $c/xml $c/msccl $c/topo $c/pipe \
		$base $plan)"

say "runtime: includes go one way" "$(
	may $r/base $r
	may $r/base/load $r/base
	may $r/plan $r $base
	may $r/plan/proof $r $base $r/plan
	may $r/plan/tuning $r $base $r/plan
	may $r $base $plan
	may $r/trace $base $plan $r
	may $r/split $base $r
	may $r/cpu/core $base $plan $r $r/trace
	may $r/cpu/play $base $plan $r $r/trace $r/cpu/core
	may $r/cpu/shm $base $plan $r $r/trace $r/meet $r/cpu/core
	may $r/cpu/mpi $base $plan $r $r/trace $r/meet $r/mpi $r/cpu/core
	may $r/meet $base $plan $r
	may $r/cuda/driver $base
	may $r/cuda/nccl $base $plan $r/meet $r/cuda/driver
	may $r/cuda $base $plan $r $r/trace $r/meet $cuda $r/cuda/device
	may $r/mpi $base $r
	may $r/ccrun/say $r $r/base
	may $r/ccrun/values $r lang/number
	may $r/ccrun/gpu $r
	may $r/ccrun/measure $r $r/mpi $r/ccrun/say $r/ccrun/values $r/ccrun/gpu
	may $r/ccrun $r $r/base $ccrun
	may $r/hosts $base $plan $r $r/trace $r/meet $cuda $r/cuda/device
	# what the public header and the plan stand on is below all else
	grep -rnE '#include "runtime/[a-z_]*\.h"' $r/base $r/plan | grep -v '/ccs\.h"')"
say "runtime: calls between folders have no circles" \
	"$(circles folders $r $base $plan $r/trace $r/split $cpu $r/meet $cuda $r/hosts $r/mpi $ccrun)"
say "runtime: what gathers calls knows no engine" \
	"$(nm -u $(objects $r) | awk '{ print $NF }' | sort -u |
	   grep -Fx "$(nm --defined-only $(objects $cpu $cuda $r/hosts $r/meet) | awk '$2 ~ /[TDRBV]/ { print $3 }')")"

# A circle of files that must be is explained in a header of its folder.
explained=$(grep -rl '^ \* A circle of files:' --include='*.h' lang compiler runtime | sed 's:/[^/]*$::' | sort)
say "a folder's files call one another without circles, but for five that are explained" "$(
	for folder in $(find lang compiler runtime -name '*.[cy]' | sed 's:/[^/]*$::' | sort -u); do
		case " $(echo $explained) " in
		*" $folder "*) [ "$(circles files "$folder")" ] || echo "$folder explains a circle that is none" ;;
		*) circles files "$folder" ;;
		esac
	done
	[ "$(echo "$explained" | wc -l)" -le 5 ] || echo "$explained")"

# The command is a user of the library like any other.
names() { awk '{ print $NF }' | sort -u; }
say "ccrun includes the public header, the plug-in's, the ticker, expressions and its own" \
	"$(grep -nE '#include "' $r/ccrun/*.[ch] $r/ccrun/*/*.[ch] | grep -vE '"(runtime/(ccs|mpi/calls|base/ticker|ccrun/[a-z_/]+)|lang/number/formula)\.h"')"
nm --defined-only $(objects $r $base $plan $r/trace $r/split $cpu $r/meet $cuda $r/hosts $r/mpi) |
	awk '$2 ~ /[TDRBVW]/' | names >"$build/library.names"
nm -D --defined-only "$build"/lib/libccs.so | names >"$build/public.names"
say "ccrun calls what libccs.so exports, and nothing else of the library" \
	"$(nm -u $(objects $ccrun) | names | grep -Fx -f "$build/library.names" |
	   grep -vFx -f "$build/public.names"
	   nm -u $(objects $ccrun) | names | grep -qFx ccs_run_with || echo "not even ccs_run_with")"

say "every public call is called by a test" \
	"$(grep '^ccs_' "$build/public.names" | while read -r name; do
		grep -rqw --include='*.c' "$name" tests || echo "$name"; done)"

say "examples include public headers and generated ones only" \
	"$(grep -nE '#include "(compiler|lang|runtime)/' examples/*.c examples/tutorials/*.[ch])"

bad=
for h in $(find lang compiler runtime -name '*.h' ! -path 'runtime/cuda/device/*' \
		! -path 'runtime/preload/*'); do
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
say "nothing links the CUDA driver, or MPI" \
	"$(for f in "$build"/bin/ccc "$build"/bin/ccrun "$build"/lib/libccs.so; do
		readelf -d "$f" | grep -E 'NEEDED.*(libcuda|libnvrtc|libnccl|libmpi)'; done)"
say "the plug-in and what is preloaded alone include MPI's header" \
	"$(grep -rnE '#include <mpi' lang compiler runtime |
	   grep -vE "^$r/(mpi/plugin\.c|preload/preload\.h):")"
if [ -e "$build/lib/libccs_mpi.so" ]; then
	say "the plug-in exports its table, and calls nothing of ccs" \
		"$(nm -D --defined-only "$build/lib/libccs_mpi.so" | awk '{ print $3 }' |
		   grep -vxE 'ccs_mpi_calls|_init|_fini'
		   nm -D -u "$build/lib/libccs_mpi.so" | awk '$NF ~ /^ccs_/')"
else
	echo "skip - what the plug-in for MPI exports: it was not built (there is no mpicc)"
fi
say "what is preloaded includes the public header and its own" \
	"$(grep -nE '#include "' $r/preload/*.[ch] |
	   grep -vE '"runtime/(ccs\.h|preload/(preload\.h|other_forms\.h|calls\.inc))"')"
if [ -e "$build/lib/libccs-mpi.so" ]; then
	say "what is preloaded exports functions of MPI's only, and calls public ones of ccs" \
		"$(nm -D --defined-only "$build/lib/libccs-mpi.so" | awk '{ print $3 }' |
		   grep -vE '^MPI_|^o?mpi_[a-z_]*_(f|f08_)?$|^_init$|^_fini$'
		   nm -D -u "$build/lib/libccs-mpi.so" | awk '$NF ~ /^ccs_/ { print $NF }' |
		   grep -vFx -f "$build/public.names"
		   nm -D -u "$build/lib/libccs-mpi.so" | awk '$NF ~ /^MPI_/' |
		   grep -vE '_(NULL_COPY|NULL_DELETE|DUP)_FN$')"
	say "... and has one pointer that is written" \
		"$(objdump -t $(objects $r/preload) | awk '$0 ~ / O / && $0 ~ / \.(data|bss)\t/ {
			print $NF }' | grep -vx of_process)"
else
	echo "skip - what libccs-mpi.so exports: it was not built (there is no mpicc)"
fi
refuses() { # refuses TEXT OPTION...: the header does, before all else
	text=$1
	shift
	echo '#include "runtime/ccs.h"' | ${CC:-cc} -std=c11 -I. "$@" -fsyntax-only -x c - 2>&1 |
		grep 'error' | head -n 1 | grep -q "error.*$text" || echo "not refused: $*"
}
say "the public header is C++, too" \
	"$(echo '#include "runtime/ccs.h"' | ${CXX:-c++} -std=c++11 -I. -pedantic -Wall -Wextra \
		-Werror -fsyntax-only -x c++ - 2>&1)"
say "systems of 32 bits, or with the bytes the other way round, are refused in words" \
	"$(refuses 'needs a 64-bit system' -U__LP64__
	   refuses 'needs a little-endian system' -U__BYTE_ORDER__ \
		-D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__)"
# Without isl and expat: their headers are hidden by ones that are refused.
none=$(mktemp -d)
trap 'rm -rf "$none"' EXIT
mkdir "$none/isl"
echo '#error hidden' | tee "$none/expat.h" >"$none/isl/ctx.h"
without=$(make -n BUILD="$none/build" CC="${CC:-cc} -I$none" MPICC= 2>&1)
say "without isl and expat neither is linked, nor what needs them compiled" \
	"$(echo "$without" | grep -E -- '-lisl|-lexpat|HAVE_ISL|xml/xml\.c|\*\*\*')"
say "... but what stands for it" \
	"$(for f in xml/unread.c every/every.c; do
		echo "$without" | grep -q -- "-c -o .* compiler/$f$" || echo "$f is missing"
		${CC:-cc} -std=c11 -D_GNU_SOURCE -I. -I"$none" -Wall -Wextra -Werror -fsyntax-only \
			"compiler/$f"
	   done 2>&1)"
say "generated files are not in git" \
	"$(git ls-files 2>/dev/null | grep -E '\.(o|so|a|d)$|^build/')"
exit $failed
