#!/bin/sh
# Runs the tutorials for Python (examples/tutorials/python/) with gloo and with ccs: each compares its
# values with what it must get, and both print the same.   usage: torch_tutorials_test.sh BUILD
set -u
. tests/support/lib.sh
set -- "${1:-build}" "tutorials for Python"
. tests/support/torch.sh
folder=examples/tutorials/python
export PYTHONPATH="$PYTHONPATH:$PWD/$folder" CCS_SCHEDULES_REPORT=0 PYTHONWARNINGS=ignore

# all BACKEND: every program, in one interpreter, which loads PyTorch once; $tmp/BACKEND.NAME is
# what each prints.
cat >"$tmp/all.py" <<'end'
import contextlib, pathlib, runpy, sys
backend, folder, out = sys.argv[1:]
sys.argv[1:] = [backend]
for path in sorted(pathlib.Path(folder).glob("*.py")):
    if path.stem == "tutorial":
        continue
    try:
        runpy.run_path(str(path))
        print("---", path.stem, flush=True)
    except SystemExit as error:
        print(error, flush=True)
        print("--- not", path.stem, flush=True)
end
for backend in gloo ccs; do
	timeout 300 "$python" "$tmp/all.py" $backend $folder "$tmp" >"$tmp/$backend" 2>"$tmp/$backend.err" ||
		not_ok "the tutorials with $backend" "$(tail -5 "$tmp/$backend.err")"
done
holds "nothing is lacking with ccs" test "$(grep -c 'has no such call' "$tmp/ccs")" = 0
# What gloo of this version has not is left out of the comparison.
sed -n 's/: gloo has no such call$//p' "$tmp/gloo" >"$tmp/lacking"
for name in $(sed -n 's/^--- //p' "$tmp/lacking" /dev/null; cd $folder && ls *.py | sed 's/\.py$//'); do
	[ "$name" = tutorial ] && continue
	holds "$name is short" test "$(wc -l <"$folder/$name.py")" -lt 100
	for backend in gloo ccs; do
		holds "... has its values with $backend" grep -qx -- "--- $name" "$tmp/$backend"
	done
done
sed -E 's/:.*//' "$tmp/lacking" | while read -r example; do echo "^$example(,|:)"; done >"$tmp/patterns"
for backend in gloo ccs; do
	grep -vE -f "$tmp/patterns" "$tmp/$backend" | sort >"$tmp/$backend.same"
done
holds "gloo and ccs print the same" diff "$tmp/gloo.same" "$tmp/ccs.same"
holds "... also the losses of a training" test "$(grep -c 'losses' "$tmp/ccs.same")" = 2
while read -r example; do
	echo "skip - $example with gloo: this PyTorch's has no such call"
done <"$tmp/lacking"

# A program whose values are wrong is noticed.
sed 's/\[12\.0\]/[13.0]/' $folder/all_reduce.py >"$tmp/wrong.py"
status "a wrong value" 1 "$python" "$tmp/wrong.py" ccs
says "... is named" "$tmp/err" 'all_reduce_sum, rank 0: \[13.0\] was wanted'
exit $failed
