# Helpers of the shell suites: sourced, not run. Sets $tmp, removed at the end.
failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM # what a suite has set up goes then, too

ok() { echo "ok - $1"; }
not_ok() { # not_ok WHAT WHY
	printf '%s\n' "$2" | head -20 | sed 's/^/# /'
	echo "not ok - $1"
	failed=1
}
# status WHAT WANTED COMMAND...: runs it; its output is then in $tmp/out, $tmp/err
status() {
	what=$1 want=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	# shellcheck disable=SC2254
	case $got in
	$want) ok "$what" ;;
	*) not_ok "$what" "exit status $got, not $want: $(head -5 "$tmp/err")" ;;
	esac
}
# says WHAT FILE PATTERN: the file has a line that matches
says() {
	if grep -qE -- "$3" "$2"; then ok "$1"; else
		not_ok "$1" "no line matches /$3/ in: $(head -20 "$2")"
	fi
}
# holds WHAT CONDITION...: the command succeeds
holds() {
	what=$1
	shift
	if "$@"; then ok "$what"; else not_ok "$what" "does not hold: $*"; fi
}

# golden FOLDER NAME: $tmp/said is that file's text; where $bless is 1, it becomes it
golden() {
	if [ "${bless:-}" = 1 ]; then
		mkdir -p "$1"
		cp "$tmp/said" "$1/$2"
		ok "blessed $2"
	elif cmp -s "$tmp/said" "$1/$2"; then
		ok "golden $2"
	else
		not_ok "golden $2" "$(diff -u "$1/$2" "$tmp/said" 2>&1)"
	fi
}

# What stdout got last, as ccrun's document or table: json WHAT ARGUMENTS-OF-REPORT_TEST...
json() { what=$1; shift; passes "$what" json "$tmp/out" "$@"; }
csv() { what=$1; shift; passes "$what" csv "$tmp/out" "$@"; }
passes() {
	title=$1
	shift
	if "$build/tests/ccrun/report_test" "$@" >"$tmp/why"; then ok "$title"; else
		not_ok "$title" "$(cat "$tmp/why")"; fi
}

# on_terminal PATTERN COMMAND...: runs it on a terminal, and stops it once the pattern is there
on_terminal() {
	python3 - "$@" <<'END'
import os, pty, re, signal, sys
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "vt100"
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
try:
    while not re.search(sys.argv[1].encode(), seen):
        more = os.read(fd, 4096)
        if not more:
            break
        seen += more
except OSError:  # its end
    pass
else:
    os.kill(pid, signal.SIGTERM)
os.waitpid(pid, 0)
sys.exit(not re.search(sys.argv[1].encode(), seen))
END
}

# The package for Python finds the library's schedules in a built tree. A build that is not the
# tree's own, as coverage's, gets them as an installed one has them.
find_schedules() {
	[ ! -d "$build/../schedules" ] || return 0
	mkdir -p "$tmp/installed/bin" "$tmp/installed/share/ccs"
	ln -s "$PWD/schedules" "$tmp/installed/share/ccs/schedules"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$build/bin/ccc" >"$tmp/installed/bin/ccc"
	chmod +x "$tmp/installed/bin/ccc"
	export CCS_CCC="$tmp/installed/bin/ccc"
}

# every N K WORD...: each Nth of the words, from number K on; the first is number 0
every() {
	each=$1 number=$((-$2))
	shift 2
	for word in "$@"; do
		[ $((number % each)) != 0 ] || [ $number -lt 0 ] || echo "$word"
		number=$((number + 1))
	done
}

# Nothing that the caller was started by, or has set, counts; but run.sh's settings, and .ci/run's.
bare_environment() {
	for v in $(env | sed -nE 's/^((OMPI|PMI|PMIX|SLURM|MPI|NCCL|FAKE|CCS)_[A-Za-z0-9_]*)=.*/\1/p') \
		RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT \
		CUDA_VISIBLE_DEVICES PYTHONUNBUFFERED; do # which cuts a printed line in two writes
		case $v in CCS_NVRTC | CCS_TEST_NVRTC | CCS_CACHE_DIR | CCS_MAX_CPU_ISA) ;; *) unset "$v" ;; esac
	done
}

# Back to the NVRTC that the user has, after run.sh: see there.
real_nvrtc() {
	unset CCS_NVRTC
	[ -z "${CCS_TEST_NVRTC-}" ] || export CCS_NVRTC="$CCS_TEST_NVRTC"
}

# What this user has in /dev/shm by names with that beginning: shm_begin NAME; and in the end that
# nothing has come that stays there: shm_end. (What another run of tests makes goes within seconds.)
shm_names() { find /dev/shm -maxdepth 1 -user "$(id -u)" -name "$shm*" | sort; }
shm_begin() {
	shm=$1
	shm_names >"$tmp/shm"
}
shm_end() {
	shm_names | comm -13 "$tmp/shm" - >"$tmp/come"
	for second in $(seq 60); do
		shm_names | comm -12 "$tmp/come" - >"$tmp/left"
		[ -s "$tmp/left" ] || break
		sleep 1
	done
	if [ -s "$tmp/left" ]; then
		not_ok "nothing is left in /dev/shm" "$(cat "$tmp/left")"
	else
		ok "nothing is left in /dev/shm"
	fi
}

# Sets $port as free_port() of processes.h does.
new_port() {
	range=$(cat /proc/sys/net/ipv4/ip_local_port_range) # read takes single bytes, which this file does not give
	low=${range%%[!0-9]*} high=${range##*[!0-9]}
	for tries in $(seq 2000); do
		port=$((5000 + $(od -An -N4 -tu4 /dev/urandom) % 60000))
		[ $port -lt "$low" ] || [ $port -gt "$high" ] || [ "$tries" -gt 1000 ] || continue
		grep -qiE "$(printf ':(%04X|%04X) 0+:0000 0A' $port $((port + 1)))" /proc/net/tcp /proc/net/tcp6 || return
	done
}

# What a launcher tells rank $1 of 2; they meet at $port of this host.
by_torchrun() {
	export RANK=$1 WORLD_SIZE=2 LOCAL_RANK=$1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
	export MASTER_PORT=$port
}
by_mpirun() {
	export OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$1
	export OMPI_COMM_WORLD_LOCAL_SIZE=2 CCS_RENDEZVOUS=127.0.0.1:$port
}
by_hydra() {
	export PMI_RANK=$1 PMI_SIZE=2 MPI_LOCALRANKID=$1 MPI_LOCALNRANKS=2
	export CCS_RENDEZVOUS=127.0.0.1:$port
}
by_srun() {
	export SLURM_PROCID=$1 SLURM_NTASKS=2 SLURM_LOCALID=$1 SLURM_STEP_ID=0 SLURM_NODEID=0
	export SLURM_STEP_TASKS_PER_NODE=2 CCS_RENDEZVOUS=127.0.0.1:$port
}
