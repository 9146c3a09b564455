// Stacks with guard pages, and switches between them that AddressSanitizer is told of.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <vector>

namespace jfa::emulator {

struct Stack {
  void* bottom = nullptr;
  std::size_t bytes = 0;
};

// Reuses stacks; the page below each one is never accessible.
class StackPool {
 public:
  // Mapping stacks costs more than a small run: each host thread keeps its own.
  static StackPool& of_this_thread();
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  Stack take();
  void give(Stack stack) { free_.push_back(stack); }

 private:
  StackPool() = default;

  std::vector<Stack> free_;
  std::vector<Stack> all_;
};

// A place to switch to: a fiber, or the program that runs them. Abandoning a fiber is giving its
// stack back; nothing on it is destroyed.
class Context {
 public:
  // Runs `entry(argument)` on `stack` at the first switch; `entry` never returns.
  void start(Stack stack, void (*entry)(void*), void* argument);
  // Leaves `from`, which the switch back resumes.
  static void switch_to(Context& from, Context& to);
  // Leaves a fiber for good.
  [[noreturn]] static void finish(Context& from, Context& to);

 private:
  static void begin(boost::context::detail::transfer_t transfer);
  static void arrived(boost::context::detail::transfer_t transfer, Context* self);

  boost::context::detail::fcontext_t state_ = nullptr;
  Stack stack_{};
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* fake_stack_ = nullptr;
};

}  // namespace jfa::emulator
