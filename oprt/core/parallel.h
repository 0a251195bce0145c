// The one way to use threads on the CPU.
#pragma once

#include <cstdint>
#include <type_traits>

namespace oprt {

// Pieces begin at multiples of so many of what is counted (of `grain`, where that is less): elements of a piece share
// no cache line with the next one's.
constexpr int64_t kParallelUnit = 64;

// Calls body(begin, end) on pieces that cover [0, count), as even as they can be and of about `grain` at least, on up
// to OMP_NUM_THREADS threads. One piece, on the calling thread, where count < 2 grain: barriers spin, so small work
// stays serial. Pieces depend on the number of threads; results must not (numerics: an element's bits never depend on
// it). body must not throw.
template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body);

namespace detail {
void parallel_for(int64_t count, int64_t grain, void (*call)(void*, int64_t, int64_t), void* body);
}

template <class Body>
void parallel_for(int64_t count, int64_t grain, Body&& body) {
  if (count / 2 < grain) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  using Function = std::remove_reference_t<Body>;
  detail::parallel_for(
      count, grain, [](void* f, int64_t begin, int64_t end) { (*static_cast<Function*>(f))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Threads that parallel_for would use at most, for workspace sizes. At least 1.
int parallel_threads();

// While it lives, what the calling thread starts stays on it, parallel regions of an OpenMP library included.
class OneThread {
 public:
  explicit OneThread(bool wanted);
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  int before_;  // threads to return to; 0 where nothing was changed
};

}  // namespace oprt
