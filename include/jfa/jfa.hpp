// Everything a user of the C++ API includes.
#pragma once

#include "jfa/attention.hpp"
