#!/bin/sh
# The -n option for N in 1..9 as far as the schedule's `where` admits them (an
# error other than E0205 is no reason to leave an N out).
# usage: admitted.sh CCC FILE.ccs
list=
for n in 1 2 3 4 5 6 7 8 9; do
	said=$("$1" check "$2" -n $n 2>&1) || case $said in *E0205*) continue ;; esac
	list=$list,$n
done
[ -n "$list" ] && echo "-n ${list#,}"
