#!/usr/bin/env bash
# usage: bench/install_torch.sh VENV [PYTHON]
# Makes a virtual environment whose PyTorch runs on the CPU, without the CUDA wheels that PyPI's
# torch asks for: the CUDA 13.0 toolkit installed beside it (cuBLAS, cuDNN 9, NCCL 2.28, ... found
# through ldconfig) serves the libraries that torch links, and only the three that the toolkit
# lacks are installed. torch 2.11 is the newest release that loads with that NCCL.
# About 760 MB to download, 1.6 GB on disk. pip's complaint about torch's unmet requirements is
# expected. Where that toolkit is not installed, all that torch asks for is.
set -eu
venv=$1
python=${2:-python3}
"$python" -m venv "$venv"
pip=("$venv/bin/pip" install --quiet --no-cache-dir --no-compile)
if ldconfig -p | grep -q libcudnn.so.9 && ldconfig -p | grep -q libcublas.so.13; then
  "${pip[@]}" --no-deps torch==2.11.0 nvidia-nvshmem-cu13==3.4.5 nvidia-cusparselt-cu13==0.8.0 \
    nvidia-cufile==1.15.1.6
else
  "${pip[@]}" torch==2.11.0
fi
"${pip[@]}" -r "$(dirname "$0")/requirements.txt"
"$venv/bin/python" -c 'import torch; print("torch", torch.__version__)'
