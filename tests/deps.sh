#!/bin/sh
# Installs what building and testing need and this machine lacks, asking for
# nothing. On a Debian-like system with the rights to do so it uses apt-get;
# elsewhere it names what is missing and fails.
set -u

missing=
need() { # need COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}
header() { # header NAME PACKAGE
	echo "#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1 || missing="$missing $2"
}

need ${CC:-cc} gcc
need make make
need flex flex
need bison bison
command -v ${CC:-cc} >/dev/null 2>&1 || missing="$missing libc6-dev"
header jansson.h libjansson-dev
if [ "${1:-}" = check ]; then
	header stddef.h libc6-dev
	printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\n' |
		${CC:-cc} -E -x c - >/dev/null 2>&1 || missing="$missing libcmocka-dev"
	need spin spin
	need man man-db
	need pkg-config pkg-config
fi
if [ "${1:-}" = fuzz ]; then
	need clang clang
fi
[ -n "$missing" ] || exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing; install them and try again" >&2
	exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $sudo apt-get install -y --no-install-recommends $missing </dev/null >"$log" 2>&1 ||
       { $sudo apt-get update </dev/null >"$log" 2>&1 &&
	 $sudo apt-get install -y --no-install-recommends $missing </dev/null >>"$log" 2>&1; }; }; then
	cat "$log" >&2
	echo "could not install:$missing" >&2
	exit 1
fi
