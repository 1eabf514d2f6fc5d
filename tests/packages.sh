#!/bin/sh
# Debian packages that the tests and checks use: installed when this user may, else named.
# Prints nothing when all are there. With PATHLAB_REQUIRE=all a missing one is an error.
set -u

# package:program that it brings (looked up in PATH and the sbin folders)
wanted="
gcc:cc
make:make
iproute2:ip
util-linux:unshare
iputils-ping:ping
clang-14:clang-14
clang-format-14:clang-format-14
cppcheck:cppcheck
python3-venv:/usr/lib/python3/dist-packages/../../python3.11/ensurepip/__init__.py
git:git
"
PATH=$PATH:/usr/sbin:/sbin
missing() {
    for pair in $wanted; do
        program=${pair#*:}
        case $program in
            /*) [ -e "$program" ] || echo "${pair%%:*}" ;;
            *) command -v "$program" >/dev/null 2>&1 || echo "${pair%%:*}" ;;
        esac
    done
}

lacking=$(missing)
[ -z "$lacking" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian packages that the tests use:" $lacking
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends $lacking >/dev/null
    lacking=$(missing)
    [ -z "$lacking" ] && exit 0
fi
echo "Missing, so the tests that use them are skipped:" $lacking >&2
echo "  next: apt-get install" $lacking >&2
[ "${PATHLAB_REQUIRE:-}" = all ] && exit 3
exit 0
