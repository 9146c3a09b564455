// Every word of the machine layer. A kernel includes this and nothing else of it.
#pragma once

#include "machine/barriers.hpp"
#include "machine/copies.hpp"
#include "machine/fragment.hpp"
#include "machine/mma.hpp"
#include "machine/roles.hpp"
#include "machine/tile.hpp"
