// For tests that run on every instruction set that the kernels were compiled for and this machine has.
#pragma once

#include <hwy/highway.h>

namespace oprt {

// Calls body(name) with each of them in turn chosen for every kernel of the process; the best one is chosen afterwards.
template <class Body>
void for_each_cpu_target(Body&& body) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    body(hwy::TargetName(target));
  }
  choose(0);
}

}  // namespace oprt
