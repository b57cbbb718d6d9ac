#!/bin/bash
# ccrun --trace: traces of right runs, of tasks, processes and MPI's ranks, of every module of the library,
# beside the plan (trace_check.py, which must find what is spoilt); calls that never end; what has no room; what is
# refused, of which nothing is left. usage: trace_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
ccrun=$build/bin/ccrun
modules=$build/tests/modules
ring=$modules/ring_allreduce.so
bare_environment
quick="-w 1 --iters 1"

plan() { # plan NAME N [OPTION...]: of the library's schedule, in $tmp/plan
	name=$1 ranks=$2
	shift 2
	"$build/bin/ccc" "schedules/$name.ccs" -n "$ranks" --emit=json "$@" >"$tmp/plan"
}
right() { # right WHAT [OPTION...]: the trace is, beside the plan
	local title=$1
	shift
	if python3 tests/ccrun/trace_check.py "$tmp/trace.json" "$tmp/plan" "$@" >"$tmp/why" 2>&1; then
		ok "$title: $(tail -n 1 "$tmp/why")"
	else not_ok "$title" "$(cat "$tmp/why")"; fi
}
traces() { # traces WHAT COMMAND...: it ends with 0, and its trace is right
	local title=$1
	shift
	rm -f "$tmp/trace.json"
	status "$title" 0 "$@" --json --trace "$tmp/trace.json"
	cp "$tmp/out" "$tmp/table"
	right "... is as planned" --table "$tmp/table"
}

# ---- right runs ------------------------------------------------------------------------------------
plan ring_allreduce 4
traces "tasks" "$ccrun" -n 4 "$ring" $quick -b 64 -e 64K -f 32
says "... which says so" "$tmp/err" "^# trace: $tmp/trace.json, 3 calls\$"
right "... and nothing that is wrong with it is missed" --table "$tmp/table" --spoils
traces "tasks, chunks of several tiles" "$ccrun" -n 4 "$ring" $quick -b 4M -e 4M
traces "processes, short and long chunks" "$ccrun" -n 4 --procs "$ring" $quick -b 64 -e 4M -f 256
says "... which are named" "$tmp/trace.json" '"name":"process_name","args":\{"name":"rank 3 \(process [0-9]+\)"\}'
plan binomial_broadcast 3
traces "a plan for each root" "$ccrun" -n 3 "$modules/binomial_broadcast.so" $quick -b 1K -e 1K -r all
plan dissemination_barrier 4
traces "messages without elements" "$ccrun" -n 4 --procs "$modules/dissemination_barrier.so" $quick
for module in "$modules"/*.so; do
	name=$(basename "$module" .so)
	for ranks in 4 8 6; do
		plan "$name" $ranks 2>/dev/null || continue
		set -- -n $ranks "$module" $quick -b 20K -e 20K
		case $name in *by_column*) set -- "$@" --rows 2 ;; esac
		"$ccrun" "$@" --json --trace "$tmp/trace.json" >"$tmp/table" 2>"$tmp/err" ||
			{ not_ok "$name" "$(cat "$tmp/err")"; break; }
		grep -q '"sized": true' "$tmp/plan" || right "$name, $ranks ranks" --table "$tmp/table"
		break
	done
done
plugin=$build/lib/libccs_mpi.so
if [ -e "$plugin" ] && command -v mpirun >/dev/null 2>&1; then
	case $(mpirun --version 2>&1) in
	*"Open MPI"* | *OpenRTE*) options="--allow-run-as-root --oversubscribe" ;;
	*) options= ;;
	esac
	plan ring_allreduce 3
	# shellcheck disable=SC2086
	traces "MPI's ranks" timeout 200 mpirun $options -np 3 env CCS_MPI_PLUGIN="$plugin" \
		"$ccrun" --transport mpi "$ring" $quick -b 64 -e 4M -f 256
	# Where another rank's process cannot be found, as on another host: in a space of its own.
	if unshare --pid --fork --mount-proc true 2>/dev/null; then
		rm -f "$tmp/trace.json"
		set -- env CCS_MPI_PLUGIN="$plugin" "$ccrun" --transport mpi "$ring" $quick -b 64 -e 64 \
			--trace "$tmp/trace.json"
		# shellcheck disable=SC2086
		status "a rank elsewhere" 4 timeout 200 mpirun $options -np 1 "$@" : -np 1 \
			unshare --pid --fork --mount-proc "$@"
		says "... is told, with a cure" "$tmp/err" \
			'trace: .*process [0-9]+ of rank 1 is not found on this one. Start the ranks on one host'
		holds "... and no file" test ! -e "$tmp/trace.json"
	else
		echo "skip - traces of ranks elsewhere: this user has no process spaces (unshare --pid)"
	fi
else
	echo "skip - traces of MPI's ranks: there is no mpirun, or the plug-in was not built (no mpicc)"
fi

# ---- names that JSON has words for -----------------------------------------------------------------
strange=$tmp/$(printf 'a"b\\c\nd\303\251\377.ccs')
cp schedules/ring_allreduce.ccs "$strange"
"$build/bin/ccc" "$strange" -n 4 --target=cpu -o "$tmp/strange.so"
status "a file with a strange name" 0 "$ccrun" -n 4 "$tmp/strange.so" $quick -b 64 -e 64 --trace "$tmp/trace.json"
holds "... is named so" python3 -c '
import json, sys
names = {e["name"] for e in json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"] if e.get("cat") == "send"}
sys.exit(not all(n.rpartition("/")[2].startswith("a\"b\\c?d\u00e9\ufffd.ccs:") for n in names))' "$tmp/trace.json"

# ---- runs that are stuck ---------------------------------------------------------------------------
plan ring_allreduce 4
for how in late late-process killed; do
	status "a rank is $how" 0 "$build/tests/cpu/trace_test" "$modules" $how "$tmp/trace.json"
	right "... and the trace has what the others did" --count 200000 --stuck
	says "... and what they wait for, by line" "$tmp/trace.json" '"name":"waits at ring_allreduce.ccs:[0-9]+"'
done
# A module that loads, and in which all ranks receive before they send.
python3 tests/ccrun/stuck_module.py "$modules/recursive_doubling_allreduce.so" 4 "$tmp/stuck.so"
status "a module that never ends" 2 "$ccrun" --verify "$tmp/stuck.so"
for how in "" --procs; do
	rm -f "$tmp/trace.json"
	status "... is stuck${how:+, by processes}" 3 "$ccrun" -n 4 $how "$tmp/stuck.so" $quick -b 64K -e 64K \
		--timeout 1 --trace "$tmp/trace.json"
	says "... and its trace was written" "$tmp/err" "^ccrun: --trace: $tmp/trace.json has what was done until then"
	says "... which names a line that the report has" "$tmp/trace.json" \
		"\"name\":\"waits at $(sed -n 's/.*waits at \([a-z_]*\.ccs:[0-9]*\).*/\1/p' "$tmp/err" | head -n 1)\""
done

# ---- what has no room, and what is refused ------------------------------------------------------------
status "more operations than there is room for" 0 "$ccrun" -n 8 "$ring" -c 0 -w 0 --iters 1 -b 8 -i 8 -e 10K \
	--trace "$tmp/trace.json"
says "... are said to be left out" "$tmp/err" '^ccrun: --trace: [0-9]+ operations more were done, for which there was no room'
refused() { # refused WHAT STATUS PATTERN ARGUMENT...: and leaves nothing behind
	local title=$1 want=$2 pattern=$3
	shift 3
	mkdir -p "$tmp/none"
	status "$title" "$want" "$ccrun" "$@"
	says "... and why" "$tmp/err" "$pattern"
	holds "... and no file" test -z "$(ls -A "$tmp/none")"
	holds "... and no table" test ! -s "$tmp/out"
}
to="--trace $tmp/none/trace.json"
refused "a folder that is not there" 2 'trace: .*/more/x cannot be written: No such file' -n 4 "$ring" --trace "$tmp/none/more/x"
refused "a folder as the file" 2 'trace: .* is no regular file: name another' -n 4 "$ring" --trace "$tmp/none"
cp "$ring" "$tmp/mine.so"
refused "the module as the file" 2 'trace: .*mine.so is read by this run: name another file' -n 4 "$tmp/mine.so" --trace "$tmp/mine.so"
holds "... which stays" cmp -s "$ring" "$tmp/mine.so"
refused "a device as the file" 2 'trace: /dev/null is no regular file' -n 4 "$ring" --trace /dev/null
refused "... in each of several processes" 2 'trace: /dev/null is no regular file' -n 2 --procs "$ring" --trace /dev/null
refused "an empty name" 2 'name of its file is empty' -n 4 "$ring" --trace ""
refused "GPUs" 2 'ranks on the CPU: leave out --device cuda' -n 4 --device cuda "$ring" $to
refused "--tune" 2 'leave out --tune' -n 4 --tune "$tmp/none/t" "$ring" $to
refused "--show" 2 'leave out .*--show' -n 4 --show "$ring" $to
refused "--verify" 2 'leave out all other options' --verify "$ring" $to
refused "--explain-choice" 2 'leave out .*--explain-choice' --explain-choice default $to
refused "a module that is none" 2 'none.so' -n 4 "$tmp/none.so" $to
if [ "$(id -u)" != 0 ]; then
	chmod a-w "$tmp/none"
	refused "a folder that may not be written" 2 'cannot be written: Permission denied' -n 4 "$ring" $to
	chmod u+w "$tmp/none"
fi
echo old >"$tmp/old"
status "a run that fails before it calls" 2 "$ccrun" -n 4 "$ring" -d float32 --fill 1/0 --trace "$tmp/old"
holds "... leaves the file as it was" grep -qx old "$tmp/old"
exit $failed
