#!/bin/sh
# make install and uninstall: what is installed works from there, and uninstalling leaves
# nothing; with directories of any names, and spaces in all paths.
# usage: install_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
dest=$tmp/stage

cat >"$tmp/p.c" <<'EOP'
#include <ccs.h>
#include <stdio.h>
int main(void) { return puts(ccs_version()) < 0; }
EOP
# A file of the library, and one that imports another.
cat >"$tmp/own.ccs" <<'EOP'
import "ring_allreduce.ccs"
schedule own implements allreduce(inout data[N]) on ring { ring_allreduce(data) }
EOP

# installed WHAT BIN LIB INCLUDE DATA MAN DOC: all is there, below $dest, and works
installed() {
	what=$1
	for f in "$2/ccc" "$2/ccrun" "$3/libccs.so" "$3/libccs.so.0" "$3/libccs.a" \
			"$3/pkgconfig/ccs.pc" "$4/ccs.h" "$5/ccs/schedules/ring_allreduce.ccs" \
			"$5/ccs/schedules/machines/hgx_h100.ccs" "$5/ccs/schedules/pipelines/generate.py" \
			"$5/ccs/schedules/pipelines/v_4x8.csv" \
			"$6/man1/ccc.1" "$6/man1/ccrun.1" "$6/man5/ccs.5" "$6/man5/ccs-tuning.5" \
			"$6/man3/ccs.3" "$6/man3/ccs_run.3" "$6/man3/ccs_comm_split.3" \
			"$6/man3/ccs_barrier.3" "$7/README.md" "$7/LICENSE" "$7/docs/tutorial.md" \
			"$7/docs/course/1-send-recv.md" "$6/man7/libccs-mpi.7" "$5/vim/vimfiles/syntax/ccs.vim" \
			"$5/vim/vimfiles/ftdetect/ccs.vim" "$5/vim/vimfiles/ftplugin/ccs.vim" \
			"$5/emacs/site-lisp/ccs-mode.el" "$5/ccs/vscode/package.json" \
			"$5/ccs/vscode/syntaxes/ccs.tmLanguage.json" \
			"$5/ccs/tree-sitter-ccs/grammar.js" \
			"$5/ccs/tree-sitter-ccs/queries/highlights.scm" \
			"$5/bash-completion/completions/ccc" "$5/zsh/site-functions/_ccrun" \
			"$5/fish/vendor_completions.d/ccc.fish"; do
		holds "$what: $f" test -e "$dest$f"
	done
	for f in libccs_mpi.so libccs-mpi.so; do
		[ ! -e "$build/lib/$f" ] || holds "$what: $3/$f" test -e "$dest$3/$f"
	done
	status "$what: ccc runs" 0 "$dest$2/ccc" --version
	status "... ccrun has the tuning that comes with it" 0 "$dest$2/ccrun" -n 2 --table default allreduce -e 64
	status "... pkg-config knows ccs" 0 env PKG_CONFIG_PATH="$dest$3/pkgconfig" \
		PKG_CONFIG_SYSROOT_DIR="$dest" pkg-config --cflags --libs ccs
	says "... and gives the library" "$tmp/out" '-lccs'
	# its words are quoted for the shell
	cp "$tmp/out" "$tmp/pc"
	eval "status '... a program builds against it' 0 ${CC:-cc} -o '$tmp/p' '$tmp/p.c' \
		$(cat "$tmp/out") ${SAN:-}"
	status "... and runs" 0 env LD_LIBRARY_PATH="$dest$3" "$tmp/p"
	eval "status '... with an rpath' 0 ${CC:-cc} -o '$tmp/p' '$tmp/p.c' \
		$(cat "$tmp/pc") ${SAN:-} '-Wl,-rpath,$dest$3'"
	status "... it needs nothing else" 0 "$tmp/p"
}
emptied() { # emptied WHAT FOLDER...: no file, and none of these folders
	title=$1
	shift
	left=$(find "$dest" -type f -o -type l 2>/dev/null)
	if [ -z "$left" ]; then ok "$title leaves no file"; else not_ok "$title leaves no file" "$left"; fi
	left=$(find "$@" 2>/dev/null)
	if [ -z "$left" ]; then ok "... and no folder"; else not_ok "... and no folder" "$left"; fi
	rm -rf "$dest"
}

# A checkout of its own: what is installed is linked for where it goes, and other suites
# use ccc meanwhile. What was built comes along: its files are no newer than they were.
here="$tmp/a check out"
mkdir -p "$here/$build"
cp -a Makefile README.md LICENSE lang compiler runtime editors schedules docs examples tests bench "$here"
for part in lang compiler runtime bin lib system.ok prefix; do
	cp -a "$build/$part" "$here/$build"
done
remake() { make -s -C "$here" BUILD="$build" "$@"; }

status "make install" 0 remake prefix=/usr DESTDIR="$dest" install
installed "PREFIX" /usr/bin /usr/lib /usr/include /usr/share /usr/share/man /usr/share/doc/ccs
status "make uninstall" 0 remake prefix=/usr DESTDIR="$dest" uninstall
emptied "uninstall" "$dest/usr/share/ccs" "$dest/usr/share/vim" "$dest/usr/share/doc/ccs" "$dest/usr/lib/ccs"

# Directories of other names, in capitals or not. ccc finds its library there: nothing is below DESTDIR now.
dest=
top=$tmp/opt
set -- PREFIX="$top" bindir="$top/b" LIBDIR="$top/lib64/multi" includedir="$top/inc/ccs" \
	DATADIR="$top/data" mandir="$top/manuals" DOCDIR="$top/papers"
status "make install with all directories" 0 remake "$@" install
installed "directories" "$top/b" "$top/lib64/multi" "$top/inc/ccs" "$top/data" "$top/manuals" "$top/papers"
says "ccs.pc follows its prefix" "$top/lib64/multi/pkgconfig/ccs.pc" \
	'^libdir=\$\{prefix\}/lib64/multi$'
status "ccc finds the schedules there" 0 "$top/b/ccc" check -n 2..4 "$tmp/own.ccs"
"$top/b/ccc" schedules/ring_allreduce.ccs -n 1 --target=cpu -o "$tmp/one.so" 2>"$tmp/err"
cp "$build/tests/fake_mpi/libfake_mpi.so" "$top/lib64/multi/libccs_mpi.so"
status "ccrun finds the plug-in for MPI there" 0 "$top/b/ccrun" -n 1 -e 64 "$tmp/one.so" \
	--against mpi
says "... which is the one that lies there" "$tmp/out" 'baseline: Fake MPI'
status "make uninstall with all directories" 0 remake "$@" uninstall
dest=$top
emptied "uninstall of these" "$top"

# Spaces everywhere: in the checkout's path, where some is compiled and all linked anew, and
# in where it goes.
dest="$tmp/a stage"
touch "$here/lang/base/arena.c" "$here/compiler/check/deadlock.c" "$here/runtime/plan/load.c"
status "make install where all paths have spaces" 0 remake \
	PREFIX="/opt/my ccs" DESTDIR="$dest" install
installed "spaces" "/opt/my ccs/bin" "/opt/my ccs/lib" "/opt/my ccs/include" \
	"/opt/my ccs/share" "/opt/my ccs/share/man" "/opt/my ccs/share/doc/ccs"
status "... ccc finds the schedules beside itself, wherever it is now" 0 \
	"$dest/opt/my ccs/bin/ccc" check -n 2..4 "$tmp/own.ccs"
(cd "$here" && "$dest/opt/my ccs/bin/ccc" schedules/ring_allreduce.ccs -n 4 --target=cpu \
	-o "a module.so") 2>"$tmp/err"
status "... ccrun runs a module there" 0 "$dest/opt/my ccs/bin/ccrun" -n 4 -e 1K --iters 1 \
	"$here/a module.so"
status "make uninstall there" 0 remake PREFIX="/opt/my ccs" \
	DESTDIR="$dest" uninstall
emptied "uninstall there" "$dest/opt/my ccs"
exit $failed
