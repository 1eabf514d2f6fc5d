#!/bin/sh
# Debian's kernel for clouds, downloaded and unpacked (never installed) into build/guest: vmlinuz and modules.
# It has what many containers and small virtual machines lack: netem, bonding, SCTP.
set -eu
cd "$(dirname "$0")/../.."
target=build/guest
[ -f "$target/vmlinuz" ] && exit 0
package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
[ -n "$package" ] || { echo "no package linux-image-cloud-amd64 is known to apt" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download "$package" >/dev/null 2>&1 && dpkg-deb -x ./*.deb unpacked)
mkdir -p "$target"
rm -rf "$target/modules"
mv "$work"/unpacked/lib/modules "$target/modules"
# modules.dep is made when a kernel is installed.
release=$(ls "$target/modules")
mkdir -p "$work/base/lib"
ln -s "$PWD/$target/modules" "$work/base/lib/modules"
PATH=$PATH:/sbin:/usr/sbin depmod -b "$work/base" "$release"
mv "$work"/unpacked/boot/vmlinuz-* "$target/vmlinuz"
