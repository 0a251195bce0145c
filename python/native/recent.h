// The descriptors of recent calls. Making one is half of what a small call costs, and on tensors of a layout that was
// seen create would find nothing new: what depends on the pointers (alignment, overlap) execute looks at itself.
#pragma once

#include <memory>

#include "operator.h"

namespace oprt::python {

// The descriptor for a call, made where none is kept for its operator, backend, layouts, devices and scalars. One that
// another call pushes out lives on with its holders. Needs the GIL.
std::shared_ptr<const Descriptor> recent_descriptor(const OperatorInfo& op, const Arguments& arguments);

}  // namespace oprt::python
