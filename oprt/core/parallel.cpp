#include "oprt/core/parallel.h"

#include <algorithm>

#ifdef OPRT_STD_THREADS
#include <cstdlib>
#include <thread>
#include <vector>
#else
#include <omp.h>
#endif

namespace oprt {

#ifdef OPRT_STD_THREADS

// For ThreadSanitizer, which does not understand libgomp's barriers: threads made and joined at every call.
int parallel_threads() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  return std::max(1, wanted ? std::atoi(wanted) : static_cast<int>(std::thread::hardware_concurrency()));
}

OneThread::OneThread(bool) : before_(0) {}
OneThread::~OneThread() = default;

#else

int parallel_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

OneThread::OneThread(bool wanted) : before_(wanted ? omp_get_max_threads() : 0) {
  if (before_) omp_set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_) omp_set_num_threads(before_);
}

#endif

namespace detail {

void parallel_for(int64_t count, int64_t grain, void (*call)(void*, int64_t, int64_t), void* body) {
  const int threads = static_cast<int>(std::min<int64_t>(parallel_threads(), count / grain));
  if (threads <= 1) return call(body, 0, count);
  const int64_t unit = std::min(grain, kParallelUnit), units = (count + unit - 1) / unit;
  const auto piece = [=](int64_t t) {
    const int64_t begin = units * t / threads * unit, end = std::min(count, units * (t + 1) / threads * unit);
    if (begin < end) call(body, begin, end);
  };
#ifdef OPRT_STD_THREADS
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(piece, t);
  piece(0);
  for (std::thread& other : others) other.join();
#else
#pragma omp parallel num_threads(threads)
  {
    // A team may be smaller than asked for; every piece is done all the same.
    for (int t = omp_get_thread_num(); t < threads; t += omp_get_num_threads()) piece(t);
  }
#endif
}

}  // namespace detail
}  // namespace oprt
