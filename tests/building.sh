#!/bin/bash
# make, with how far it has come: on a terminal one line, written over, how many files of all are compiled;
# elsewhere make's own lines.
# usage: building.sh MAKE ARGUMENT...
set -o pipefail
[ -t 1 ] && [ "${TERM:-dumb}" != dumb ] || exec "$@"
all=$("$1" -n "${@:2}" | grep -c -- ' -c -o ')
"$@" | awk -v all="$all" '
	/ -c -o / { printf "\r\033[Kbuilding: %d of %d files", ++n, all; fflush() }
	END { printf "\r\033[K" }'
