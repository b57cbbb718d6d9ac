#!/bin/sh
# Installs what this machine lacks, asking for nothing.
#
#   deps.sh           what building needs
#   deps.sh check     ... and testing: packages and, into build/wheels, wheels
#   deps.sh format    ... and make format: clang-format, a wheel
#   deps.sh wheel     ... and make wheel: auditwheel and what it needs
#   deps.sh fuzz      ... and make fuzz: clang
#
# Packages are Debian's, installed by one call of apt-get; without apt-get, or the right to use it,
# the missing ones are named. Wheels have the versions and hashes that tests/wheels/ lists.
# What only some tests need is no error: these tests are skipped, and say so.
set -u
cd "$(dirname "$0")/.." || exit 1
for=${1:-build}

# ---- packages ------------------------------------------------------------------------------------

missing= # without which it cannot go on
wanted=  # ... and others
need() { # need COMMAND PACKAGE...
	command=$1
	shift
	command -v "$command" >/dev/null 2>&1 || missing="$missing $*"
}
header() { # header NAME: cmocka.h needs the four others before it
	printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "$1" |
		${CC:-cc} -E -x c - >/dev/null 2>&1
}
has_apt() { command -v apt-get >/dev/null 2>&1; }
has_mpi() {
	command -v mpirun >/dev/null 2>&1 &&
		{ command -v mpicc_abi || command -v mpicc; } >/dev/null 2>&1
}
has_browser() { # that tests/explain/browser.py looks for
	for command in chromium chromium-browser google-chrome google-chrome-stable; do
		! command -v $command >/dev/null 2>&1 || return 0
	done
	return 1
}

has_simgrid() { # that tests/cost/simgrid_test.sh compiles with
	echo '#include <simgrid/s4u.hpp>' | ${CXX:-g++} -E -x c++ - >/dev/null 2>&1
}

need "${CC:-cc}" gcc libc6-dev
need make make
need flex flex
need bison bison
header jansson.h || missing="$missing libjansson-dev"
header expat.h || wanted="$wanted libexpat1-dev"
header isl/ctx.h || wanted="$wanted libisl-dev"
case $for in
check)
	header cmocka.h || missing="$missing libcmocka-dev"
	need "${CXX:-g++}" g++
	need spin spin
	need man man-db
	need pkg-config pkg-config
	! has_apt || need musl-gcc musl-tools
	has_mpi || wanted="$wanted openmpi-bin libopenmpi-dev"
	has_browser || wanted="$wanted chromium"
	has_simgrid || wanted="$wanted g++ libsimgrid-dev"
	command -v node >/dev/null 2>&1 || wanted="$wanted nodejs"
	for command in zsh fish vim; do
		command -v $command >/dev/null 2>&1 || wanted="$wanted $command"
	done
	command -v emacs >/dev/null 2>&1 || wanted="$wanted emacs-nox"
	tests/support/python_with.sh torch numpy >/dev/null || wanted="$wanted python3-torch python3-numpy"
	;;
fuzz) need clang clang ;;
esac

# ---- wheels --------------------------------------------------------------------------------------

# Whether some place has NVRTC; runtime/base/load/library.c looks into more of them.
has_nvrtc() {
	[ -z "${CCS_NVRTC:-}" ] || return 0
	ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1[23]' && return 0
	for lib in /usr/local/cuda*/lib64 /opt/cuda/lib64 "${CUDA_HOME:-/none}/lib64" \
			"${VIRTUAL_ENV:-/none}"/lib/python3*/site-packages/nvidia/*/lib \
			"${HOME:-/none}"/.local/lib/python3*/site-packages/nvidia/*/lib \
			/usr/local/lib/python3*/*-packages/nvidia/*/lib; do
		for file in "$lib"/libnvrtc.so.1[23]; do
			[ -e "$file" ] && return 0
		done
	done
	return 1
}
# Whether all of a list is in its folder, in these versions: pip leaves NAME-VERSION.dist-info.
has_wheels() { # has_wheels LIST FOLDER
	sed -n 's/^\([a-z0-9-]*\)==\([0-9.]*\).*/\1 \2/p' "$1" | while read -r name version; do
		info=$(echo "$name" | tr - _)-$version.dist-info
		for place in "$2" "$2"/lib/python3*/site-packages; do
			[ ! -e "$place/$info" ] || continue 2
		done
		exit 1
	done
}
folder() { echo "build/wheels/$(sed -n '1s/^# \([^ ]*\).*/\1/p' "$1")"; }
megabytes() { sed -n '1s/^# [^ ]* \([0-9]*\) MB.*/\1/p' "$1"; }

lists=
megabytes=0
case $for in
check) lists=$(echo tests/wheels/*.txt) ;;
format | wheel) lists=tests/wheels/$for.txt ;;
esac
for list in $lists; do
	has_wheels "$list" "$(folder "$list")" && continue
	case $list in
	*/nvrtc.txt) has_nvrtc && continue ;;
	*/format.txt) [ -z "${CLANG_FORMAT:-}" ] || continue ;;
	esac
	fetch="${fetch-} $list"
	megabytes=$((megabytes + $(megabytes "$list")))
done
has_pip() { python3 -m pip --version >/dev/null 2>&1; }
[ -z "${fetch-}" ] || has_pip || wanted="$wanted python3-pip"

# ---- installing packages -------------------------------------------------------------------------

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
apt() {
	LC_ALL=C $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" </dev/null
}
apt_install() { apt install -y --no-install-recommends "$@" >"$log" 2>&1; }
# "30 MB to fetch, 100 MB on disk, about 1 min": at 5 MB/s, and 20 MB/s.
amount() {
	apt install --assume-no --no-install-recommends "$@" 2>/dev/null | awk '
		function mega(n, unit) {
			gsub(",", "", n)
			return n * (unit ~ /^GB/ ? 1000 : unit ~ /^MB/ ? 1 : .001)
		}
		/^Need to get / { get = mega($4, $5) } # of archives: 1,057 MB/1,060 MB
		/^After this operation, / { disk = mega($4, $5) }
		END {
			if (disk)
				printf "%.0f MB to fetch, %.0f MB on disk, about %d min", get, disk,
					(get / 5 + disk / 20) / 60 + 1
		}'
}
install_packages() {
	log=$(mktemp) || exit 1
	trap 'rm -f "$log"' EXIT
	# shellcheck disable=SC2086
	set -- $missing $wanted
	if ! amount=$(amount "$@") || [ -z "$amount" ]; then
		apt update >"$log" 2>&1
		amount=$(amount "$@")
	fi
	echo "installing ${amount:+$amount: }$*"
	apt_install "$@" && return
	# shellcheck disable=SC2086
	if [ "$missing" ] && ! apt_install $missing; then
		cat "$log" >&2
		echo "could not install:$missing; as root: apt-get install$missing" >&2
		exit 1
	fi
	for package in $wanted; do
		apt_install "$package" ||
			echo "$package: could not be installed; what needs it is left out or skipped"
	done
}
if [ "$missing$wanted" ]; then
	if has_apt; then
		install_packages
	elif [ "$missing" ]; then
		echo "missing:$missing; install them and try again" >&2
		exit 1
	else
		echo "not here:$wanted; what needs them is left out or skipped"
	fi
fi

# ---- fetching wheels -----------------------------------------------------------------------------

# One list, by one call of pip. (--target leaves out lib and bin, which an MPI needs.)
fetch_wheels() {
	into=$(folder "$1")
	case $into in
	*/site-packages | */own_tests) where=--target ;;
	*) where=--prefix ;;
	esac
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 \
		--require-hashes --no-deps --only-binary=:all: --ignore-requires-python \
		--ignore-installed --upgrade $where "$into" -r "$1" </dev/null >/dev/null 2>&1
}
# Where the network does not answer, the first few lists are enough to know it.
fetch_all() {
	lost=0
	for list; do
		sed -n '1s/^# \([^ ]*\) \(.*\)/fetching \2/p' "$list"
		begun=$(date +%s)
		fetch_wheels "$list" && continue
		echo "... could not be fetched; what needs it is skipped"
		lost=$((lost + $(date +%s) - begun))
		[ $lost -lt 60 ] || { echo "no more is fetched"; return; }
	done
}
if [ "${fetch-}" ] && ! has_pip; then
	echo "wheels for some tests: not here, and no pip to fetch them (python3-pip)"
elif [ "${fetch-}" ]; then
	echo "fetching $megabytes MB of wheels into build/wheels"
	# shellcheck disable=SC2086
	fetch_all $fetch
	[ ! -e build/wheels/impi/bin/IMB-MPI1 ] || chmod +x build/wheels/impi/bin/IMB-MPI1
fi
# Debian's MPICH, which is older than any wheel.
if [ "$for" = check ] && has_apt && [ ! -x build/wheels/mpich402/bin/mpicc ]; then
	echo "fetching Debian's MPICH, for tests beside other MPIs"
	timeout 300 tests/debian_mpich.sh build/wheels/mpich402 </dev/null ||
		echo "... could not be fetched; what needs it is skipped"
fi
exit 0
