#!/bin/sh
# usage: pythons.sh [PYTEST-ARGUMENT...]
# Unit, contract and golden tests with each Python from 3.11 to 3.14 that is here: in PATH, or where pyenv keeps it. Each has an
# environment of its own, in $PATHLAB_PYTHONS (build/pythons). Missing ones are named. Exit status 1 where tests fail.
# PYTHONS="3.12 3.13" takes these versions alone.
set -u
cd "$(dirname "$0")/.." || exit 1
folder=${PATHLAB_PYTHONS:-build/pythons}
[ $# -gt 0 ] || set -- -q -n 3 -m "not netns" tests/unit tests/contract tests/golden

find_python() { # VERSION
    for candidate in "$(command -v "python$1")" "$HOME/.pyenv/versions/$1"*/bin/"python$1"; do
        # A shim of pyenv may be in PATH for a version that is not in use.
        [ -x "$candidate" ] && [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ] &&
            echo "$candidate" && return
    done
}

test_with() { # VERSION INTERPRETER PYTEST-ARGUMENT...
    environment=$folder/$1
    make -s VENV="$environment" PYTHON="$2" dev || return 1
    shift 2
    "$environment/bin/python" -m pytest "$@"
}

passed='' failed='' missing=''
for version in ${PYTHONS:-3.11 3.12 3.13 3.14}; do
    interpreter=$(find_python "$version")
    if [ -z "$interpreter" ]; then
        missing="$missing $version"
        continue
    fi
    echo "Python $version: $interpreter"
    if test_with "$version" "$interpreter" "$@"; then passed="$passed $version"; else failed="$failed $version"; fi
done
echo "Python versions: passed:${passed:- none}; failed:${failed:- none}; not here:${missing:- none}"
[ -z "$failed" ]
