#!/bin/sh
# The two commands from outside: options, exit statuses, what goes where, and
# that nothing is half written.   usage: cli_test.sh BUILD
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc
ccrun=${1:-build}/bin/ccrun
ring=schedules/ring_allreduce.ccs

cat >"$tmp/broken.ccs" <<'EOF'
schedule broken
  implements allreduce(inout data[N])
{
  send data[0] to (rank + 1) % N
}
EOF

# ---- ccc: exit statuses -----------------------------------------------------------
status "ccc --help" 0 "$ccc" --help
says "help goes to stdout and names the options" "$tmp/out" '--slots'
status "ccc --version" 0 "$ccc" --version
status "ccc without a file is a usage error" 2 "$ccc"
status "an unknown option is a usage error" 2 "$ccc" check $ring --slot 4
says "... and the nearest option is named" "$tmp/err" '--slots'
status "a missing file" 2 "$ccc" check "$tmp/none.ccs"
says "... is named" "$tmp/err" 'none.ccs'
status "a directory as file" 2 "$ccc" check "$tmp"
status "an unknown action's file" 2 "$ccc" chekc $ring
status "-n 0" 2 "$ccc" check $ring -n 0
status "-n 4..2" 2 "$ccc" check $ring -n 4..2
status "-n x" 2 "$ccc" check $ring -n x
status "-n 99999999999999999999" 2 "$ccc" check $ring -n 99999999999999999999
status "--slots -1" 2 "$ccc" check $ring --slots -1
status "-D of an unknown parameter" 2 "$ccc" check schedules/ring2d_allreduce.ccs -D Y=2
says "... names those that there are" "$tmp/err" '`?X`?'
status "-D without a value" 2 "$ccc" check schedules/ring2d_allreduce.ccs -D X
status "an unknown --schedule" 2 "$ccc" check $ring --schedule rong_allreduce
says "... names the nearest" "$tmp/err" 'ring_allreduce'
status "an unknown --emit" 2 "$ccc" $ring --emit=plam
status "compiling with rendezvous FIFOs" 2 "$ccc" $ring --slots 0 -o "$tmp/x.so"
status "a good schedule" 0 "$ccc" check $ring
status "a wrong schedule" 1 "$ccc" check "$tmp/broken.ccs"
holds "... errors go to stderr, nothing to stdout" test ! -s "$tmp/out"
status "N that where refuses" 1 "$ccc" check schedules/swing_allreduce.ccs -n 3
says "... says E0205" "$tmp/err" 'E0205'
status "stdin" 0 sh -c "'$ccc' check - <$ring"
status "a file without a schedule has nothing to compile" 2 "$ccc" /dev/null -o "$tmp/x.so"
status "... but its names can be checked" 0 "$ccc" check /dev/null
for code in E0101 E0201 E0202 E0203 E0204 E0205 E0206 E0301 E0302 E0303 E0304 E0305 E0306 \
	    E0401 E0402 E0403 E0404 E0405 E0406 E0501; do
	status "--explain $code" 0 "$ccc" --explain $code
	says "... tells more than its title" "$tmp/out" '.{20}'
done
status "--explain of no code" 2 "$ccc" --explain E0999

# ---- the report --------------------------------------------------------------------
"$ccc" check $ring >"$tmp/report" 2>/dev/null
says "report: title" "$tmp/report" '^ring_allreduce: allreduce, N = 2\.\.16$'
says "report: deadlock-free" "$tmp/report" 'deadlock-free +yes, with any number of slots'
says "report: computes" "$tmp/report" 'computes +allreduce, proved for every N asked'
says "report: races" "$tmp/report" 'races +none'
says "report: same bits" "$tmp/report" 'same bits +on every rank'
says "report: steps" "$tmp/report" 'steps +2\(N-1\) = 6 at N = 4'
says "report: volume" "$tmp/report" 'sent per rank +1\.50 S at N = 4; the lower bound is 1\.50 S'
"$ccc" check $ring -n 4,8 --diagnostics-format=json 2>"$tmp/json" >/dev/null
says "report as JSON" "$tmp/json" '"severity": ?"report"'
says "JSON keys" "$tmp/json" '"min_slots".*|"sent_per_rank"'
"$ccc" check schedules/halving_doubling_allreduce.ccs >"$tmp/report" 2>/dev/null
says "a report over the Ns that where admits" "$tmp/report" 'N = 2, 4, 8, 16'

# ---- products -----------------------------------------------------------------------
status "compile" 0 "$ccc" $ring -n 2..4 -o "$tmp/ring.so"
holds "... leaves no other file" test "$(ls "$tmp" | grep -c '^ring')" = 1
cp "$tmp/ring.so" "$tmp/first.so"
mkdir -p "$tmp/else where"
cp $ring "$tmp/else where/"
status "compile from another place" 0 "$ccc" "$tmp/else where/ring_allreduce.ccs" -n 2..4 \
	-o "$tmp/else where/again.so"
holds "... gives the same bytes" cmp -s "$tmp/first.so" "$tmp/else where/again.so"
status "a failing compilation" 1 "$ccc" "$tmp/broken.ccs" -o "$tmp/ring.so"
holds "... leaves the existing file alone" cmp -s "$tmp/first.so" "$tmp/ring.so"
status "... and makes no new one" 1 "$ccc" "$tmp/broken.ccs" -o "$tmp/new.so"
holds "... indeed" test ! -e "$tmp/new.so"
status "an output that cannot be written" 2 "$ccc" $ring -n 2 -o "$tmp/no/such/x.so"
for stage in ast program plan header json; do
	status "--emit=$stage" 0 "$ccc" $ring -n 3 --emit=$stage
	holds "... prints something" test -s "$tmp/out"
	cp "$tmp/out" "$tmp/emitted"
	"$ccc" $ring -n 3 --emit=$stage -o "$tmp/file" 2>/dev/null
	holds "... the same with -o" cmp -s "$tmp/emitted" "$tmp/file"
done
status "explain" 0 "$ccc" explain $ring -n 4
says "... shows who sends what" "$tmp/out" 'data\[0\]'
status "fmt --check of a canonical file" 0 "$ccc" fmt --check $ring
sed 's/^    step/  step/' $ring >"$tmp/odd.ccs"
status "fmt --check of another" 1 "$ccc" fmt --check "$tmp/odd.ccs"

# ---- options of gcc's kind -----------------------------------------------------------
status "colour on demand" 1 "$ccc" check "$tmp/broken.ccs" --color=always
says "... is there" "$tmp/err" "$(printf '\033')"
status "no colour by default in a file" 1 "$ccc" check "$tmp/broken.ccs"
holds "... is not there" sh -c "! grep -q '$(printf '\033')' '$tmp/err'"

# ---- ccrun ------------------------------------------------------------------------------
status "ccrun --help" 0 "$ccrun" --help
status "ccrun --version" 0 "$ccrun" --version
status "ccrun without a file" 2 "$ccrun" -n 4
status "ccrun of no module" 2 "$ccrun" -n 4 $ring
status "ccrun of a missing file" 2 "$ccrun" -n 4 "$tmp/none.so"
status "ccrun" 0 "$ccrun" -n 4 "$tmp/ring.so" -e 64K
says "... prints nccl-tests' columns" "$tmp/out" 'size +count +type +redop +root'
says "... checks every element" "$tmp/out" '#wrong'
status "ccrun with an N that the module lacks" 2 "$ccrun" -n 7 "$tmp/ring.so"
says "... says which it has" "$tmp/err" '2.*4'
status "ccrun --against nccl" 4 "$ccrun" -n 4 "$tmp/ring.so" --against nccl
status "ccrun --against mpi" 4 "$ccrun" -n 4 "$tmp/ring.so" --against mpi
status "ccrun, another type and operator" 0 "$ccrun" -n 3 "$tmp/ring.so" -d bfloat16 -o max -e 4K
status "ccrun, an unknown type" 2 "$ccrun" -n 3 "$tmp/ring.so" -d float17
status "ccrun, all types and operators" 0 "$ccrun" -n 3 "$tmp/ring.so" -d all -o all -e 1K
exit $failed
