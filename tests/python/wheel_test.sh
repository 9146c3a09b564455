#!/usr/bin/env bash
# wheel_test.sh SOURCE_DIR PYTHON SCRATCH_DIR [CMAKE_DEFINITION...]: builds the wheel, checks it, and
# installs it into a new virtual environment, SCRATCH_DIR/venv, which finds PyTorch and all else in
# PYTHON's.
set -euo pipefail
source_dir=$1 python=$2 scratch=$3
shift 3

"$source_dir/scripts/build_wheel.sh" "$python" "$scratch/wheel" "$@"
wheels=("$scratch"/wheel/*.whl)
if [[ ${#wheels[@]} != 1 || ${wheels[0]} != *-py3-none-manylinux_*.whl ]]; then
  echo "built ${wheels[*]}, must be one wheel for every Python"
  exit 1
fi
bytes=$(stat -c %s "${wheels[0]}")
[ "$bytes" -lt 40000000 ] || { echo "the wheel has $bytes bytes, must be below 40 MB"; exit 1; }

rm -rf "$scratch/venv"
"$python" -m venv "$scratch/venv"
begin=$SECONDS
"$scratch/venv/bin/pip" install --quiet --no-index "${wheels[0]}"
[ $((SECONDS - begin)) -lt 20 ] || { echo "installing took 20 s or more"; exit 1; }
site=$("$scratch/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/python_of_tests.pth"
cd /
"$scratch/venv/bin/python" -c "
import jfa
assert jfa.__file__.startswith('$site'), jfa.__file__
print('jfa', jfa.__version__, 'in $bytes bytes')"
