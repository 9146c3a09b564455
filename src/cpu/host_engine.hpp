// The CPU engine as the API sees it: checks indices by value, plans, computes.
#pragma once

#include "problem/engine.hpp"

namespace jfa::cpu {

const Engine& engine();

}  // namespace jfa::cpu
