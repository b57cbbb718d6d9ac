#!/bin/sh
# Debian's MPICH, unpacked into a folder of its own with the shape of a wheel (bin/mpicc,
# bin/mpifort, bin/mpirun), beside the MPI that is installed, whose files it would replace. Where the release is
# another than 12, it is another MPICH; the suites ask it for its version.
# usage: debian_mpich.sh FOLDER
set -u
folder=$1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp" # apt-get downloads as another user

# What apt-get would install for it and is not here; hydra is linked with Slurm's library.
wanted="mpich libmpich-dev libmpich12"
slurm=$(apt-cache depends mpich 2>/dev/null | sed -n 's/^ *Depends: *\(libslurm[0-9]*\)$/\1/p')
# shellcheck disable=SC2086
download() { (cd "$tmp" && apt-get download $wanted $slurm) >/dev/null 2>&1; }
download || { apt-get update >/dev/null 2>&1 && download; } || exit 1
mkdir -p "$tmp/root/bin" "$tmp/root/lib"
for package in "$tmp"/*.deb; do
	dpkg -x "$package" "$tmp/root" || exit 1
done
rm -rf "$tmp/root/usr/share" "$tmp"/root/usr/lib/*/*.a
[ -x "$tmp/root/usr/bin/mpiexec.hydra" ] || exit 1
# The name of MPICH's ABI, which programs of other builds are linked with.
ln -s "$(cd "$tmp/root/lib" && echo ../usr/lib/*/libmpich.so.12)" "$tmp/root/lib/libmpi.so.12" || exit 1

cat >"$tmp/root/bin/mpicc" <<'EOS'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
lib=$(echo "$here"/usr/lib/*/libmpich.so.12)
lib=${lib%/*}
# shellcheck disable=SC2086
exec ${MPICH_CC:-cc} "$@" -I"$here/usr/include/${lib##*/}/mpich" -L"$lib" -Wl,-rpath,"$lib" -lmpich
EOS
cat >"$tmp/root/bin/mpifort" <<'EOS'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
lib=$(echo "$here"/usr/lib/*/libmpich.so.12)
lib=${lib%/*}
# shellcheck disable=SC2086
exec ${MPICH_FC:-gfortran} -w -fallow-argument-mismatch $(printf -- '-I%s ' "$lib"/fortran/*/mpich) \
	-I"$here/usr/include/${lib##*/}/mpich" "$@" -L"$lib" -Wl,-rpath,"$lib" -lmpichfort -lmpich
EOS
cat >"$tmp/root/bin/mpirun" <<'EOS'
#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
lib=$(echo "$here"/usr/lib/*/libmpich.so.12)
export LD_LIBRARY_PATH="${lib%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/usr/bin/mpiexec.hydra" "$@"
EOS
chmod +x "$tmp"/root/bin/*
# A library that this machine lacks: whoever has no Open MPI may lack libucx0.
LD_LIBRARY_PATH=$(dirname "$(echo "$tmp"/root/usr/lib/*/libmpich.so.12)")
export LD_LIBRARY_PATH
! ldd "$tmp/root/lib/libmpi.so.12" "$tmp/root/usr/bin/mpiexec.hydra" | grep -q 'not found' || exit 1
mkdir -p "$(dirname "$folder")" && rm -rf "$folder" && cp -a "$tmp/root" "$folder"
