#!/bin/sh
# make install and uninstall with PREFIX and DESTDIR: what is installed works
# from there, and uninstalling leaves nothing.   usage: install_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
dest=$tmp/stage

status "make install" 0 make -s BUILD="$build" PREFIX=/usr DESTDIR="$dest" install
for f in bin/ccc bin/ccrun include/ccs.h lib/libccs.so lib/pkgconfig/ccs.pc \
	 share/man/man1/ccc.1 share/man/man1/ccrun.1 share/man/man5/ccs.5 \
	 share/ccs/schedules/ring_allreduce.ccs; do
	holds "installs $f" test -e "$dest/usr/$f"
done
status "the installed ccc runs" 0 "$dest/usr/bin/ccc" --version
status "pkg-config knows ccs" 0 env PKG_CONFIG_PATH="$dest/usr/lib/pkgconfig" \
	PKG_CONFIG_SYSROOT_DIR="$dest" pkg-config --cflags --libs ccs
says "... and gives the library" "$tmp/out" '-lccs'
flags=$(cat "$tmp/out")
cat >"$tmp/p.c" <<'EOF'
#include <ccs.h>
#include <stdio.h>
int main(void) { return puts(ccs_version()) < 0; }
EOF
# shellcheck disable=SC2086
status "a program builds against the installed library" 0 ${CC:-cc} -o "$tmp/p" "$tmp/p.c" $flags ${SAN:-}
status "... and runs" 0 env LD_LIBRARY_PATH="$dest/usr/lib" "$tmp/p"
status "make uninstall" 0 make -s BUILD="$build" PREFIX=/usr DESTDIR="$dest" uninstall
left=$(find "$dest" -type f -o -type l 2>/dev/null)
if [ -z "$left" ]; then ok "uninstall leaves no file"; else not_ok "uninstall leaves no file" "$left"; fi
exit $failed
