// What ended a launch, as a diagnostic.
#pragma once

#include "check/findings.h"

namespace vgpu {

Diagnostic explain(const Fault& fault, const Launch& launch, const Findings& findings);

}  // namespace vgpu
