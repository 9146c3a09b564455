#!/usr/bin/env bash
# install_test.sh SOURCE_DIR BUILD_DIR SCRATCH_DIR: installs the build, then builds and runs programs
# outside the tree against it, by CMake package and by pkg-config.
set -euo pipefail
source_dir=$1 build_dir=$2 scratch=$3

rm -rf "$scratch"
cmake --install "$build_dir" --prefix "$scratch/prefix" >/dev/null
cmake -S "$source_dir/tests/api/consumer" -B "$scratch/consumer" -G Ninja \
  -DCMAKE_PREFIX_PATH="$scratch/prefix" \
  -DQUICKSTART_SOURCE="$source_dir/examples/quickstart.cpp" \
  -DC_ABI_SOURCE="$source_dir/tests/api/c_abi_test.c" >/dev/null
cmake --build "$scratch/consumer"
"$scratch/consumer/quickstart"
"$scratch/consumer/c_abi"
"$scratch/prefix/bin/jfa" info

libdir=$(dirname "$(find "$scratch/prefix" -name jfa.pc)")
export PKG_CONFIG_PATH=$libdir
read -ra flags <<<"$(pkg-config --cflags --libs jfa)"
c++ -std=c++20 "$source_dir/examples/quickstart.cpp" "${flags[@]}" -o "$scratch/by_pkg_config"
LD_LIBRARY_PATH=$(dirname "$libdir") "$scratch/by_pkg_config"
