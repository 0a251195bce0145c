// Scratch memory of one call or one prepared operator.
#pragma once

#include <cstddef>
#include <new>

namespace oprt::python {

class Workspace {
 public:
  explicit Workspace(size_t size) : size_(size) {
    if (size) data_ = ::operator new(size, kAlignment);
  }
  ~Workspace() {
    if (data_) ::operator delete(data_, kAlignment);
  }
  Workspace(const Workspace&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  size_t size_;
  void* data_ = nullptr;
};

}  // namespace oprt::python
