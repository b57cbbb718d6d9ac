#!/bin/sh
# The wheel (make wheel): in a fresh venv, with no variable set and without this tree, it has ccc, ccrun,
# ccs and the back end for PyTorch.   usage: wheel_test.sh BUILD
set -u
. tests/support/lib.sh
build=$1
tools=build/wheels/wheel_tools/site-packages
if [ "${SAN:-}" ]; then
	echo "skip - the wheel: its programs are built with sanitizers"
	exit 0
fi
if [ ! -e $tools/auditwheel ] || ! python3 -m venv "$tmp/venv" 2>/dev/null; then
	echo "skip - the wheel: it needs auditwheel (deps.sh wheel) and venv (python3-venv)"
	exit 0
fi
status "make wheel" 0 timeout 300 python/wheel.sh "$build" "$tmp/made"
status "pip install" 0 "$tmp/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
	--no-index --no-deps "$tmp"/made/ccs-*.whl

# alone COMMAND...: as a user who has nothing but the wheel.
alone() {
	(cd "$tmp" && env -i PATH="$tmp/venv/bin:/usr/bin:/bin" HOME="$tmp" TMPDIR="$tmp" "$@")
}
cp schedules/ring_allreduce.ccs "$tmp/ring.ccs"
status "ccc" 0 alone ccc ring.ccs -n 4 -o ring.so
status "ccrun" 0 alone ccrun ring.so -n 4
cat >"$tmp/sum.py" <<'end'
import array, os, ccs
from ccs.compiler import schedule_folders
from ccs.native import library_path

assert ccs.__file__.startswith(os.environ["HOME"]) and library_path().startswith(os.environ["HOME"])
ring = ccs.compile(os.path.join(schedule_folders()[0], "ring_allreduce.ccs"), 4)
data = [array.array("f", [rank] * 8) for rank in range(4)]
with ccs.Comm.tasks(4) as comm:
    ring.run(comm, data, data)
print(data[3][7])
end
status "import ccs" 0 alone python sum.py
says "... adds" "$tmp/out" '^6.0$'
says "... has the entry point for PyTorch 2.5 and later" \
	"$tmp"/venv/lib/python3*/site-packages/ccs-*.dist-info/entry_points.txt '^ccs = ccs.autoload:register$'
# Without the libraries that every system has by manylinux's list, such as libexpat.
for program in ccc ccrun; do
	file=$(echo "$tmp"/venv/lib/python3*/site-packages/ccs/prefix/bin/$program)
	holds "$program has its libraries in the wheel" sh -c "! ldd '$file' | grep -E 'not found|(jansson|isl|gmp).*=> (/usr)?/lib'"
done

if ! python=$(tests/support/python_with.sh torch); then
	echo "skip - init_process_group(\"ccs\"): there is no PyTorch"
	exit $failed
fi
cat >"$tmp/group.py" <<'end'
import torch
import torch.distributed as dist
from ccs.autoload import register

register()  # which PyTorch does from 2.5 on
dist.init_process_group("ccs")
t = torch.ones(1)
dist.all_reduce(t)
print(t.item())
end
site=$(echo "$tmp"/venv/lib/python3*/site-packages)
new_port
for r in 1 0; do
	alone RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port PYTHONPATH="$site" \
		timeout 200 "$python" group.py >"$tmp/out$r" 2>"$tmp/err$r" &
done
wait
holds "init_process_group(\"ccs\")" test "$(cat "$tmp/out0" "$tmp/out1" | tr '\n' ' ')" = "2.0 2.0 "
exit $failed
