#!/bin/sh
# tests/deps.sh on machines that lack everything, with an apt-get and a pip of our own: what it
# asks them for, what it says, and how it goes on where they fail. usage: deps_test.sh
set -u
. tests/support/lib.sh
tree=$tmp/tree
mkdir -p "$tree/tests/support" "$tmp/tools" "$tmp/apt" "$tmp/pip"
cp -R tests/deps.sh tests/wheels tests/debian_mpich.sh "$tree/tests"
cp tests/support/python_with.sh "$tree/tests/support"
for tool in sh sed awk grep tr ls cat date id mktemp rm dirname env timeout touch; do
	ln -s "$(command -v $tool)" "$tmp/tools"
done
printf '#!/bin/sh\necho 0\n' >"$tmp/apt/id" # root
cat >"$tmp/apt/apt-get" <<'EOF'
#!/bin/sh
shift 2 # -o DPkg::Lock::Timeout=...
echo "$*" >>"$LOG"
case $* in
*--assume-no*) [ -e "$LOG.updated" ] || exit 100
	echo "Need to get 1,057 MB/1,060 MB of archives."
	echo "After this operation, 2,225 MB of additional disk space will be used." ;;
update) touch "$LOG.updated" ;;
*download* | *"$REFUSED"*) exit 100 ;;
esac
EOF
cat >"$tmp/pip/python3" <<'EOF'
#!/bin/sh
[ "$1" = -m ] || exit 1
[ "$*" = "-m pip --version" ] && exit 0
echo "$*" >>"$LOG"
exit 1
EOF
chmod +x "$tmp"/apt/* "$tmp/pip/python3"
log=$tmp/log
lacks_all() { # lacks_all FOLDERS REFUSED MODE...
	path=$1 refused=$2
	shift 2
	rm -f "$log" "$log.updated"
	env -i PATH="$path:$tmp/tools" LOG="$log" REFUSED="${refused:-none}" CUDA_HOME=/none sh "$tree/tests/deps.sh" "$@"
}

status "a bare Debian: make demo" 0 lacks_all "$tmp/apt" ""
says "... one call installs what building needs" "$log" \
	'^install -y --no-install-recommends gcc libc6-dev make flex bison libjansson-dev libexpat1-dev libisl-dev$'
holds "... and no other" test "$(grep -c 'install -y' "$log")" = 1
says "... and says how much first" "$tmp/out" '^installing 1057 MB to fetch, 2225 MB on disk, about [0-9]+ min: gcc '
holds "... and nothing of tests" sh -c "! grep -qE 'torch|mpi|cmocka|python' '$log'"
status "... without what building can do without" 0 lacks_all "$tmp/apt" libisl-dev
says "... which is said" "$tmp/out" '^libisl-dev: could not be installed; what needs it is left out or skipped$'
status "... without what it cannot do without" 1 lacks_all "$tmp/apt" flex
says "... which is said" "$tmp/err" '^could not install: .*; as root: apt-get install .* flex '
status "make check, where nothing can be fetched" 0 lacks_all "$tmp/pip:$tmp/apt" "" check
says "... packages come in one call" "$log" 'install -y .* libcmocka-dev .* openmpi-bin .* chromium g[+][+] libsimgrid-dev nodejs .* vim'
says "... how much wheels are is said first" "$tmp/out" '^fetching [0-9]+ MB of wheels into build/wheels$'
holds "... each is tried, and reported, as is Debian's MPICH" test \
	"$(grep -c 'could not be fetched' "$tmp/out")" = $(($(grep -c 'pip install' "$log") + 1))
holds "... by its hash, without long retries" sh -c \
	"! grep 'pip install' '$log' | grep -vE -- '--retries 1 --timeout 15 --require-hashes .* -r tests/wheels/'"
status "a system without apt-get" 1 lacks_all "" ""
says "... what is missing is named" "$tmp/err" '^missing: gcc .* libjansson-dev; install them and try again$'

# ---- what is fetched from PyPI ---------------------------------------------------------------------
for list in tests/wheels/*.txt; do
	says "$list says where to, how much, and what" "$list" '^# [a-z0-9/_-]+ [0-9]+ MB: .*[^.]$'
	holds "... each wheel has a version and hashes" awk '
		/^#/ { next }
		/^[a-z]/ { ok = !open && /^[a-z0-9-]+==[0-9.]+ \\$/; if (!ok) bad = 1; open = 1; next }
		/^    --hash=sha256:[0-9a-f]+( \\)?$/ { hashes++; open = / \\$/; next }
		{ bad = 1 }
		END { exit bad || open || !hashes }' "$list"
done
# shellcheck disable=SC2046
others=$(grep -lE 'pip[0-9]? (install|download)|pip", "install' $(find Makefile .ci tests bench docs/install.mk editors -type f \
	\( -name '*.sh' -o -name '*.mk' -o -name '*.py' -o -name Makefile -o -name run \)) | grep -vxE '(tests/(deps|docs/deps_test|python/(python|wheel)_test)\.sh|docs/install\.mk)')
if [ -z "$others" ]; then ok "nothing else fetches from there"; else not_ok "nothing else fetches from there" "$others"; fi
says "(python_test.sh installs without an index)" tests/python/python_test.sh '--no-build-isolation --no-deps --no-index'
exit $failed
