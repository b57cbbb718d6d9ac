#!/bin/sh
# Whether the sources need nothing but what any C library has: all are compiled with musl's
# headers, and a program, linked with musl, runs a module. usage: musl_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
bare_environment

if ! command -v musl-gcc >/dev/null 2>&1; then
	echo "skip - musl: there is no musl-gcc (Debian: musl-tools)"
	exit 0
fi

# jansson's and expat's headers are no other library's business than their own
mkdir "$tmp/include" "$tmp/o"
for header in $(printf '#include <%s.h>\n' jansson expat | ${CC:-cc} -M -x c - | tr ' ' '\n' |
	grep -E 'jansson|expat'); do
	cp "$header" "$tmp/include"
done
musl() { # musl OPTION|SOURCE...
	musl-gcc -std=c11 -I. -I"$build" -I"$tmp/include" -D_GNU_SOURCE -DCCS_VERSION='"musl"' \
		-DCCS_LIBRARY_DIR='"/nowhere"' -DCCS_PLUGIN_DIR='"/nowhere"' -Wall -Wextra -Werror -Wno-unused-function "$@"
}
for folder in lang compiler runtime/ccrun; do
	# shellcheck disable=SC2046
	status "$folder compiles with musl" 0 musl -fsyntax-only \
		$(find "$folder" "$build/$folder" -name '*.c')
done
objects() { # of the runtime, in $tmp/o; ccrun's would need jansson, plug-ins MPI, made with musl
	for source in $(find runtime -name '*.c' ! -path 'runtime/ccrun/*' \
		! -path 'runtime/preload/*' ! -name plugin.c); do
		musl -c -o "$tmp/o/$(echo "$source" | tr / _).o" "$source" || return 1
	done
}
status "runtime compiles with musl" 0 objects

status "a program links with musl" 0 musl -Iruntime -o "$tmp/run" examples/load_and_run.c \
	"$tmp"/o/*.o -lpthread -ldl -lm
cp "$build/tests/modules/ring_allreduce.so" "$tmp/ar.so"
status "... and runs a module" 0 sh -c "cd '$tmp' && ./run"
says "... rightly" "$tmp/out" '^60 64 68 72 76 80$'
exit $failed
