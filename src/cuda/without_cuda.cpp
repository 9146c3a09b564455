// What the tool and the tests ask of a GPU, in a build for machines that have none.
#include "cuda/card.hpp"
#include "cuda/cuda_engine.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/random_fill.hpp"
#include "jfa/error.hpp"

namespace jfa::cuda {
namespace {

[[noreturn]] void unavailable() {
  throw Error(ErrorCode::kUnavailable, "device cuda is not built into this program");
}

}  // namespace

std::vector<Card> all_cards() { return {}; }
std::string driver_version() { return ""; }
std::vector<ForwardTraits> forward_traits() { return {}; }
std::vector<KernelTraits> backward_traits() { return {}; }

void DeviceMemory::Free::operator()(std::byte*) const noexcept {}
DeviceMemory::DeviceMemory(std::size_t) { unavailable(); }
void DeviceMemory::upload(const void*, std::size_t, std::size_t) const { unavailable(); }
void DeviceMemory::download(void*, std::size_t, std::size_t) const { unavailable(); }
void DeviceMemory::fill(unsigned char) const { unavailable(); }
void download_rows(void*, const void*, std::size_t, std::size_t, std::size_t) { unavailable(); }
Stream::Stream() { unavailable(); }
void Stream::Destroy::operator()(void*) const noexcept {}
struct Marks::Events {};
Marks::Marks() = default;
Marks::~Marks() = default;
void Marks::mark() { unavailable(); }
std::vector<double> Marks::between() const { unavailable(); }
void wait() { unavailable(); }
void fill_normal(void*, DType, std::int64_t, std::uint64_t) { unavailable(); }

}  // namespace jfa::cuda
