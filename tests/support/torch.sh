# For suites that run PyTorch: sourced after lib.sh, with $1 the build, and $2 what is tested.
# Sets $build and $python, and what that needs to find ccs; without a PyTorch, or where the
# library cannot be loaded into one, says that it is skipped, and ends the suite.
build=$(cd "${1:-build}" && pwd)
bare_environment
if [ "${SAN:-}" ]; then
	echo "skip - $2: its interpreter is built without sanitizers"
	exit 0
fi
if ! python=$(tests/support/python_with.sh torch); then
	echo "skip - $2: there is no PyTorch (Debian's python3-torch)"
	exit 0
fi
unset CCC
export CCS_LIBRARY="$build/lib/libccs.so.0" PYTHONDONTWRITEBYTECODE=1 TMPDIR="$tmp" XDG_CACHE_HOME="$tmp"
export PYTHONPATH="$PWD/python" OMP_NUM_THREADS=1
find_schedules
