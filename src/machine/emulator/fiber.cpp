#include "machine/emulator/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define JFA_EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JFA_EMULATOR_ASAN 1
#endif
#endif
#ifdef JFA_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace jfa::emulator {
namespace {

using boost::context::detail::transfer_t;

// Kernels keep their fragments on the stack: a few KiB optimized, far more in a debug build with
// redzones.
#ifdef JFA_EMULATOR_ASAN
constexpr std::size_t kStackBytes = std::size_t{512} * 1024;
#else
constexpr std::size_t kStackBytes = std::size_t{128} * 1024;
#endif

void announce_leave([[maybe_unused]] void** fake_stack, [[maybe_unused]] const Stack& to) {
#ifdef JFA_EMULATOR_ASAN
  __sanitizer_start_switch_fiber(fake_stack, to.bottom, to.bytes);
#endif
}

void announce_arrival([[maybe_unused]] void* fake_stack, [[maybe_unused]] Stack& from) {
#ifdef JFA_EMULATOR_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &bottom, &bytes);
  from = {const_cast<void*>(bottom), bytes};
#endif
}

}  // namespace

StackPool& StackPool::of_this_thread() {
  thread_local StackPool pool;
  return pool;
}

Stack StackPool::take() {
  if (!free_.empty()) {
    const Stack stack = free_.back();
    free_.pop_back();
#ifdef JFA_EMULATOR_ASAN
    __asan_unpoison_memory_region(stack.bottom, stack.bytes);
#endif
    return stack;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(memory, page, PROT_NONE) != 0) throw std::bad_alloc();
  const Stack stack{static_cast<std::byte*>(memory) + page, kStackBytes};
  all_.push_back(stack);
  return stack;
}

StackPool::~StackPool() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const auto& stack : all_) {
    munmap(static_cast<std::byte*>(stack.bottom) - page, stack.bytes + page);
  }
}

void Context::start(Stack stack, void (*entry)(void*), void* argument) {
  stack_ = stack;
  entry_ = entry;
  argument_ = argument;
  state_ = boost::context::detail::make_fcontext(
      static_cast<std::byte*>(stack.bottom) + stack.bytes, stack.bytes, &Context::begin);
}

// The one word that a switch carries: who leaves, and who arrives.
struct Handover {
  Context* from;
  Context* to;
};

void Context::arrived(transfer_t transfer, Context* self) {
  Context* from = static_cast<Handover*>(transfer.data)->from;
  from->state_ = transfer.fctx;
  announce_arrival(self->fake_stack_, from->stack_);
}

void Context::begin(transfer_t transfer) {
  Context* self = static_cast<Handover*>(transfer.data)->to;
  self->fake_stack_ = nullptr;
  arrived(transfer, self);
  self->entry_(self->argument_);
  std::abort();
}

void Context::switch_to(Context& from, Context& to) {
  Handover handover{&from, &to};
  announce_leave(&from.fake_stack_, to.stack_);
  const transfer_t back = boost::context::detail::jump_fcontext(to.state_, &handover);
  arrived(back, &from);
}

void Context::finish(Context& from, Context& to) {
  Handover handover{&from, &to};
  announce_leave(nullptr, to.stack_);
  boost::context::detail::jump_fcontext(to.state_, &handover);
  std::abort();
}

}  // namespace jfa::emulator
