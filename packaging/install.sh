#!/bin/sh
# Installs Postern @version@: downloads the archive for this machine, checks its SHA-256, and unpacks it.
#
#   sh install.sh [--prefix FOLDER]
#
# FOLDER is /usr/local, or ~/.local where that cannot be written. POSTERN_RELEASE names another folder or address that
# holds the release's files, such as a mirror's.
set -eu

version='@version@'
release=${POSTERN_RELEASE:-'@release@'}
prefix=

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || fail "--prefix needs a folder: --prefix FOLDER"
      prefix=$2
      shift 2
      ;;
    --prefix=*)
      prefix=${1#--prefix=}
      shift
      ;;
    *) fail "unexpected argument $1: expected --prefix FOLDER" ;;
  esac
done

case $(uname -s) in
  Linux)
    # Deno's runtime is made for glibc
    if (ldd --version 2>&1 || true) | grep -qi musl; then
      fail "this system has musl, and Postern needs glibc 2.27 or newer: use the container image"
    fi
    system=unknown-linux-gnu
    ;;
  Darwin) system=apple-darwin ;;
  *) fail "there is no archive for $(uname -s) here: on Windows unpack the zip file of the release" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no archive for $(uname -m): expected x86_64 or aarch64" ;;
esac
stem=postern-$version-$machine-$system

if [ -z "$prefix" ]; then
  if [ -w /usr/local/bin ] && [ -w /usr/local/share ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

get() {
  case $release in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl -fsSL -o "$folder/$1" "$release/$1"
      elif command -v wget >/dev/null; then
        wget -q -O "$folder/$1" "$release/$1"
      else
        fail "needs curl or wget"
      fi
      ;;
    *) cp "$release/$1" "$folder/$1" ;;
  esac || fail "cannot get $release/$1"
}

sha256() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "needs sha256sum or shasum"
  fi | cut -d ' ' -f 1
}

get SHA256SUMS
expected=$(awk -v name="$stem.tar.gz" '$2 == name { print $1 }' "$folder/SHA256SUMS")
[ -n "$expected" ] || fail "the release has no $stem.tar.gz"
get "$stem.tar.gz"
actual=$(sha256 "$folder/$stem.tar.gz")
[ "$actual" = "$expected" ] ||
  fail "$stem.tar.gz is not what was released: its SHA-256 is $actual, expected $expected. Nothing was installed"

tar -xzf "$folder/$stem.tar.gz" -C "$folder"
mkdir -p "$prefix/bin" || fail "cannot write to $prefix: give another folder with --prefix"
# beside, then renamed: a server that runs keeps the file that it has open
cp "$folder/$stem/bin/postern" "$prefix/bin/.postern.new"
mv -f "$prefix/bin/.postern.new" "$prefix/bin/postern"
cp -R "$folder/$stem/share" "$prefix/"

echo "Postern $version is installed as $prefix/bin/postern"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "Add $prefix/bin to PATH to call it as postern" ;;
esac
