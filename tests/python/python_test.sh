#!/bin/sh
# The package for Python, as it is in the tree, and as pip installs it. usage: python_test.sh BUILD
set -u
. tests/support/lib.sh
build=$(cd "${1:-build}" && pwd)
bare_environment
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
	echo "skip - the package for Python: there is no python3 of 3.9 or later"
	exit 0
fi
if [ "${SAN:-}" ]; then
	echo "skip - the package for Python: its interpreter is built without sanitizers"
	exit 0
fi
unset CCC
export CCS_LIBRARY="$build/lib/libccs.so.0" PYTHONDONTWRITEBYTECODE=1 TEST_CACHE="$tmp" TMPDIR="$tmp" XDG_CACHE_HOME="$tmp"
export PYTHONPATH="$PWD/python:$PWD/tests/python"
find_schedules

# Every test of unittest's is a line here. Numpy and PyTorch are tried where they are.
python=$(tests/support/python_with.sh numpy torch || echo python3)
timeout 300 "$python" -W error -m unittest discover -v -s tests/python >"$tmp/out" 2>&1
got=$?
sed -nE 's/^(test_[a-z0-9_]+ \(.*\)).* \.\.\. ok$/ok - \1/p
	s/^(test_[a-z0-9_]+ \(.*\)).* \.\.\. skipped ("|'\'')(.*).$/skip - \1: \3/p' "$tmp/out"
if [ $got != 0 ]; then not_ok "unittest" "$(grep -v '\.\.\. ok$' "$tmp/out")"; fi
holds "... ran them all" test "$(grep -c '\.\.\. ok$' "$tmp/out")" -ge 20

# ---- a process a rank ----------------------------------------------------------------------
# pair WHAT SETUP ARGUMENTS...: two processes, each with its rank as SETUP makes it
pair() {
	what=$1 setup=$2
	shift 2
	for r in 0 1; do
		($setup $r "$@" >"$tmp/out$r" 2>&1; echo $? >"$tmp/rc$r") &
	done
	wait
	holds "$what" test "$(cat "$tmp/rc0" "$tmp/rc1" | tr '\n' ' ')" = "0 0 "
	says "... calls that differ are reported in both" "$tmp/out0" '^[A-Z]+ .*(sum|max)'
	holds "... with the same text" cmp "$tmp/out0" "$tmp/out1"
}
new_port
by_environment() {
	by_torchrun "$1"
	timeout 60 python3 tests/python/processes.py
}
by_job() { timeout 60 python3 tests/python/processes.py "$1" "python-test-$$"; }
pair "processes by the launcher's environment" by_environment
pair "processes by a job's name" by_job

# An MPI that is here, if libccs's plug-in for it is.
if ! command -v mpirun >/dev/null 2>&1 || ! [ -e "$build/lib/libccs_mpi.so" ]; then
	echo "skip - Comm.mpi: there is no MPI"
else
	case $(mpirun --version 2>&1) in
	*"Open MPI"*) options='--oversubscribe --allow-run-as-root' ;;
	*) options= ;;
	esac
	# shellcheck disable=SC2086
	status "processes by mpirun" 0 timeout 120 mpirun $options -np 2 \
		env CCS_MPI_PLUGIN="$build/lib/libccs_mpi.so" python3 tests/python/processes.py mpi
	says "... calls that differ are reported" "$tmp/out" '^[A-Z]+ .*(sum|max)'
fi

# ---- ranks on GPUs -----------------------------------------------------------------------------
# faked COMMAND...: with what stands in for NVIDIA's driver, NVRTC and NCCL.
faked() {
	timeout 120 env LD_LIBRARY_PATH="$build/tests/fake_cuda" FAKE_CUDA_GPUS=2 CCS_CACHE_DIR= \
		CCS_NVRTC="$build/tests/fake_cuda/libnvrtc.so" \
		CCS_NCCL="$build/tests/fake_nccl/libnccl.so.2" python3 -W error "$@"
}
for async in 0 1; do
	FAKE_CUDA_ASYNC=$async faked tests/python/gpu_ranks.py >"$tmp/out" 2>"$tmp/err"
	got=$?
	sed -nE 's/^(test_[a-z0-9_]+ \(.*\)).* \.\.\. ok$/ok - on GPUs: \1/p' "$tmp/err"
	if [ $got != 0 ]; then not_ok "ranks on GPUs" "$(grep -v '\.\.\. ok$' "$tmp/err")"; fi
	holds "... nothing is left, or illegal" sh -c "! grep -q fake_ '$tmp/err'"
done
id=$(faked -c 'import ccs; print(ccs.Comm.unique_id().hex())')
on_gpu() { faked tests/python/gpu_ranks.py "$1" "$id"; }
for r in 0 1; do
	(on_gpu $r >"$tmp/out$r" 2>&1; echo $? >"$tmp/rc$r") &
done
wait
holds "processes on GPUs" test "$(cat "$tmp/rc0" "$tmp/rc1" | tr '\n' ' ')" = "0 0 "
holds "... with messages, and nothing is left" test "$(cat "$tmp/out0" "$tmp/out1" | tr '\n' ' ')" = "alike alike "

# ---- where the library is --------------------------------------------------------------------
status "CCS_LIBRARY of no file" 1 env CCS_LIBRARY=/no/libccs.so python3 -c 'import ccs; ccs.dtypes()'
says "... is said" "$tmp/err" '/no/libccs.so: no such file'
printf 'const char *ccs_version(void) { return "9.9.9"; }\n' | ${CC:-cc} -shared -fPIC -x c -o "$tmp/other.so" -
status "another library" 1 env CCS_LIBRARY="$tmp/other.so" python3 -c 'import ccs; ccs.dtypes()'
says "... is said" "$tmp/err" 'is no libccs of version'
holds "the version is the Makefile's" test \
	"$(python3 -c 'import ccs; print(ccs.__version__)')" = "$(sed -n 's/^VERSION := //p' Makefile)"

# ---- pip ----------------------------------------------------------------------------------------
if ! python3 -c 'import setuptools as s, wheel, pip; assert int(s.__version__.split(".")[0]) >= 61' 2>/dev/null; then
	echo "skip - pip install: it needs pip, wheel and setuptools 61 (python3-pip, -wheel, -setuptools)"
	exit $failed
fi
cp -R python "$tmp/package"
status "pip install" 0 timeout 120 python3 -m pip install --quiet --disable-pip-version-check \
	--no-build-isolation --no-deps --no-index --target "$tmp/site" "$tmp/package"
status "... works from there" 0 env PYTHONPATH="$tmp/site" python3 -c \
	'import ccs, os; assert ccs.__file__.startswith(os.environ["PYTHONPATH"]); print(ccs.runtime_version())'
holds "... and is typed" test -e "$tmp/site/ccs/py.typed"
exit $failed
