#!/bin/sh
# `ccc lsp`: a conversation with expected answers, what breaks the protocol, and a small fuzz
# of framed messages (client.py).   usage: lsp_test.sh BUILD
set -u
. tests/support/lib.sh
ccc=${1:-build}/bin/ccc

if ! command -v python3 >/dev/null; then
	echo "skip - ccc lsp by a scripted client: there is no python3"
else
	python3 tests/editors/client.py "$ccc" "$tmp" || failed=1
fi
status "ccc lsp takes no file" 2 "$ccc" lsp schedules/ring_allreduce.ccs
says "... and says why" "$tmp/err" 'from the editor'
status "... and no output file" 2 "$ccc" lsp -o "$tmp/x"
status "an end of input without shutdown" 1 "$ccc" lsp
holds "... is no message" test ! -s "$tmp/out"
exit $failed
