// What the machine layer relies on nvcc to accept. Each file under traps/ is what it must avoid.
#include "cuda/launch.hpp"
#include "machine/machine.hpp"

namespace jfa {
inline namespace gpu {

// A name given explicitly, in a type and in a function.
template <Name N>
struct Named {
  static JFA_DEVICE int length() {
    int length = 0;
    while (N.text[length] != '\0') ++length;
    return length;
  }
};
template <Name N>
JFA_DEVICE int length_of() {
  return Named<N>::length();
}

// A plain value in the arguments of a kernel, names only inside it.
struct TrapConfig {
  int slots = 2;
};
template <class M, TrapConfig C>
struct TrapKernel {
  static constexpr int kThreads = 64;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  struct Params {
    int* out;
  };
  struct Smem {
    Ring<M, "numbers", int, C.slots, By<EachThread<32>>, FreedBy<EachThread<32>>> numbers;
  };
  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.numbers.init(); });
    warp_roles<M>(role<"write", Warps{0, 1}>([&] {
                    auto w = smem.numbers.writer();
                    smem.numbers.fill(w, [](int& slot) { slot = length_of<"numbers">(); });
                  }),
                  role<"read", Warps{1, 1}>([&] {
                    auto r = smem.numbers.reader();
                    p.out[M::lane()] = smem.numbers.wait(r);
                    smem.numbers.release(r);
                  }));
  }
};

// A call site costs nothing: the type is empty.
static_assert(std::is_empty_v<Site>);
static_assert(std::is_empty_v<Hopper::FragmentState>);
static_assert(sizeof(Fragment<Hopper, 64>) == 32 * sizeof(float));

void launch_trap_kernel() { launch<TrapKernel<Hopper, TrapConfig{}>>(1, {}, nullptr); }

}  // namespace gpu
}  // namespace jfa
