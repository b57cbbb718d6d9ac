#!/bin/sh
# Where one rank decides for all, `ccc` prints what it prints with --all-ranks, byte by byte:
# the whole library, as text and as JSON, with warnings.     usage: symmetry_test.sh BUILD
set -u
. tests/support/lib.sh
build=${1:-build}
ccc=$build/bin/ccc
ring=schedules/ring_allreduce.ccs

# same NAME ARGUMENTS: both ways
same() {
	name=$1
	shift
	"$ccc" "$@" >"$tmp/one" 2>&1
	echo $? >>"$tmp/one"
	"$ccc" "$@" --all-ranks >"$tmp/all" 2>&1
	echo $? >>"$tmp/all"
	if cmp -s "$tmp/one" "$tmp/all"; then ok "$name"; else
		not_ok "$name" "$(diff "$tmp/one" "$tmp/all")"; fi
}

for file in schedules/*.ccs; do
	same "$file" check "$file" -n 2..12 --diagnostics-format=json
done
for file in $ring schedules/direct_allreduce.ccs schedules/bruck_all_to_all.ccs schedules/broken/*.ccs; do
	same "$file, as text" check "$file"
done
same "a table" table -n 2..9 schedules/*_all_to_all.ccs schedules/ring_*.ccs
same "fewer slots" check schedules/direct_allreduce.ccs --slots 0 -n 5
same "a requirement that does not hold" check $ring -n 4 --require same-bits=counts
same "what nothing needs" check tests/check/diag/w0401_round_too_many.ccs

cat >"$tmp/again.ccs" <<'END'
schedule again(R = 0) implements broadcast(inout data[1]; root = R) {
  let v = (rank - R) % N
  if v > 0     { recv data from (rank - 1) % N }
  if v < N - 1 { send data to (rank + 1) % N }
  step { send data to (rank + 1) % N recv data from (rank - 1) % N }
}
END
same "what nothing needs, whatever the root" check "$tmp/again.ccs"

# ---- at the scale of clusters -----------------------------------------------------------
status "24576 ranks" 0 "$ccc" check $ring -n 24576 -v
says "... in 2(N-1) steps" "$tmp/out" '^  steps           49150 at N = 24576$'
says "... by rank 0" "$tmp/err" '^  symmetry .* 98300 operations'
status "... all of which are too many to be stored" 1 "$ccc" check $ring -n 24576 --all-ranks \
	--require same-bits=ranks
says "... which it says" "$tmp/err" 'LIMIT_'
status "65536 ranks that mirror one another" 0 "$ccc" check schedules/swing_allreduce.ccs -n 65536 -v
says "... by rank 0" "$tmp/err" '^  symmetry .* 64 operations'
for file in direct ring; do
	status "$file, with more initial values than have numbers" 0 \
		"$ccc" check schedules/${file}_allreduce.ccs -n 65536 -v
	says "... by rank 0" "$tmp/err" '^  symmetry .* 262140 operations'
	holds "... with the reason that there is for fewer ranks" grep -qxF \
		"$("$ccc" check schedules/${file}_allreduce.ccs -n 9 | grep 'same bits')" "$tmp/out"
done
status "4096 ranks, each the root" 0 "$ccc" check schedules/binomial_broadcast.ccs -n 4096 -v
says "... by root 0" "$tmp/err" '^  root 0 decides for all$'
for file in direct_gather binomial_scatter; do
	status "$file with 2048 ranks, each the root" 0 "$ccc" check schedules/$file.ccs -n 2048 -v
	says "... by root 0" "$tmp/err" '^  root 0 decides for all$'
done
status "roots that are not alike" 0 "$ccc" check schedules/hierarchical_broadcast.ccs -n 4 -v
holds "... are looked at each by itself" sh -c '! grep -q "root 0 decides" "$1"' sh "$tmp/err"

# ---- how far it has come ------------------------------------------------------------------
long=schedules/hierarchical_broadcast.ccs
holds "a long check says on a terminal how far it has come" on_terminal \
	'\r\x1b\[Khierarchical_broadcast, N = 8192, root [0-9]+ of 8192' \
	"$ccc" check $long -n 8192 --all-ranks
holds "... and which of several numbers of ranks" on_terminal \
	'\r\x1b\[Khierarchical_broadcast, N = 8192 \(1 of 2 done\), root [0-9]+ of 8192' \
	"$ccc" check $long -n 4,8192 --all-ranks
if on_terminal '\x1b' "$ccc" check $ring -n 2..64; then
	not_ok "... and a short one does not" "it has an escape sequence"
else ok "... and a short one does not"; fi
status "-v of what is not symmetric" 0 "$ccc" check schedules/binomial_reduce.ccs -n 4 -v
says "... why" "$tmp/err" '^  rank 0 does not decide for all: a condition that differs from rank to rank$'
exit $failed
