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
status "... without its value, too" 2 "$ccc" check $ring --slot
says "... is not taken for another one" "$tmp/err" "unknown option '--slot'; did you mean '--slots'"
cat >"$tmp/three.ccs" <<'EOF'
contract c(inout d[C])
schedule three
  implements c(inout d[1])
{
  scratch t[2]
  if rank == 0 {
    send d to 1
    send d to 2
  }
  if rank == 1 {
    recv t[0] from 2
    recv t[1] from 0
  }
  if rank == 2 {
    send d    to   1
    recv t[0] from 0
  }
}
EOF
for how in "" --all-ranks; do
	for slots in 0:3 1:2 8:2; do
		# shellcheck disable=SC2086
		status "steps ($how)" 0 "$ccc" check -w "$tmp/three.ccs" -n 3 --slots ${slots%:*} $how
		says "... with ${slots%:*} slots" "$tmp/out" "steps +${slots#*:} at N = 3"
	done
done
status "explain without slots" 0 "$ccc" explain -w "$tmp/three.ccs" -n 3 --slots 0
says "... has a step more" "$tmp/out" "^step 3\$"
cat >"$tmp/swap.ccs" <<'END'
schedule swap
  implements all_to_all(in a[N], out b[N])
  where N == 2
{
  copy a[rank] into b[rank]
  send a[1 - rank] to 1 - rank
  recv b[1 - rank] from 1 - rank
}
END
status "a swap without slots" 1 "$ccc" check "$tmp/swap.ccs" --slots 0
says "... is cured in its text" "$tmp/err" '= help: one .step { ... }. around lines 6 and 7 makes it right'
says "... and by slots" "$tmp/err" '= help: 1 slot or more cures it'
status "a value that is not wanted" 2 "$ccc" --version=1
says "... is told" "$tmp/err" '^ccc: error: --version takes no value'
status "a missing file" 2 "$ccc" check "$tmp/none.ccs"
says "... is named" "$tmp/err" 'none.ccs'
status "a directory as file" 2 "$ccc" check "$tmp"
mkdir "$tmp/ring.ccs"
echo 'import "ring"' >"$tmp/imports.ccs"
status "an import of what only has a directory's name" 1 "$ccc" check "$tmp/imports.ccs"
holds "... is not told to name that" test -z "$(grep 'there is' "$tmp/err")"
rm -r "$tmp/ring.ccs" "$tmp/imports.ccs"
# called WORDS PATTERN: what is said of a command line that is another program's, or misspelt
called() {
	# shellcheck disable=SC2086
	status "ccc $1" 2 "$ccc" $1
	says "... $2" "$tmp/err" "^ccc: error: $2"
}
called "chekc $ring" "unknown command 'chekc'; did you mean 'check'"
called "chekc" "unknown command 'chekc'; did you mean 'check'"
called "-n 4 chekc $ring" "unknown command 'chekc'; did you mean 'check'"
called "frobnicate $ring" "unknown command 'frobnicate'"
says "... and those that there are" "$tmp/err" 'there are check, explain, simulate, bound, table, fmt and lsp'
called "run $ring" "unknown command 'run': ccc FILE.ccs -o OUT.so makes a module, ccrun -n 4 OUT.so runs it"
called "draw $ring" "unknown command 'draw': ccc explain FILE.ccs"
called "compile $ring -o $tmp/x.so" "unknown command 'compile': ccc FILE.ccs -o OUT.so"
called "help" "unknown command 'help': ccc --help"
called "$ring check" "'check' is a command; put it first"
called "check explain $ring" "'explain' is a command; give one at a time"
for how in "-n 3,5" "--nranks 3,5" "--nranks=3,5"; do
	status "ccc check $how" 0 "$ccc" check $ring $how
	says "... is for these" "$tmp/out" "N = 3, 5"
done
rooted=schedules/binomial_broadcast.ccs
status "-D R=2" 0 "$ccc" $rooted -n 4 -D R=2 --emit=json
cp "$tmp/out" "$tmp/by-name"
for how in "--root 2" "--root=2" "-D R=1 --root 2" "--root 1 -D R=2"; do
	status "$how" 0 "$ccc" $rooted -n 4 $how --emit=json
	holds "... is the same" cmp "$tmp/by-name" "$tmp/out"
done
"$ccc" check $rooted -n 4 --root 2 >"$tmp/by-root"
"$ccc" check $rooted -n 4 >"$tmp/any-root"
says "a root that is chosen at the call is not named" "$tmp/any-root" "^  computes        broadcast, proved"
status "--root without one" 2 "$ccc" check $ring --root 2
says "... is said" "$tmp/err" "^ccc: error: --root: no schedule of the file has a parameter for its root \[E0702\]"
status "--root of a table without one" 2 "$ccc" table $ring -n 4 --root 2
says "... is said" "$tmp/err" "^ccc: error: --root: no schedule of the files has a parameter for its root"
says "a root that is fixed" "$tmp/by-root" "^  computes        broadcast \\(root = 2\\), proved"
cat >"$tmp/shift.ccs" <<'EOF'
contract shift(in a[C], out b[C]; k = 1)
  ensures b[i] == a[i]@((rank - k) % N)
schedule moved(K = 1)
  implements shift(in a[1], out b[1]; k = K)
  where N > 3
{
  step { send a to (rank + K) % N  recv b from (rank - K) % N }
}
schedule half
  implements shift(in a[1], out b[1]; k = N / 2)
  where N > 1
{
  step { send a to (rank + N / 2) % N  recv b from (rank - N / 2) % N }
}
EOF
status "parameters of a contract" 0 "$ccc" check "$tmp/shift.ccs" -n 4,6 -D K=3
says "... are told, as -D has them" "$tmp/out" "^  computes        shift \\(k = 3\\), proved"
says "... and as they follow from N" "$tmp/out" "^  computes        shift \\(k = N / 2\\), proved"
status "... as JSON" 0 "$ccc" check "$tmp/shift.ccs" -n 4,6 --diagnostics-format=json
says "... for each N" "$tmp/err" '"schedule":"half","contract":"shift","parameters":\{"k":\[2,3\]\},"ranks":\[4,6\]'
status "--root of a table" 0 "$ccc" table $ring $rooted -n 4 --root 2
status "--root that is no rank" 1 "$ccc" check $rooted -n 4 --root 4
says "... is at its place" "$tmp/err" "$rooted:5:39: error: the root is 4, and ranks are 0 to 3"
status "--root x" 2 "$ccc" check $rooted --root x
says "... is said" "$tmp/err" "^ccc: error: --root takes a rank from 0 to 65535, not 'x'"
called "check $ring -np 8" "unknown option '-np': numbers of ranks are -n LIST"
called "check $ring -N 8" "unknown option '-N': numbers of ranks are -n LIST"
called "explain $ring --json" "unknown option '--json': .*--format=json for explain"
called "check ring_allreduce -I schedules" "cannot read 'ring_allreduce'"
says "... and where the library has it" "$tmp/err" 'help: the library has it: schedules/ring_allreduce.ccs'
called "check ${ring%.ccs}" "cannot read"
says "... and the name with its ending" "$tmp/err" "did you mean '.*ring_allreduce.ccs'"
called "check $ring -r 2" "unknown option '-r': the root is a parameter of the schedule: -D R=2, or --root 2"
called "check $ring -k" "unknown option '-k' \[E0705\]\$"
called "check $ring $ring" "more than one file is given"
cp $ring "$tmp/run"
status "a file that has a command's name" 0 sh -c "cd '$tmp' && '$(cd "${ccc%/*}" && pwd)/ccc' run -n 2 --emit=plan"
status "-n 0" 2 "$ccc" check $ring -n 0
status "-n 4..2" 2 "$ccc" check $ring -n 4..2
says "... is said to be backwards" "$tmp/err" "^ccc: error: 4\.\.2 goes backwards: 2\.\.4 is from 2 to 4 \[E0705\]\$"
status "--rank 3..1" 2 "$ccc" explain $ring -n 4 --rank 3..1
says "... is, too" "$tmp/err" "^ccc: error: 3\.\.1 goes backwards: 1\.\.3 is from 1 to 3 \[E0705\]\$"
status "-n x" 2 "$ccc" check $ring -n x
status "-n 99999999999999999999" 2 "$ccc" check $ring -n 99999999999999999999
cat >"$tmp/both.ccs" <<'EOF'
schedule both
  implements allgather(in a[1], out b[N])
  where N == 2
{
  copy a into b[rank]
  send a to 1 - rank
  recv b[1 - rank] from 1 - rank
}
EOF
status "both ranks send first" 0 "$ccc" check "$tmp/both.ccs" -w -n 2
says "... is right with slots; where none are, it is named" "$tmp/out" \
	"^  deadlock-free   yes, with 1 slot or more; with unbuffered sends \\(0 slots, as for long messages in NCCL and MPI\\), every rank waits to send \\(line 6\\)\$"
for how in "" --all-ranks; do
	# shellcheck disable=SC2086
	status "where 20 slots are needed ($how)" 0 "$ccc" check -n 2 --slots 20 $how tests/check/good/many_messages_in_a_step.ccs
	says "... one less is looked at, too" "$tmp/out" "20 slots or more; with 19, every rank waits to send \(line 7\); with unbuffered sends .*, every rank waits to send \(line 7\)\$"
done
for none in 0 nccl mpi; do
	status "... --slots $none" 1 "$ccc" check "$tmp/both.ccs" -w -n 2 --slots $none
	says "... is a deadlock" "$tmp/err" '6:3: error: deadlock with 0 slots \(rendezvous\): ranks 0, 1 wait .*E0304'
done
status "--slots of another name" 2 "$ccc" check "$tmp/both.ccs" --slots gloo
says "... says what there is" "$tmp/err" "from 0 to 65536, or nccl or mpi, which are 0, not 'gloo'"
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
	    E0401 E0402 E0403 E0404 E0405 E0406 E0501 W0201 W0401 W0402 W0403; do
	status "--explain $code" 0 "$ccc" --explain $code
	says "... tells more than its title" "$tmp/out" '.{20}'
done
status "--explain of no code" 2 "$ccc" --explain E0999
status "--explain of no warning" 2 "$ccc" --explain W0304
for good in -Wall -Wextra -Wunused -Wno-unused -Werror -Werror=dead -Wno-error -Wno-error=empty -w; do
	status "$good" 0 "$ccc" check $ring -n 2 $good
done
status "a misspelt warning" 2 "$ccc" check $ring -Wno-unsed
says "... the nearest is named" "$tmp/err" "'no-unused'"
says "... and all are" "$tmp/err" 'unused, .*dead, .*empty'
for wrong in -W -Werror= -Wno-error= -Wno- -Werror=all; do
	status "$wrong is a usage error" 2 "$ccc" check $ring $wrong
done
for wrong in "-n 2," "-n ,2" "-n 2.." "-n 65537" "-n=2" "--slots 65537" "--slots x" \
	     "--color=sometimes" "--diagnostics-format=xml" "--target=gpu" "--arch=90" \
	     "--arch=sm_9x!" "--protocols=fast" "--protocols=64K:ll" "--protocols=" "--memory x" "--max-errors -1" "-Wnone" "--emit=ast" "--check" "-i"; do
	# shellcheck disable=SC2086
	status "ccc check $wrong is a usage error" 2 "$ccc" check $ring $wrong
	holds "... and says so" test -s "$tmp/err"
done
for wrong in X= X=3x X=x3 'X= 3' X=0x X=99999999999999999999; do
	status "-D '$wrong'" 2 "$ccc" check schedules/ring2d_allreduce.ccs -n 4 -D "$wrong"
	says "... is no number" "$tmp/err" "NAME=NUMBER, not '$wrong'"
done
status "a misspelt --target" 2 "$ccc" check $ring -n 2 --target=cuad
says "... the nearest is named" "$tmp/err" "did you mean 'cuda'"
for last in -n -D -I -o --slots --emit --explain; do
	status "$last without a value" 2 "$ccc" check $ring $last
done
status "an empty name for the product" 2 "$ccc" $ring -n 2 -o ""
status "a compilation without -o" 2 "$ccc" $ring
status "values attached, and after =" 0 "$ccc" check $ring -n4 --slots=2 --color=never -Werror -Wall
status "several -n, and numbers twice" 0 "$ccc" check $ring -n 4,2,2..3 -n 3
says "... are one ascending list" "$tmp/out" 'N = 2\.\.4$'
status "-D in hexadecimal" 0 "$ccc" check schedules/ring2d_allreduce.ccs -DX=0x2 -n 4
status "-D that where refuses" 1 "$ccc" check schedules/ring2d_allreduce.ccs -D X=3 -n 4
status "-D without -n keeps the Ns that fit" 0 "$ccc" check schedules/ring2d_allreduce.ccs -D X=3
says "... indeed" "$tmp/out" 'N = 3, 6, 9, 12, 15'
status "the last -D counts" 0 "$ccc" check schedules/ring2d_allreduce.ccs -D X=3 -D X=2 -n 4
status "too little memory" 1 "$ccc" check $ring --memory 1 -n 512 --all-ranks
says "... is E0501, with the figure" "$tmp/err" '1 MiB.*E0501'
says "... and no place" "$tmp/err" '^ccc: error: '
for kernels in float16:max float16:max,all:sum float64; do
	status "--kernels=$kernels" 0 "$ccc" check $ring -n 2 --kernels=$kernels
done
for kernels in float17 float16:mix float16: float16:max, :sum; do
	status "--kernels=$kernels" 2 "$ccc" check $ring -n 2 --kernels=$kernels
done
status "a text of two bytes a character" 1 sh -c "printf '\\377\\376s\\0' | '$ccc' check -"
says "... is told as such" "$tmp/err" 'UTF-16'
status "... the other way round" 1 sh -c "printf '\\376\\377\\0s' | '$ccc' check -"
says "... too" "$tmp/err" 'UTF-16'
status "a NUL" 1 sh -c "printf '\\377s\\0' | '$ccc' check -"
says "... is one" "$tmp/err" 'a NUL byte'
status "-v" 0 "$ccc" check $ring -n 2 -v
says "... names the passes" "$tmp/err" 'deadlock'
mkdir -p "$tmp/first" "$tmp/second" "$tmp/at"
echo 'let which = 1' >"$tmp/first/which.ccs"
echo 'let which = 2' >"$tmp/second/which.ccs"
cat >"$tmp/at/main.ccs" <<'EOF'
import "which.ccs"
contract c(inout d[C])
schedule s(W = 0)
  implements c(inout d[1])
{
  assert which == W, "which"
}
EOF
status "an import that is nowhere" 1 "$ccc" check "$tmp/at/main.ccs"
says "... is E0201" "$tmp/err" 'E0201'
status "an import from -I, the first first" 0 "$ccc" check "$tmp/at/main.ccs" -D W=1 \
	-I "$tmp/first" -I "$tmp/second"
echo 'let which = 3' >"$tmp/at/which.ccs"
status "an import beside the file goes before -I" 0 "$ccc" check "$tmp/at/main.ccs" -D W=3 \
	-I "$tmp/first"

# ---- the texts of --explain ----------------------------------------------------------
for code in $(sed -n 's/^\([EW][0-9]\{4\}\)$/\1/p' lang/ccs.5); do
	status "--explain $code" 0 "$ccc" --explain "$code"
	awk '/^Cure/ { exit } /^    / { print substr($0, 5) }' "$tmp/out" >"$tmp/example.ccs"
	grep -q schedule "$tmp/example.ccs" || continue # of the machine, or of a bug
	# shellcheck disable=SC2046
	"$ccc" check $(sed -n 's/^\/\/ ccc check //p' "$tmp/example.ccs") "$tmp/example.ccs" \
		>"$tmp/said" 2>&1
	holds "... its example has it, and nothing else" sh -c \
		"test \"\$(grep -o '\[[EW][0-9][0-9]*' '$tmp/said' | sort -u)\" = '[$code'"
	holds "... and lines of at most 80 columns" sh -c "! grep -q '.\{81\}' '$tmp/out'"
done

# ---- messages on GPUs ---------------------------------------------------------------
status "--protocols" 0 "$ccc" $ring -n 3 --protocols=1K:ll/2,3M:simple,ll/4 --emit=plan
says "... is what the plan has" "$tmp/out" 'protocols 1K:ll/2,3M:simple,ll/4$'
says "a plan counts its direct and held messages, and direct reads" "$tmp/out" "^  12 messages, 6 direct, 9 held, direct reads 3 of 6; "
says "... and where they go" "$tmp/out" " to rank 1's data\\[0\\] \\(fifo 0\\)"
status "--protocols, for programs" 0 "$ccc" $ring -n 3 --protocols 1K:ll/2,simple --emit=json
says "... is there, too" "$tmp/out" '"choices":\[\{"bytes":1024,"protocol":"ll","channels":2\},\{"bytes":null,"protocol":"simple","channels":0\}\]'
status "a plan without --protocols" 0 "$ccc" $ring -n 8 -v --emit=plan
says "... has a table that ends with simple" "$tmp/out" 'protocols [0-9]+[KM]:ll,simple$'
says "-v counts direct messages" "$tmp/err" '56 of 56 messages that are stored unchanged are direct; 0 not'
says "... and held ones" "$tmp/err" 'messages that their sender has in cells are held there; 0 not'
status "a wrong table" 2 "$ccc" $ring --protocols=64K:ll,32K:fast,simple --emit=plan
says "... its row is named" "$tmp/err" "row 2, '32K:fast': sizes must ascend"
status "an unknown protocol" 2 "$ccc" $ring --protocols=64K:ll,fast --emit=plan
says "... those that there are" "$tmp/err" "there is no protocol 'fast'; use ll or simple"
for option in --protocols=simple --streams=pair --eager=1K; do
	status "check $option of a schedule" 2 "$ccc" check $ring "$option"
	says "... is refused" "$tmp/err" 'belongs to ccc FILE|are for pipelines, whose files end in .csv'
done

# ---- no limit is silent -----------------------------------------------------------
{ echo 'contract c(inout d[30])'
  for i in $(seq 0 29); do echo "  ensures d[$i] == sum(q in 0..N: d[$i]@q)"; done
  printf 'schedule s\n  implements c(inout d[30])\n{\n}\n'; } >"$tmp/many.ccs"
status "more wrong clauses than are shown" 1 "$ccc" check "$tmp/many.ccs" -n 2
says "... are counted" "$tmp/err" '12 more final chunks are wrong'

# ---- the report --------------------------------------------------------------------
"$ccc" check $ring >"$tmp/report" 2>/dev/null
says "report: title" "$tmp/report" '^ring_allreduce: allreduce, N = 2\.\.16$'
says "report: deadlock-free" "$tmp/report" 'deadlock-free +yes, even with unbuffered sends'
says "report: computes" "$tmp/report" 'computes +allreduce, proved for every N >= 2'
says "report: same bits" "$tmp/report" \
	'same bits +on every rank; not for every count \(chunk 0 begins with rank 1, chunk 1 with rank 2\)$'
says "report: races" "$tmp/report" 'races +none'
says "report: steps" "$tmp/report" 'steps +2\(N-1\) = 6 at N = 4'
says "report: volume" "$tmp/report" 'sent per rank +1\.50 S at N = 4; the lower bound is 1\.50 S'
cat >"$tmp/pairs.ccs" <<'EOF'
// Each rank adds in the order of one tree, though not of its operands.
schedule pairs
  implements allreduce(inout data[1])
  where ispow2(N)
{
  for bit in 0..ilog2(N) {
    send   data to   rank ^ (1 << bit)
    reduce data from rank ^ (1 << bit)
  }
}
EOF
"$ccc" check tests/check/turns.ccs -n 2..4 >"$tmp/report" 2>/dev/null
says "report: other bits at some N" "$tmp/report" 'same bits +no at N = 3, 4: ranks combine in different'
"$ccc" check tests/check/turns.ccs -n 3 >"$tmp/report" 2>/dev/null
says "report: other bits at every N" "$tmp/report" 'same bits +no: ranks combine in different orders'
"$ccc" check "$tmp/pairs.ccs" -n 4,8 >"$tmp/report" 2>/dev/null
says "report: the same tree" "$tmp/report" 'same bits +on every rank'
"$ccc" check tests/check/turns.ccs -n 2..4 --diagnostics-format=json 2>"$tmp/json" >/dev/null
says "same bits as JSON" "$tmp/json" '"same_bits":\[true,false,false\]'
says "... for every count" "$tmp/json" '"same_bits_counts":\[true,true,true\]'
status "--require what is so" 0 "$ccc" check tests/check/turns.ccs -n 2..4 --require same-bits=counts
status "--require what is not" 1 "$ccc" $ring -n 3,4 --require same-bits=ranks --require same-bits=counts \
	-o "$tmp/required.so"
says "... is E0407" "$tmp/err" 'begins with rank 1, chunk 1 with rank 2 \(N = 3\) \[E0407\]'
holds "... and nothing is made" test ! -e "$tmp/required.so"
status "--require of what there is not" 2 "$ccc" check $ring --require same-bits
says "... what there is" "$tmp/err" 'there are same-bits=ranks and same-bits=counts'
"$ccc" check $ring -n 4,8 --diagnostics-format=json 2>"$tmp/json" >/dev/null
says "report as JSON" "$tmp/json" '"severity": ?"report"'
says "JSON keys" "$tmp/json" '"min_slots".*|"sent_per_rank"'
for key in schedule contract ranks min_slots proved same_bits same_bits_counts steps sent_per_rank sent_bound; do
	says "... $key" "$tmp/json" "\"$key\""
done
says "... arrays follow ranks" "$tmp/json" '"ranks":\[4,8\],"min_slots":\[0,0\],"proved":\[true,true\]'
cat >"$tmp/dead.ccs" <<'EOF'
contract c(inout d[C])
schedule never
  implements c(inout d[1])
{
  recv d from 1 - rank
  send d to 1 - rank
}
schedule nine
  implements c(inout d[9])
{
  scratch t[9]
  for i in 0..9 { send d[i] to 1 - rank }
  for i in 0..9 { recv t[i] from 1 - rank }
}
EOF
status "--schedule of one of two" 1 "$ccc" check "$tmp/dead.ccs" -n 2 --slots 9 --schedule never
holds "... checks that one" test "$(grep -c 'error:' "$tmp/err")" = 1
status "... and the other" 0 "$ccc" check "$tmp/dead.ccs" -n 2 --slots 9 --schedule nine
holds "... has one report" test "$(grep -c 'deadlock-free' "$tmp/out")" = 1
status "... explained" 0 "$ccc" explain "$tmp/dead.ccs" -n 2 --slots 9 --schedule nine
status "two deadlocks as JSON" 1 "$ccc" check "$tmp/dead.ccs" -n 2 --diagnostics-format=json
cp "$tmp/err" "$tmp/json"
holds "... one object a line" test "$(wc -l <"$tmp/json")" = 2
for key in severity code message file line column end_line end_column rank notes help; do
	says "... $key" "$tmp/json" "\"$key\":"
done
says "... no number of slots cures the first" "$tmp/json" '"line":5,.*"min_slots":null'
says "... nine cure the second" "$tmp/json" '"line":12,.*"min_slots":9'
status "... and do" 1 "$ccc" check "$tmp/dead.ccs" -n 2 --slots 9 --diagnostics-format=json
holds "... one error is left, and a report" test "$(grep -c '"report"' "$tmp/err")" = 1
status "--max-errors" 1 "$ccc" check "$tmp/dead.ccs" -n 2 --max-errors 1
says "... counts the rest" "$tmp/err" '1 more error'
"$ccc" check schedules/halving_doubling_allreduce.ccs >"$tmp/report" 2>/dev/null
says "a report over the Ns that where admits" "$tmp/report" 'N = 2, 4, 8, 16'

# ---- for every N: what the library's schedules do not have ---------------------------
head='implements allgather(in a[1], out b[N])' rounds='where ispow2(N)
{
  copy a into b[rank]
  for k in 0..ilog2(N) {
    let d = 1 << k
    let peer = rank ^ d
    let lo = rank & ~(d - 1)
    let theirs = peer & ~(d - 1)'
every() { # every WHAT TEXT [FOR]: it is proved
	echo "schedule s $head $2" >"$tmp/every.ccs"
	status "$1" 0 "$ccc" check "$tmp/every.ccs"
	says "... is proved" "$tmp/out" "computes +allgather, proved for every N >= 2${3-}\$"
}
not_every() { # not_every WHAT TEXT
	echo "schedule s $head $2" >"$tmp/every.ccs"
	"$ccc" check "$tmp/every.ccs" >"$tmp/out" 2>"$tmp/err"
	holds "$1 is not" test -z "$(grep 'proved for every' "$tmp/out")"
}
table='on ring
{
  let off = [0, 1]
  copy a into b[rank]
  for s in 0..N-1 {
    channel %s {
      step {
        send b[(rank - s) %% N] to next
        recv b[(rank - s - off[%d]) %% N] from prev
      }
    }
  }
}'
# shellcheck disable=SC2059
every "a table, and channels" "$(printf "$table" 2 1)"
# shellcheck disable=SC2059
not_every "another entry" "$(printf "$table" 2 0)"
order='    let up = (rank / d) & 1
    if up == 1 {
      send b[lo .. lo + d]         to   peer
      recv b[theirs .. theirs + d] from peer
    }
    if up == %d {
      recv b[theirs .. theirs + d] from peer
      send b[lo .. lo + d]         to   peer
    }
  }
}'
# shellcheck disable=SC2059
every "one bit of a quotient" "$rounds
$(printf "$order" 0)" ' that `where` admits'
# shellcheck disable=SC2059
not_every "the same bit twice" "$rounds
$(printf "$order" 1)"
every "a sum of many functions" "$rounds
    let x = (rank & d) + (peer & 3) + (rank & (d - 1)) + lo + (lo & 12) + theirs + (rank & 5)
    if x >= 0 {
      step {
        send b[lo .. lo + d]         to   peer
        recv b[theirs .. theirs + d] from peer
      }
    }
  }
}" ' that `where` admits'

# Which `where` a claim leaves N out by: the schedule's, its topology's, or both.
step='step {
      send b[lo .. lo + d]         to   peer
      recv b[theirs .. theirs + d] from peer
    }
  }
}'
cube="on hypercube
$rounds
    $step"
every "no more than where" "$cube" ' that `where` admits'
every "a topology that admits fewer" "$(echo "$cube" | sed 's/where.*/where N % 2 == 0/')" \
	' that `where` and the topology hypercube admit'
status "... in JSON" 0 "$ccc" check "$tmp/every.ccs" --diagnostics-format=json
says "... which names it" "$tmp/err" \
	'"every_n":true,"every_n_of":"every N >= 2 that `where` and the topology hypercube admit"'
status "... which -n shows" 1 "$ccc" check "$tmp/every.ccs" -n 6
says "... too" "$tmp/err" '`where` of topology hypercube does not hold'
every "a topology alone" "$(echo "$cube" | sed /where/d)" ' that the topology hypercube admits'
around='
{
  copy a into b[rank]
  for s in 0..N-1 {
    send b[(rank - s) % N] to (rank + 1) % N
    recv b[(rank - s - 1) % N] from (rank - 1) % N
  }
}'
every "cut without powers" "on nodes(2)$around" ' that the topology nodes admits'
every "refused above 70" "on torus(N > 70 ? 1 : N, 1)$around" ' that the topology torus admits'
every "... and by both" "on torus(N > 70 ? 1 : N, 1)
  where N % 2 == 0$around" ' that `where` and the topology torus admit'
status "... too, as -n shows" 1 "$ccc" check "$tmp/every.ccs" -n 72
says "... by its name" "$tmp/err" '`where` of topology torus does not hold'
echo "schedule s $head on nodes(17)$around" >"$tmp/every.ccs"
status "a topology that admits none" 1 "$ccc" check "$tmp/every.ccs"
says "... is named" "$tmp/err" 's: the topology nodes admits no N in 2..16'
echo "schedule other $head$around" >>"$tmp/every.ccs"
status "... before one that is checked" 0 "$ccc" check "$tmp/every.ccs" -n 4
says "... is named too" "$tmp/err" 's is not checked: the topology nodes admits no N of -n'

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
status "an output that is a directory" 2 "$ccc" $ring -n 2 -o "$tmp/at"
ln -s target.so "$tmp/at/link.so"
: >"$tmp/at/target.so"
status "an output that is a link" 0 "$ccc" $ring -n 2..4 -o "$tmp/at/link.so"
holds "... stays a link" test -L "$tmp/at/link.so"
holds "... to the product" cmp -s "$tmp/first.so" "$tmp/at/target.so"
odd="$tmp/at/a b
c \$x 'ü'.so"
status "an odd name for the product" 0 "$ccc" $ring -n 2..4 -o "$odd"
status "... which runs" 0 "$ccrun" -n 2 "$odd" -e 64
status "a device as output" 0 "$ccc" $ring -n 2 -o /dev/null
holds "... stays one" test -c /dev/null
status "- as output is stdout" 0 "$ccc" $ring -n 2..4 -o -
holds "... with the same bytes" cmp -s "$tmp/first.so" "$tmp/out"
# full WHAT COMMAND: it says that it cannot write, and exits with 2
full() {
	status "$1 on a full disk" 2 sh -c "$2"
	says "... says so" "$tmp/err" 'cannot write'
}
if [ -c /dev/full ]; then
	full "a module" "'$ccc' $ring -n 2 -o /dev/full"
	full "a plan" "'$ccc' $ring -n 2 --emit=plan >/dev/full"
	full "a report" "'$ccc' check $ring -n 2 >/dev/full"
	full "explain" "'$ccc' explain $ring -n 2 >/dev/full"
	full "fmt" "'$ccc' fmt $ring >/dev/full"
	full "--help" "'$ccc' --help >/dev/full"
	full "--explain" "'$ccc' --explain E0101 >/dev/full"
	full "a table" "'$ccrun' -n 2 '$tmp/ring.so' -e 64 >/dev/full"
	status "a report as JSON on a full disk" 2 \
		sh -c "'$ccc' check $ring -n 2 --diagnostics-format=json 2>/dev/full"
	status "a file without an end" 2 "$ccc" check /dev/zero
else
	echo "skip - a full disk: there is no /dev/full"
fi
status "a closed stdout" 2 sh -c "'$ccc' $ring -n 2 --emit=plan >&-"
status "a closed stdin" 2 sh -c "'$ccc' check - <&-"
status "a reader that leaves" 0 sh -c \
	"{ '$ccc' $ring --emit=json; echo \$? >'$tmp/left'; } | head -c 1 >/dev/null"
holds "... is no way to end without a word" sh -c "test \"\$(cat '$tmp/left')\" = 2 && test -s '$tmp/err'"
for stage in ast program plan header json; do
	status "--emit=$stage" 0 "$ccc" $ring -n 3 --emit=$stage
	holds "... prints something" test -s "$tmp/out"
	cp "$tmp/out" "$tmp/emitted"
	"$ccc" $ring -n 3 --emit=$stage -o "$tmp/file" 2>/dev/null
	holds "... the same with -o" cmp -s "$tmp/emitted" "$tmp/file"
done
status "explain" 0 "$ccc" explain $ring -n 4
says "... shows who sends what" "$tmp/out" 'data\[0\]'
twice=schedules/broken/counted_twice.ccs
status "explain of a wrong schedule" 1 "$ccc" explain $twice -n 3
says "... shows its steps" "$tmp/out" '^  rank 0 -> rank 1: data\[0\] is combined into data\[0\] \(holds 0,1\), line 10$'
says "... and the fault, where it is" "$tmp/out" '^  rank 2 -> rank 0: .*, line 16   <-- E0404$'
says "... and says so last" "$tmp/out" '^  line 16, step 3, ranks 0-2: data\[0\] of rank 0 ends with a contribution counted twice \[E0404\]$'
says "... beside the report" "$tmp/err" '16:7: error: .*E0404'
status "explain of what other files do" 0 "$ccc" explain schedules/ring2d_allreduce.ccs -n 4
says "... names them" "$tmp/out" ', schedules/ring_allgather\.ccs:[0-9]+$'
status "explain of a part" 0 "$ccc" explain $ring -n 4 --chunk 'data[1..3]' --rank 0..1 --step 2
holds "... leaves the rest out" sh -c "! grep -q '^step [13456]\|^  rank [23]  \|data.0. ' '$tmp/out'"
says "... and has that" "$tmp/out" '^           data\[1\]  data\[2\]$'
# refuses NAME TEXT ARGUMENTS: status 2, and one line, TEXT
refuses() {
	name=$1
	text=$2
	shift 2
	status "$name" 2 "$ccc" "$@"
	case $text in *E0705]) ;; *) text="$text [E0702]" ;; esac
	holds "... in these words" sh -c 'test "$(grep "^ccc:" "$1")" = "$2"' sh "$tmp/err" "$text"
}
for o in --rank --step; do
	for value in x 1.. -1 0.. 1,,2 ''; do
		refuses "explain $o '$value'" "ccc: error: $o takes numbers, such as 3, 0,2 or 1..4, not '$value' [E0705]" \
			explain $ring -n 3 $o "$value"
	done
done
for value in x 'data[3]' 'data[' 'data[1' 'data[0..2' 'data[1..1]' 'data[0..4]' 'data[-1]' 'data[0] ' ''; do
	refuses "explain --chunk '$value'" \
		"ccc: error: --chunk: there is no '$value'; there is data[0..3] (N = 3)" \
		explain $ring -n 3 --chunk "$value"
done
printf 'contract none()\nschedule nobody\n  implements none()\n{\n}\n' >"$tmp/none.ccs"
refuses "explain --chunk without chunks" \
	"ccc: error: --chunk: there is no 'x'; there is no chunk at all (N = 2)" \
	explain "$tmp/none.ccs" -n 2 --chunk x
refuses "explain --rank of no rank" "ccc: error: --rank: there is no rank 3; the last is 2 (N = 3)" \
	explain $ring -n 3 --rank 0..3
cat >"$tmp/blocks.ccs" <<'EOF'
schedule blocks
  implements all_to_all(in a[N][2], out b[N][2])
{
  copy a[rank] into b[rank]
  for k in 1..N {
    step {
      send a[(rank + k) % N]       to   (rank + k) % N
      recv b[(rank - k) % N][0..2] from (rank - k) % N
    }
  }
  copy b[0..N-1] into b[1..N]
}
EOF
status "explain of blocks" 1 "$ccc" explain "$tmp/blocks.ccs" -n 3
says "... a block" "$tmp/out" '^  rank 0 -> rank 1: a\[1\] is copied into b\[0\], line 8$'
says "... several" "$tmp/out" '^  rank 0: b\[0\.\.2\] is copied into b\[1\.\.3\], line 11   <-- E0405$'
says "... a chunk of one" "$tmp/out" '^  rank 0: b\[1\]\[0\] holds a\[0\]\[0\]@0; promised is a\[0\]\[0\]@1$'
for value in 'b[1][0]' 'b[1]' 'b[2][0..2]' 'b[0..2]' b; do
	status "explain --chunk $value" 1 "$ccc" explain "$tmp/blocks.ccs" -n 3 --chunk "$value"
done
for value in 'b[3]' 'b[1][2]' 'b[0..2][0]' 'b[1][0][0]' 'a[0] [1]'; do
	refuses "explain --chunk '$value'" "ccc: error: --chunk: there is no '$value'; there is \
a[0..3][0..2], b[0..3][0..2] (N = 3)" explain "$tmp/blocks.ccs" -n 3 --chunk "$value"
done
for o in "--chunk data" "--rank 0" "--step 1"; do
	# shellcheck disable=SC2086
	refuses "check $o" "ccc: error: --chunk, --rank and --step belong to ccc explain; --rank also to pictures of ccc simulate [E0705]" check $ring $o
done
cat >"$tmp/large.ccs" <<'EOF'
contract none(inout d[C])
schedule large
  implements none(inout d[100000])
{
  for i in 0..60000 {
    step {
      send d[0..50000]      to   (rank + 1) % N
      recv d[50000..100000] from (rank - 1) % N
    }
  }
}
EOF
status "explain of what is too large to be run" 1 "$ccc" explain "$tmp/large.ccs" -n 2
says "... says so" "$tmp/err" 'touch 12000000000 chunks.*E0501'
holds "... and runs nothing" test ! -s "$tmp/out"
status "fmt -i with another place for the product" 2 "$ccc" fmt -i $ring -o "$tmp/x.ccs"
status "fmt -i, and to check only" 2 "$ccc" fmt -i --check $ring
status "fmt --check of a canonical file" 0 "$ccc" fmt --check $ring
sed 's/^    step/  step/' $ring >"$tmp/odd.ccs"
status "fmt --check of another" 1 "$ccc" fmt --check "$tmp/odd.ccs"

# named NAME FUNCTION: what the C function of a schedule with this name is called
named() {
	sed "s/^schedule ring_allreduce/schedule $1/" $ring >"$tmp/named.ccs"
	"$ccc" "$tmp/named.ccs" -n 2 --emit=header >"$tmp/out" 2>"$tmp/err"
	says "the function of a schedule \`$1\` is $2" "$tmp/out" "^ccs_status $2\("
}
for word in alignas bool case char decltype enum extern goto int main not operator protected \
	    register signed sizeof typeof using virtual xor ccs_ ccs_init; do
	named $word ${word}_
done
for word in alignas_ xo ccs cc_s ccsx Main; do
	named $word $word
done

# ---- lowering --------------------------------------------------------------------------
# emits FILE N SLOTS: whether its plan hands messages on, and how many workers it has
emits() {
	"$ccc" "$1" -n "$2" --slots "$3" --emit=plan 2>"$tmp/err" >"$tmp/plan"
	echo "$(grep -c ' recv-copy-send ' "$tmp/plan") $(sed -nE 's/^N = .* ([0-9]+) workers.*/\1/p' "$tmp/plan")"
}
holds "with 8 slots messages are handed on" test "$(emits tests/check/good/unfused.ccs 2 8)" = "4 2"
holds "with 1 slot they cannot be" test "$(emits tests/check/good/unfused.ccs 2 1)" = "0 2"
holds "with 8 slots one worker receives and sends" test "$(emits tests/check/good/unmerged.ccs 3 8)" = "6 3"
holds "with 1 slot it cannot" test "$(emits tests/check/good/unmerged.ccs 3 1)" = "0 6"

# ---- options of gcc's kind -----------------------------------------------------------
status "colour on demand" 1 "$ccc" check "$tmp/broken.ccs" --color=always
says "... is there" "$tmp/err" "$(printf '\033')"
status "no colour by default in a file" 1 "$ccc" check "$tmp/broken.ccs"
holds "... is not there" sh -c "! grep -q '$(printf '\033')' '$tmp/err'"

status "NO_COLOR" 1 env NO_COLOR=1 "$ccc" check "$tmp/broken.ccs" --color=auto
holds "... no colour" sh -c "! grep -q '$(printf '\033')' '$tmp/err'"

# ---- messages wider than any buffer ---------------------------------------------------
status "a message wider than every buffer" 0 "$ccc" tests/check/good/wide_messages.ccs -n 2..4 \
	-o "$tmp/wide.so"
"$ccc" tests/check/good/wide_messages.ccs -n 2 --emit=json >"$tmp/wide.json"
says "... one length for all its chunks" "$tmp/wide.json" '"len_same": ?true'
for n in 2 3 4; do
	status "... runs on $n ranks" 0 "$ccrun" -n $n "$tmp/wide.so" -b 4 -e 300000 -f 3 -d int8
	says "... and computes" "$tmp/out" 'wrong elements +: 0 OK'
done
cat >"$tmp/lengths.ccs" <<'EOF'
contract two(inout a[C], inout b[D])
schedule s
  implements two(inout a[2], inout b[3])
{
  scratch t[2]
  scratch u[2]
  copy a[0] into t[0]
  copy b[0] into t[1]
  step {
    send t to (rank + 1) % N
    recv u from (rank - 1) % N
  }
}
EOF
status "a message of chunks that are cut differently" 1 "$ccc" "$tmp/lengths.ccs" -n 2 -o "$tmp/l.so"
says "... is E0501" "$tmp/err" 'the lengths of the .* differ.*E0501'
status "... with -v" 1 "$ccc" "$tmp/lengths.ccs" -n 2 -o "$tmp/l.so" -v
says "... is proved" "$tmp/err" '^  proof '
holds "... and not lowered" sh -c "! grep -q '^  lower ' '$tmp/err'"

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
for wrong in "-n 0" "-n 2x" "-b -5" "-b 1K -e 8" "-e 4E" "-f 1" "-w -1" "--iters 0" "-o summ" \
	     "--threads 0" "--timeout x" "--device gpu" "--transport tcp" "--against foo" "--bogus"; do
	# shellcheck disable=SC2086
	status "ccrun $wrong is a usage error" 2 "$ccrun" -n 2 "$tmp/ring.so" $wrong
	holds "... and says so" test -s "$tmp/err"
done
cat >"$tmp/both.ccs" <<'EOT'
proc bad(d[1]) {
  if rank == 0 { for p in 1..N { send d to p } }
  if rank > 0 && rank < 3 { recv d from 0 }
}
schedule one implements broadcast(inout data[1]) { bad(data) }
schedule two implements broadcast(inout data[1]) { bad(data) }
EOT
status "two schedules that are wrong at one place" 1 "$ccc" check "$tmp/both.ccs"
holds "... neither is reported as right" test ! -s "$tmp/out"
status "ccrun without -n" 2 "$ccrun" "$tmp/ring.so"
says "... says which there are" "$tmp/err" '2\.\.4'
status "ccrun with two modules" 2 "$ccrun" -n 2 "$tmp/ring.so" "$tmp/ring.so"
status "ccrun of a directory" 2 "$ccrun" -n 2 "$tmp"
status "ccrun with more memory than there is" 4 "$ccrun" -n 2 "$tmp/ring.so" -b 1000000G -e 1000000G
status "ccrun --transport mpi, without mpirun" 4 "$ccrun" -n 2 "$tmp/ring.so" --transport mpi
status "ccrun with empty blocks" 0 "$ccrun" -n 2 "$tmp/ring.so" -b 0 -e 0
status "ccrun without checks" 0 "$ccrun" -n 2 "$tmp/ring.so" -e 64 -c 0
says "... does not claim them" "$tmp/out" 'not checked'
status "ccrun --tune -" 2 "$ccrun" -n 2 --tune - "$tmp/ring.so"
status "a word that is neither a file nor a command" 2 "$ccc" frob
says "... is said to be no command" "$tmp/err" "unknown command 'frob'"

# ---- progress: on a terminal, and cleared before anything else is written -----------
cat >"$tmp/terminal.py" <<'EOT'
import os, pty, re, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try: more = os.read(fd, 65536)
    except OSError: break
    if not more: break
    text += more
os.waitpid(pid, 0)
sys.stdout.buffer.write(re.sub(rb"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)", b"", text).replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n"))
EOT
for long in "check -n 2..60 schedules/bruck_allgather.ccs" \
	    "simulate -n 1024 -b 1K -e 4K --on hgx_h100 $ring"; do
	# shellcheck disable=SC2086
	command -v python3 >/dev/null 2>&1 || { echo "skip - a terminal: there is no python3" && break; }
	# shellcheck disable=SC2086
	"$ccc" $long >"$tmp/piped" 2>/dev/null
	# shellcheck disable=SC2086
	python3 "$tmp/terminal.py" "$ccc" $long >"$tmp/shown"
	holds "ccc $long: no progress is left on a terminal" cmp "$tmp/piped" "$tmp/shown"
done
exit $failed
