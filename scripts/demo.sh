#!/usr/bin/env bash
# Installs what is missing, builds the tool and shows jagged attention at work on any machine:
# a real encoder's attention layer and the suite's smallest cases, each checked against fp64.
. "$(dirname "$0")/common.sh"

install_packages "${build_packages[@]}"
build release -DBUILD_TESTING=OFF

step "Attention of a real encoder on real sentences, against fp64 and the model's own output"
build/release/jfa run examples/data/minilm.safetensors --check -o build/minilm_out.safetensors

step "Small cases of the suite, forward and backward, against fp64"
build/release/jfa check --suite bench/suite_demo.json
