#!/bin/sh
# ccrun --json and --csv, on the CPU: one document or table on stdout whatever happens, with
# all that the table for people has, read by real parsers; and what ccrun says to mistakes
# in its command line. usage: report_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
ring=$modules/ring_allreduce.so
bare_environment
quick="-b 64 -e 1K -f 4 --iters 2"

# ---- how far it has come, on a terminal alone ------------------------------------------------
# More rows than any machine is done with in a second.
many="-b 8 -i 8 -e 800000 --iters 2"
holds "a long run says which size it is at, and its expected end" on_terminal \
	'\r\x1b\[Ksize [0-9]+, [1-9][0-9]* of 100000 done, expected end [0-9-]* ?[0-9:]+' "$ccrun" -n 4 "$ring" $many
holds "... so does --tune" on_terminal '\r\x1b\[Ksize [0-9]+, [0-9]+ of 100000 done' \
	"$ccrun" -n 4 --tune "$tmp/not.tuning" "$ring" "$modules/binary_tree_allreduce.so" $many
holds "... of which nothing is written then" test ! -e "$tmp/not.tuning"
timeout 3 "$ccrun" -n 4 "$ring" $many >"$tmp/out" 2>"$tmp/err"
holds "... and in a pipe nothing is said" test ! -s "$tmp/err"
says "... but the table" "$tmp/out" '^ +8000 '
if grep -q "$(printf '\033')" "$tmp/out"; then not_ok "... as it is" "$(cat -v "$tmp/out")"; else ok "... as it is"; fi

# ---- all is right -------------------------------------------------------------------------
status "--json" 0 "$ccrun" -n 4 --json "$ring" $quick -d int32,float32 -o sum,premul
json "... is one document, with all that was run" "ccrun=~." "module=\"$ring\"" \
	'schedule="ring_allreduce"' 'contract="allreduce"' ranks=4 'where=~4 ranks on the CPU' \
	baseline=null rows.#=12 errors.#=0 status=0
json "... and how" settings.warmup_runs=2 settings.timed_runs=2 settings.repeats=1 \
	settings.graph_launches=0 settings.checked=true settings.timeout_s=30
json "... every column" rows.0.size_bytes=64 rows.0.count=16 'rows.0.type="int32"' \
	'rows.0.redop="sum"' rows.0.root=null 'rows.0.out_of_place.time_us=*' \
	'rows.0.out_of_place.algbw_gb_per_s=*' 'rows.0.out_of_place.busbw_gb_per_s=*' \
	rows.0.out_of_place.wrong=0 rows.0.out_of_place.first_wrong=null \
	'rows.0.in_place.time_us=*' 'rows.11.redop="premul"' rows.11.size_bytes=1024
json "... the summary" summary.wrong=0 'summary.mean_busbw_gb_per_s=*'
says "... the table for people is on stderr" "$tmp/err" '^# wrong elements *: 0 OK$'
holds "... row by row" test "$(grep -c '^ ' "$tmp/err")" = 12
cp "$tmp/out" "$tmp/json"
status "--csv" 0 "$ccrun" -n 4 --csv "$ring" $quick -d int32,float32 -o sum,premul
csv "... has a line for each placement" 1 record=result schedule=ring_allreduce \
	contract=allreduce ranks=4 size_bytes=64 count=16 type=int32 redop=sum root= \
	placement=out_of_place 'time_us=*' 'algbw_gb_per_s=*' 'busbw_gb_per_s=*' wrong=0 \
	copy_percent= baseline_time_us= baseline_wrong= ratio= text=
csv "... and a summary" -1 record=summary wrong=0 'busbw_gb_per_s=*' status=0 text=
passes "... they say the same" same "$tmp/json" "$tmp/out"
says "... the table for people is on stderr" "$tmp/err" '^# wrong elements *: 0 OK$'

status "a collective with roots" 0 "$ccrun" -n 3 --json "$modules/binomial_broadcast.so" \
	$quick -r all
json "... has them" 'rows.0.redop="none"' rows.0.root=0 rows.3.root=1 rows.6.root=2 rows.#=9
cp "$tmp/out" "$tmp/json"
status "... in CSV" 0 "$ccrun" -n 3 --csv "$modules/binomial_broadcast.so" $quick -r all
passes "... they say the same" same "$tmp/json" "$tmp/out"
cat >"$tmp/two.ccs" <<'EOS'
contract second(in a[C], in b[C], out c[C])
  ensures c[i] == b[i]@((rank + 1) % N)
schedule second_of_two implements second(in a[1], in b[1], out c[1]) on ring {
  step { send b to prev recv c from next }
}
EOS
status "a schedule of two inputs" 0 "$build/bin/ccc" "$tmp/two.ccs" -n 3 --target=cpu \
	-o "$tmp/two.so"
status "... has no form in place" 0 "$ccrun" -n 3 --json "$tmp/two.so" $quick
json "... is null" 'rows.0.out_of_place.wrong=0' 'rows.0.in_place=null'
cp "$tmp/out" "$tmp/json"
status "... and in CSV left out" 0 "$ccrun" -n 3 --csv "$tmp/two.so" $quick
passes "... they say the same" same "$tmp/json" "$tmp/out"
# Blocks that are fewer than ranks: no rank but the first has one of its own to be in place in.
cat >"$tmp/fewer.ccs" <<'EOS'
contract first(in a[2][C], out b[C])
  ensures b[i] == a[0][i]@rank
schedule first_of_two implements first(in a[2][3], out b[3]) { copy a[0] into b }
contract both(in a[C], out b[2][C])
  ensures b[1][i] == a[i]@rank
schedule second_of_two implements both(in a[3], out b[2][3]) { copy a into b[1] }
EOS
for name in first_of_two second_of_two; do
	"$build/bin/ccc" "$tmp/fewer.ccs" --schedule $name -n 5 --target=cpu -o "$tmp/fewer.so"
	status "$name, for more ranks than blocks" 0 "$ccrun" -n 5 --json "$tmp/fewer.so" -b 240 \
		-e 61440 -f 256 --iters 1
	json "... is right in place, too" rows.0.in_place.wrong=0 rows.1.in_place.wrong=0
done
status "results that are not checked" 0 "$ccrun" -n 3 --json "$ring" $quick -c 0
json "... have no number of wrong elements" settings.checked=false summary.wrong=null \
	rows.0.in_place.wrong=null
status "sizes of nothing" 0 "$ccrun" -n 3 --json "$ring" -b 0 -e 0
json "... are numbers still" rows.0.size_bytes=0 rows.0.out_of_place.algbw_gb_per_s=0.0

cat >"$tmp/heard.ccs" <<'EOS'
contract heard() let next = (rank + 1) % N ensures after(q in next..next + 1)
schedule heard_of_next implements heard() on ring {
  scratch nothing[1]
  step { send nothing[0..0] to prev recv nothing[0..0] from next }
}
EOS
status "a schedule without buffers" 0 "$build/bin/ccc" "$tmp/heard.ccs" -n 4 --target=cpu \
	-o "$tmp/heard.so"
status "... runs" 0 "$ccrun" -n 4 --json "$tmp/heard.so" -d all
json "... has one size, and its order is checked" rows.#=14 rows.0.count=0 rows.0.size_bytes=0 \
	rows.0.out_of_place.wrong=0 rows.0.in_place=null settings.checked=true
says "... which is said" "$tmp/err" '^# wrong order *: 0 OK$'
status "... not with -c 0" 0 "$ccrun" -n 4 --json "$tmp/heard.so" -c 0
json "... which is said" rows.0.out_of_place.wrong=null settings.checked=false
status "many ranks" 0 "$build/bin/ccc" schedules/dissemination_barrier.ccs -n 100 --target=cpu \
	-o "$tmp/many.so"
status "... wait for one another" 0 "$ccrun" -n 100 --json "$tmp/many.so"
json "... all of them" rows.0.out_of_place.wrong=0

# ---- something is not ---------------------------------------------------------------------
# failing STATUS TEXT ARGUMENTS...: in both forms
failing() {
	want=$1 text=$2
	shift 2
	status "ccrun $*: status $want" "$want" "$ccrun" --json "$@"
	json "... in the document, with the reason" status="$want" errors.0.text=~"$text" \
		'ccrun=*'
	says "... and on stderr" "$tmp/err" "^ccrun: "
	cp "$tmp/out" "$tmp/json"
	"$ccrun" --csv "$@" >"$tmp/out" 2>/dev/null </dev/null
	passes "... and in CSV" same "$tmp/json" "$tmp/out"
}
failing 2 "cannot be read" -n 4 /no/such/module.so
failing 2 "is a directory" -n 4 /tmp
failing 2 "no plan for 99 ranks" -n 99 "$ring"
failing 2 "-n is missing" "$ring"
failing 2 "no module given" -n 4
failing 2 "'x' is not a number of ranks" -n x "$ring"
failing 2 "unknown option --nothing" --nothing "$ring"
failing 4 "start it with mpirun -np 4" -n 4 --transport mpi "$ring"
failing 4 "libcuda.so.1 cannot be opened" -n 4 --device cuda "$ring"
failing 2 "cannot be read" -n 4 "$(printf '/no/such/m\303\251, \377\"x\".so')"
"$build/tests/plan/prove_test" spoil "$tmp/heard.so" "$tmp/early.so"
status "a rank that does not wait" 3 "$ccrun" -n 4 --json "$tmp/early.so"
json "... is told" 'rows.0.out_of_place.wrong=*' status=3 \
	rows.0.out_of_place.first_wrong=~"rank 0 ended before rank"
status "both" 2 "$ccrun" -n 4 --json --csv "$ring"
json "... is a mistake" 'errors.0.text="give --json or --csv, not both"' status=2
status "--help is no report" 0 "$ccrun" --json --help
says "... but help" "$tmp/out" '^usage: ccrun'
holds "... alone" sh -c "! grep -q '^{' '$tmp/out'"
status "--json takes no value" 2 "$ccrun" --json=1 "$ring"
says "... and says so" "$tmp/err" '--json=1: this option takes no value'
status "options behind the module" 0 env POSIXLY_CORRECT=1 "$ccrun" "$ring" -n 4 $quick --json
json "... count" rows.#=3 status=0 ranks=4
status "--verify before --" 0 "$ccrun" --verify -- "$ring"
status "a full disk" 2 sh -c "'$ccrun' -n 2 --json -e 64 '$ring' >/dev/full"
says "... is told" "$tmp/err" '^ccrun: cannot write stdout: No space left on device'
status "--help to a full disk" 2 sh -c "'$ccrun' --help >/dev/full"
says "... is told" "$tmp/err" '^ccrun: cannot write stdout: No space left on device'

# Started as several processes, the first reports, also what all have done wrong.
several() { # several ARGUMENTS...: of two processes, into one file
	for r in 0 1; do
		OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$r \
			OMPI_COMM_WORLD_LOCAL_SIZE=2 CCS_RENDEZVOUS=127.0.0.1:1 \
			"$ccrun" "$@" 2>/dev/null
	done >"$tmp/out"
}
several --json -n 3 "$ring"
json "several processes: one document" status=2 'errors.0.text=~mpirun has started 2'
several --json -n x "$ring"
json "... with a mistake in the command line: one, too" status=2 errors.#=1

# ---- mistakes, and what is said to them -----------------------------------------------------
mistake() { # mistake TEXT ARGUMENTS...
	text=$1
	shift
	status "ccrun $*" 2 "$ccrun" "$@"
	says "... says: $text" "$tmp/err" "$text"
	holds "... and prints nothing else" test ! -s "$tmp/out"
}
cp schedules/ring_allreduce.ccs "$tmp/x.ccs"
cp "$ring" "$tmp/y.so"
mkfifo "$tmp/fifo"
ln -s nowhere "$tmp/link"
mistake "x.ccs is a schedule's source, not a module: compile it first, with ccc $tmp/x.ccs -o x.so" \
	-n 4 "$tmp/x.ccs"
mistake "x.so cannot be read: .* \(ccc $tmp/x.ccs -o $tmp/x.so makes it\)" -n 4 "$tmp/x.so"
mistake "x cannot be read: .* \(ccc $tmp/x.ccs -o $tmp/x.so makes it\)" -n 4 "$tmp/x"
mistake "y cannot be read: .* \(there is $tmp/y.so\)" -n 4 "$tmp/y"
mistake "is a directory, not a regular file: ccc SCHEDULE.ccs -o x.so makes a module" -n 4 "$tmp"
mistake 'fifo is a FIFO, not a regular file: ccc SCHEDULE' -n 4 "$tmp/fifo"
mistake '/dev/null is a device, not a regular file' -n 4 /dev/null
mistake 'link is a link to nowhere, which does not exist' -n 4 "$tmp/link"
mistake 'has no symbol ccs_module_v1: it was not made by ccc' -n 4 "$build/lib/libccs.so"
mistake 'has no symbol ccs_module_v1: it was not made by ccc' -n 4 "$ccrun"
mistake 'load.o: the file is not a shared object \(ccc SCHEDULE.ccs -o x.so makes one\)' \
	-n 4 "$build/runtime/plan/load.o"
mistake 'the file is not a module \(ccc SCHEDULE.ccs -o x.so makes one\)' -n 4 README.md
mistake 'no module given: ccrun -n RANKS MODULE.so \(ccc SCHEDULE.ccs -o MODULE.so makes one\)'
for how in "" --procs; do
	CCS_MAX_CPU_ISA=sse mistake "CCS_MAX_CPU_ISA is 'sse'; use base, avx2 or avx512" -n 2 $how "$ring"
done
mistake '-np: the number of ranks is -n RANKS' -np 4 "$ring"
mistake '--np: the number of ranks is -n RANKS' --np 4 "$ring"
mistake "-n: 'x' is not a number of ranks" --nranks=x "$ring"
mistake "'4' is not a module; the number of ranks is -n RANKS" 4 "$ring"
mistake "-r: 'x' is not a rank" -n 4 --root=x "$ring"
mistake "ccrun has no commands: unknown word 'run'" run -n 4 "$ring"
mistake "one module at a time: unknown word '.*ring_allreduce.so'" -n 4 "$ring" "$ring"
mistake "ccrun runs one number of ranks at a time, not '2..4'" -n 2..4 "$ring"
mistake "ccrun runs one number of ranks at a time, not '2,4'" -n 2,4 "$ring"
mistake '-g: the number of ranks is -n RANKS, and --device cuda' -g 4 "$ring"
mistake '-t: use --threads N for threads' -t 4 "$ring"
mistake '--op: the operator is -o OP' -n 4 --op sum "$ring"
mistake '--dtype: the element type is -d TYPE' -n 4 --dtype float32 "$ring"
mistake '--count: sizes in bytes are -b SIZE and -e SIZE' -n 4 --count=8 "$ring"
mistake '--warmup: warm-up runs are -w N' -n 4 --warmup 2 "$ring"
mistake 'unknown option --js; did you mean --json\?' -n 4 --js "$ring"
mistake 'unknown option --time; did you mean --timeout\?' -n 4 --time 3 "$ring"
mistake 'unknown option --iter; did you mean --iters\?' -n 4 "$ring" --iter
mistake 'unknown option --tiemout; did you mean --timeout\?' -n 4 --tiemout=3 "$ring"
mistake 'unknown option --jsonn; did you mean --json\?' -n 4 --jsonn "$ring"
mistake 'unknown option --vorsion; did you mean --version\?' --vorsion
mistake 'unknown option --nothing$' -n 4 --nothing "$ring"
mistake '--timeout needs a value' -n 4 "$ring" --timeout
mistake '-n needs a value' "$ring" -n
mistake '--verify runs nothing: leave out all other options' --verify -n 4 "$ring"
mistake '--verify runs nothing: leave out all other options' "$ring" --verify --verify
mistake 'no module given' --verify --
mistake '-n 4 cannot be read' -- '-n 4'
mistake 'unknown option -x' -n 4 -x "$ring"
mistake 'unknown option -y' -n 4 -yx "$ring"
mistake "'f32' is not an element type; use int8 .* float32 .*, or all" -n 4 -d f32 "$ring"
mistake "'add' is not an operator; use sum prod" -n 4 -o add "$ring"
mistake "'2' is neither 0 nor 1" -n 4 -c 2 "$ring"
mistake '-b is larger than -e \(default 8M' -n 4 -b 16M "$ring"
exit $failed
