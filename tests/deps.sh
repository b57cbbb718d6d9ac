#!/bin/sh
# Installs what building and testing need and this machine lacks, asking for
# nothing. On a Debian-like system with the rights to do so it uses apt-get;
# elsewhere it names what is missing and fails.
set -u

missing=
need() { # need COMMAND PACKAGE...
	command=$1
	shift
	command -v "$command" >/dev/null 2>&1 || missing="$missing $*"
}
header() { # header NAME PACKAGE: cmocka.h needs the four others before it
	printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "$1" |
		${CC:-cc} -E -x c - >/dev/null 2>&1 || missing="$missing $2"
}

need ${CC:-cc} gcc libc6-dev
need make make
need flex flex
need bison bison
header jansson.h libjansson-dev
if [ "${1:-}" = check ]; then
	header cmocka.h libcmocka-dev
	need ${CXX:-g++} g++
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
