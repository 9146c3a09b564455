// Every word of the machine layer: a kernel includes this and nothing else of it. Here the roles:
// which warps do what, with how many registers.
#pragma once

#include "machine/barriers.hpp"
#include "machine/copies.hpp"
#include "machine/mma.hpp"
#include "machine/tmem.hpp"

namespace jfa::inline JFA_BACKEND {

struct Warps {
  int first;
  int count;
};
/// Registers a thread of the role may use; 0 leaves the launch's share alone.
struct Regs {
  int per_thread = 0;
};

template <Name N, Warps W, Regs R, class Fn>
struct Role {
  static constexpr Warps kWarps = W;
  static constexpr int kRegs = R.per_thread;
  Fn fn;
  Site site;

  template <class M, int LaunchRegs>
  JFA_DEVICE void enter() const {
    if constexpr (kRegs != 0 && kRegs != LaunchRegs) {
      M::template set_registers<kRegs, (kRegs > LaunchRegs)>(site);
    }
    M::template enter_role<N>(site);
    fn();
    M::leave_role(site);
  }
};

template <Name N, Warps W, Regs R = Regs{}, class Fn>
JFA_DEVICE Role<N, W, R, Fn> role(Fn fn, Site site = Site::here()) {
  constexpr int kRegs = R.per_thread;
  static_assert(kRegs == 0 || (W.first % 4 == 0 && W.count % 4 == 0),
                "a register budget belongs to whole warpgroups: nest a second warp_roles in it");
  static_assert(kRegs == 0 || (kRegs % 8 == 0 && kRegs >= 24 && kRegs <= 256),
                "a register budget is a multiple of 8 from 24 to 256");
  return {fn, site};
}

// One if/else chain: ptxas honours setmaxnreg only when each role is a branch of its own.
template <class M, int LaunchRegs, class First, class... Rest>
JFA_DEVICE void enter_own_role(int warp, const First& first, const Rest&... rest) {
  constexpr Warps kWarps = First::kWarps;
  if (static_cast<unsigned>(warp - kWarps.first) < static_cast<unsigned>(kWarps.count)) {
    first.template enter<M, LaunchRegs>();
  } else if constexpr (sizeof...(Rest) > 0) {
    enter_own_role<M, LaunchRegs>(warp, rest...);
  }
}

/// Runs on each warp the role that names it; a warp in none goes on. Roles with register budgets
/// must name every warp of the block: the launch's share a thread follows from their number.
template <class M, int Blocks = 1, class... Roles>
JFA_DEVICE void warp_roles(const Roles&... roles) {
  constexpr int kThreads = 32 * (Roles::kWarps.count + ...);
  constexpr int kLaunched = launch_registers(kThreads, Blocks);
  // Or setmaxnreg waits for good.
  static_assert(((32 * Roles::kWarps.count * Roles::kRegs) + ...) <= kThreads * kLaunched,
                "the roles' register budgets exceed what the block is launched with");
  enter_own_role<M, kLaunched>(M::warp_index(), roles...);
}

}  // namespace jfa::inline JFA_BACKEND
