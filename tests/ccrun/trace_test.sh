#!/bin/bash
# ccrun --trace: traces of right runs, of tasks, processes, MPI's ranks and GPUs (a stand-in for the driver), of every
# module of the library, compared with the plan (trace_check.py, which must find what is spoilt); calls that never end;
# what has no room; what is refused, of which nothing is left. usage: trace_test.sh BUILD
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
	local kept="$tmp/plan of $name $ranks $*" # CPU and GPUs have the same
	if [ ! -e "$kept" ]; then
		"$build/bin/ccc" "schedules/$name.ccs" -n "$ranks" --emit=json "$@" >"$tmp/plan" || return
		cp "$tmp/plan" "$kept"
	fi
	cp "$kept" "$tmp/plan"
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
says "... and they do it in passes, as if it were not traced" "$tmp/why" ' [1-9][0-9]* passes$'
right "... and nothing that is wrong with it is missed" --table "$tmp/table" --spoils
traces "tasks, chunks of several tiles" "$ccrun" -n 4 "$ring" $quick -b 4M -e 4M
right "... in a pass for each chunk" --table "$tmp/table" --apart
traces "processes, short and long chunks" "$ccrun" -n 4 --procs "$ring" $quick -b 64 -e 4M -f 256
says "... each operation by itself" "$tmp/why" ' 0 passes$'
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
	plan ring_allreduce 4
	python3 tests/ccrun/stuck_module.py "$modules/recursive_doubling_allreduce.so" 4 "$tmp/stuck.so"
	# Ranks whose processes rank 0 cannot find, as on another host: in a space of its own, where the system lets it
	# with another clock, too.
	for space in "--pid --fork --mount-proc" "--pid --fork --mount-proc --time --monotonic 100000"; do
		# shellcheck disable=SC2086
		if ! unshare $space true 2>/dev/null; then
			echo "skip - traces of ranks elsewhere: this user cannot unshare $space"
			continue
		fi
		for module in "$ring" "$tmp/stuck.so"; do
			set -- env CCS_MPI_PLUGIN="$plugin" "$ccrun" --transport mpi "$module" $quick -b 64 -e 4M -f 256 \
				--timeout 3 --json --trace "$tmp/trace.json"
			rm -f "$tmp/trace.json"
			# shellcheck disable=SC2086
			timeout 200 mpirun $options -np 1 "$@" : -np 1 unshare $space "$@" : -np 2 "$@" >"$tmp/table" 2>"$tmp/err"
			got=$?
			[ "$module" = "$ring" ] || break
			holds "a rank elsewhere ($space) ends well" test $got = 0
			right "... and its operations are as planned" --table "$tmp/table"
			says "... and its host is named" "$tmp/trace.json" '"name":"rank 1 \([^ ,]+, process [0-9]+\)"'
		done
		holds "... a run that is stuck does not" test $got != 0
		says "... and its trace has the ranks of rank 0's host" "$tmp/trace.json" '"pid":3,.*"name":"waits at '
		says "... and the rank elsewhere, by rank 0's clock" "$tmp/trace.json" '"pid":1,.*"name":"waits at '
	done
else
	echo "skip - traces of MPI's ranks: there is no mpirun, or the plug-in was not built (no mpicc)"
fi

# ---- GPUs ------------------------------------------------------------------------------------------
# Against a driver and an NVRTC of our own: kernels run by their contract (fake_cuda/run.c), or the PTX that
# NVRTC made is executed. Each GPU of the stand-in has another clock, years ahead of the host's.
fake=$build/tests/fake_cuda
gpu() { # gpu RANKS MODULE OPTION...
	FAKE_CUDA_SMS=8 CCS_CACHE_DIR= CCS_NVRTC=${nvrtc-$fake/libnvrtc.so} LD_LIBRARY_PATH=$fake \
		"$ccrun" --device cuda -n "$@"
}
ring_gpu=$build/tests/cuda_modules/ring_allreduce.so
plan ring_allreduce 4
for protocol in simple ll; do
	export CCS_PROTOCOLS=$protocol
	traces "a GPU, protocol $protocol" gpu 4 "$ring_gpu" $quick -b 64 -e 64K -f 32
	says "... a track for each block" "$tmp/trace.json" '"name":"worker 0, channel 1"'
done
for module in "$build"/tests/cuda_modules/*.so; do # protocols by turns
	name=$(basename "$module" .so)
	case $CCS_PROTOCOLS in ll) export CCS_PROTOCOLS=simple ;; *) export CCS_PROTOCOLS=ll ;; esac
	for ranks in 4 8 6; do
		plan "$name" $ranks 2>/dev/null || continue
		set -- $ranks "$module" $quick -b 20K -e 20K
		case $name in *by_column*) set -- "$@" --rows 2 ;; esac
		gpu "$@" --json --trace "$tmp/trace.json" >"$tmp/table" 2>"$tmp/err" ||
			{ not_ok "$name, $CCS_PROTOCOLS" "$(cat "$tmp/err")"; break; }
		grep -q '"sized": true' "$tmp/plan" ||
			right "$name on a GPU, $CCS_PROTOCOLS, $ranks ranks" --table "$tmp/table"
		break
	done
done
unset CCS_PROTOCOLS
plan ring_allreduce 4
traces "two GPUs, whose clocks differ" env FAKE_CUDA_GPUS=2 FAKE_CUDA_SMS=8 CCS_CACHE_DIR= \
	CCS_NVRTC="$fake/libnvrtc.so" LD_LIBRARY_PATH="$fake" "$ccrun" --device cuda -n 4 "$ring_gpu" \
	$quick -b 64 -e 16K -f 256
export FAKE_CUDA_STUCK=1
status "a kernel that gives up" 3 gpu 4 "$ring_gpu" $quick -b 64K -e 64K --timeout 1 --trace "$tmp/trace.json"
unset FAKE_CUDA_STUCK
right "... has what was done until then" --count 16384 --stuck
says "... and what each channel waits for" "$tmp/trace.json" '"tid":2,.*"name":"waits at ring_allreduce.ccs:[0-9]+"'
rm -f "$tmp/trace.json"
nvrtc=none
status "without NVRTC" 4 gpu 4 "$ring_gpu" $quick -b 1K -e 1K --trace "$tmp/trace.json"
says "... there are no kernels that note times" "$tmp/err" \
	'kernels that are traced are compiled where they run, .* Name an NVRTC by CCS_NVRTC'
holds "... and no file" test ! -e "$tmp/trace.json"
unset nvrtc
python3 - "$ring_gpu" "$tmp/older.so" <<'end'
import struct, sys
so = bytearray(open(sys.argv[1], "rb").read()).replace(b"CCS_TRACE", b"CCS_OTHER")
start = so.index(b"CCSPLAN\n") - 8
h = 0xCBF29CE484222325
for byte in so[start + 32 : start + struct.unpack_from("<Q", so, start)[0]]:
    h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
struct.pack_into("<Q", so, start + 24, h)
open(sys.argv[2], "wb").write(so)
end
status "a module of an older ccc" 4 gpu 4 "$tmp/older.so" $quick -b 1K -e 1K --trace "$tmp/trace.json"
says "... is to be compiled again" "$tmp/err" 'compiled by an older ccc, .*: compile the schedule again to trace it'
( real_nvrtc; "$build/bin/ccc" schedules/ring_allreduce.ccs -n 2 --emit=ptx >"$tmp/ptx" 2>/dev/null )
if [ -s "$tmp/ptx" ]; then
	CCS_NVRTC="$fake/libnvrtc_ptx.so" CCS_CACHE_DIR= "$build/bin/ccc" schedules/ring_allreduce.ccs \
		-n 4 --target=cuda -o "$tmp/ptx.so"
	nvrtc=$fake/libnvrtc_ptx.so
	for protocol in simple ll; do
		export CCS_PROTOCOLS=$protocol/1 CCS_THREADS=64
		traces "the PTX of NVRTC, $protocol" gpu 4 "$tmp/ptx.so" $quick --repeats 1 -b 64 -e 16K -f 256
	done
	unset CCS_PROTOCOLS CCS_THREADS nvrtc
else
	echo "skip - traces by PTX: there is no NVRTC"
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
ln -s "$tmp/nothing" "$tmp/to-nothing"
refused "a link to nothing" 2 'trace: .*/to-nothing is a link to a file that is not there: make that file, or name' \
	-n 4 "$ring" --trace "$tmp/to-nothing"
refused "a name that is too long" 2 'trace: .* cannot be written: File name too long' -n 4 "$ring" \
	--trace "$tmp/$(printf '%0300d' 0)"
refused "a file below a file" 2 'trace: .* cannot be written: Not a directory' -n 4 "$ring" --trace "$ring/x"
refused "stdout by its name" 2 'trace: /dev/stdout .*: name another.*, or "-", which prints the trace' -n 4 "$ring" \
	--trace /dev/stdout
"$ccrun" -n 4 "$ring" --trace /dev/stdout 2>"$tmp/err" | cat >"$tmp/out"
says "... and a pipe" "$tmp/err" 'trace: /dev/stdout is no regular file: name another, or "-"'
status "the trace and --json on stdout" 2 "$ccrun" -n 4 "$ring" --json --trace -
says "... is refused" "$tmp/err" 'trace - prints on stdout, as --json .*: name a file'
plan ring_allreduce 4
for how in "" --procs; do
	"$ccrun" -n 4 $how "$ring" $quick -b 64 -e 64 --trace - 2>"$tmp/err" | cat >"$tmp/trace.json"
	right "- is stdout${how:+, by processes}" --count 16
	says "... and the table is on stderr" "$tmp/err" '^ +64 +16 +float32'
	says "... which says so" "$tmp/err" '^# trace: on stdout, 1 call$'
done
status "a full stdout" 2 sh -c '"$@" >/dev/full' sh "$ccrun" -n 4 "$ring" $quick -b 64 -e 64 --trace -
says "... is an error" "$tmp/err" 'trace: cannot print a trace: No space left on device'
refused "an empty name" 2 'name of its file is empty' -n 4 "$ring" --trace ""
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
