// Device memory and times for those that own tensors: the tool and the tests. The engine allocates
// nothing and waits for nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace jfa::cuda {

/// Memory of the current device, freed at the end of its scope. Throws Error (kOutOfMemory, or
/// kInternal with what CUDA says). Copies wait for all that was enqueued before.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes);

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

  void upload(const void* from) const { upload(from, 0, bytes_); }
  void upload(const void* from, std::size_t offset, std::size_t bytes) const;
  void download(void* to) const { download(to, 0, bytes_); }
  void download(void* to, std::size_t offset, std::size_t bytes) const;
  void fill(unsigned char value) const;

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

/// Copies `rows` rows of `row_bytes` bytes, which lie `stride_bytes` apart on the device, together
/// into host memory. Waits for all that was enqueued before.
void download_rows(void* to, const void* from, std::size_t row_bytes, std::size_t stride_bytes,
                   std::size_t rows);

/// A stream of the current device that does not wait for the default one, as cudaStream_t.
class Stream {
 public:
  Stream();

  void* get() const noexcept { return stream_.get(); }

 private:
  struct Destroy {
    void operator()(void* stream) const noexcept;
  };
  std::unique_ptr<void, Destroy> stream_;
};

/// Points in the work of the default stream.
class Marks {
 public:
  Marks();
  ~Marks();
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  /// Behind all that was enqueued so far.
  void mark();

  /// Milliseconds from each mark to the next. Waits for the last.
  std::vector<double> between() const;

 private:
  struct Events;
  std::unique_ptr<Events> events_;
};

/// Waits for all that the current device was given; throws Error (kInternal) where that failed.
void wait();

}  // namespace jfa::cuda
