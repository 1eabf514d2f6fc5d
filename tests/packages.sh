#!/bin/sh
# Debian packages that the tests and checks use: installed when this user may, else named.
# Prints nothing when all are there. With PATHLAB_REQUIRE=all a missing one is an error.
set -u

# package:program that it brings, or package:/file of it
wanted="
gcc:cc
make:make
iproute2:ip
util-linux:unshare
iputils-ping:ping
openssh-server:sshd
openssh-client:ssh-keygen
tcsh:csh
fish:fish
clang-14:clang-14
clang-format-14:clang-format-14
clang-tidy-14:clang-tidy-14
valgrind:valgrind
cppcheck:cppcheck
git:git
curl:curl
iperf3:iperf3
irtt:irtt
flent:flent
qemu-system-x86:qemu-system-x86_64
qemu-user-static:qemu-aarch64-static
busybox-static:busybox
man-db:man
cpio:cpio
kmod:depmod
chromium:chromium
nftables:nft
mmdebstrap:mmdebstrap
buildah:buildah
lintian:lintian
zsh:zsh
"
# What the technologies of agents/adapters are built with and answered by, and their own benchmarks.
wanted="$wanted
g++:g++
libgrpc++-dev:/usr/include/grpcpp/grpcpp.h
libzmq3-dev:/usr/include/zmq.h
libomniorb4-dev:/usr/include/omniORB4/CORBA.h
omniidl:omniidl
default-jdk-headless:javac
redis-server:redis-server
libhiredis-dev:/usr/include/hiredis/hiredis.h
postgresql:/usr/lib/postgresql/15/bin/postgres
libpq-dev:/usr/include/postgresql/libpq-fe.h
libevent-dev:/usr/include/event2/http.h
libnghttp2-dev:/usr/include/nghttp2/nghttp2.h
nghttp2-server:nghttpd
nghttp2-client:h2load
mosquitto:mosquitto
libmosquitto-dev:/usr/include/mosquitto.h
nats-server:nats-server
libnats-dev:/usr/include/nats/nats.h
libngtcp2-dev:/usr/include/ngtcp2/ngtcp2.h
libngtcp2-crypto-gnutls-dev:/usr/include/ngtcp2/ngtcp2_crypto_gnutls.h
libgnutls28-dev:/usr/include/gnutls/gnutls.h
sockperf:sockperf
"
PATH=$PATH:/usr/sbin:/sbin
missing() {
    for pair in $wanted; do
        case ${pair#*:} in
            /*) [ -e "${pair#*:}" ] ;;
            *) command -v "${pair#*:}" >/dev/null 2>&1 ;;
        esac || echo "${pair%%:*}"
    done
    # A report as PDF is laid out with Pango.
    ldconfig -p 2>/dev/null | grep -q libpangoft2-1.0.so.0 || echo libpangoft2-1.0-0
    # The newcomer's test makes its environment with the system's own Python.
    [ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
}

# A kernel with netem, bonding and SCTP for the guest, where the rest of what it needs is there.
guest() {
    command -v apt-get >/dev/null 2>&1 || return 0
    sh "$(dirname "$0")/guest/kernel.sh" && return 0
    echo "No kernel for the guest, so the tests of netem are skipped." >&2
    [ "${PATHLAB_REQUIRE:-}" = all ] && exit 3
    return 0
}

# A Python of another machine, for the agent under QEMU.
machines() {
    command -v apt-get >/dev/null 2>&1 || return 0
    sh "$(dirname "$0")/guest/python.sh" && return 0
    echo "No Python for aarch64, so the agent's test on it is skipped." >&2
    [ "${PATHLAB_REQUIRE:-}" = all ] && exit 3
    return 0
}

# Starts no server that a package brings: adapters start their own. An administrator's policy is left as it is.
install_packages() {
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        trap 'exit 130' INT TERM
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

lacking=$(missing)
[ -z "$lacking" ] && guest && machines && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Debian packages that the tests use:" $lacking
    # shellcheck disable=SC2086
    (install_packages $lacking)
    lacking=$(missing)
    [ -z "$lacking" ] && guest && machines && exit 0
fi
echo "Missing, so the tests that use them are skipped:" $lacking >&2
echo "  fix: apt-get install" $lacking >&2
[ "${PATHLAB_REQUIRE:-}" = all ] && exit 3
exit 0
