#!/bin/sh
# Prints the Python that the virtual environment is made from: $PYTHON where it is set, else the newest
# python3.N (N >= 11) on PATH, else a python3 that is new enough.  POSIX sh, because nothing else may be assumed.
#
# Each candidate is run and not only looked up: version managers leave shims on PATH for versions that are not installed.

is_usable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    if is_usable "$PYTHON"; then
        echo "$PYTHON"
        exit 0
    fi
    echo "lapilli needs Python 3.11 or newer; PYTHON=$PYTHON is $("$PYTHON" --version 2>&1 | head -n 1)" >&2
    exit 1
fi

for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
    if is_usable "$candidate"; then
        command -v "$candidate"
        exit 0
    fi
done

found=$(python3 --version 2>&1 | head -n 1) || found="no python3"
cat >&2 <<MESSAGE
lapilli needs Python 3.11 or newer; PATH has: $found
Install one (Debian 12, Ubuntu 24.04 and newer: apt-get install python3 python3-venv) or name it: make PYTHON=/path/to/python3.12
MESSAGE
exit 1
