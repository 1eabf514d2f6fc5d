#!/bin/sh
# Debian's Python for aarch64, downloaded and unpacked (never installed) into build/aarch64, for the agent under
# QEMU's user mode. apt keeps this architecture's lists to itself: nothing of the system is changed.
set -eu
cd "$(dirname "$0")/../.."
target=build/aarch64
[ -x "$target/usr/bin/python3" ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/state" "$work/packages"
cat > "$work/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$work/state";
Dir::State::lists "$work/lists";
Dir::State::status "/dev/null";
Dir::Cache "$work/cache";
END
export APT_CONFIG="$work/apt.conf"
apt-get update -qq
version=$(apt-cache depends python3-minimal | sed -n 's/.*Depends: \(python3\.[0-9]*\)-minimal.*/\1/p' | head -n 1)
[ -n "$version" ] || { echo "no python3-minimal for arm64 is known to apt" >&2; exit 3; }
(cd "$work/packages" && apt-get download -qq "$version-minimal" "lib$version-minimal" "lib$version-stdlib" libc6 \
    libgcc-s1 libexpat1 zlib1g libssl3 libffi8 libbz2-1.0 liblzma5 libuuid1 libcrypt1 >/dev/null)
for package in "$work"/packages/*.deb; do
    dpkg-deb -x "$package" "$work/unpacked"
done
ln -s "$version" "$work/unpacked/usr/bin/python3"
mkdir -p build
rm -rf "$target"
mv "$work/unpacked" "$target"
