#!/bin/sh
# Makes the wheel: the package, and in it what `make install` installs, with the libraries that it
# needs (auditwheel).   usage: wheel.sh BUILD FOLDER
set -eu
build=$1 to=$2
tools=build/wheels/wheel_tools/site-packages
stage=$build/wheel
rm -rf "$stage"
mkdir -p "$stage" "$to"
cp -R python "$stage/package"
prefix=$PWD/$stage/package/ccs/prefix
# Installed for the prefix that was built for: another one would build parts of it again.
all=$stage/all$(cut -d '|' -f 1 "$build/prefix")
"${MAKE:-make}" --no-print-directory -s BUILD="$build" PREFIX="${all#"$stage/all"}" \
	DESTDIR="$PWD/$stage/all" install
mkdir -p "$prefix/lib" "$prefix/share"
cp -R "$all/bin" "$prefix"
cp -R "$all/lib/ccs" "$all/lib/libccs.so.0" "$prefix/lib"
cp -R "$all/share/ccs" "$prefix/share"
rm -rf "$prefix/share/ccs/vscode" "$prefix/share/ccs/tree-sitter-ccs"
cat >>"$stage/package/pyproject.toml" <<'end'

[project.scripts]
ccc = "ccs.programs:ccc"
ccrun = "ccs.programs:ccrun"
end
sed -i 's|^ccs = \["py.typed"\]|ccs = ["py.typed", "prefix/**/*"]|' "$stage/package/pyproject.toml"
printf '[bdist_wheel]\nplat_name = linux_%s\n' "$(uname -m)" >"$stage/package/setup.cfg"
PATH=$PWD/$tools/bin:$PATH PYTHONPATH=$PWD/$tools
export PATH PYTHONPATH
python3 -m pip wheel --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation \
	--wheel-dir "$stage" "$stage/package"
python3 -m auditwheel repair --wheel-dir "$to" "$stage"/ccs-*.whl >"$stage/repair.log" 2>&1 ||
	{ cat "$stage/repair.log" >&2; exit 1; }
ls "$to"/ccs-*.whl
