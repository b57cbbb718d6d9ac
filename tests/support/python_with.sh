#!/bin/sh
# Prints the interpreter that has all these modules: $TEST_PYTHON, python3, or Debian's own,
# which alone has Debian's packages. Status 1: none has.   usage: python_with.sh MODULE...
for python in ${TEST_PYTHON:+"$TEST_PYTHON"} python3 /usr/bin/python3; do
	if "$python" -c 'import importlib.util as u, sys
sys.exit(sys.version_info < (3, 9) or not all(u.find_spec(m) for m in sys.argv[1:]))' "$@" 2>/dev/null; then
		command -v "$python" # its path: docs_test puts a python3 before it
		exit 0
	fi
done
exit 1
