#!/usr/bin/env bash
# Shared by demo.sh and test.sh: installs what is missing and builds. Sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

step() { printf '\n==> %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages PACKAGE...: installs those Debian or Ubuntu packages that are not there yet.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  step "Installing ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
}

# Debian 12 has two Boosts; its default, 1.74, is the older.
boost_context=libboost-context-dev
# shellcheck disable=SC1091 # describes the system
if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ]; then
  boost_context=libboost-context1.81-dev
fi

# What the library, the tool and the emulator are built with.
# shellcheck disable=SC2034 # used by the scripts that source this one
build_packages=(g++ cmake ninja-build git libhwy-dev libtbb-dev libcli11-dev nlohmann-json3-dev
  "$boost_context")

if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

# build PRESET [CMAKE_ARGUMENT...]
build() {
  local preset=$1
  shift
  step "Building preset $preset"
  cmake --preset "$preset" "$@" >/dev/null
  cmake --build --preset "$preset"
}
