// Everything of oprt in C: oprt/api/ and one header per operator.
#ifndef OPRT_OPRT_H
#define OPRT_OPRT_H

#include "oprt/api/backend.h"
#include "oprt/api/descriptor.h"
#include "oprt/api/device.h"
#include "oprt/api/dtype.h"
#include "oprt/api/gelu.h"
#include "oprt/api/memory.h"
#include "oprt/api/status.h"
#include "oprt/api/tensor_view.h"
#include "oprt/api/version.h"
#include "oprt/ops.h"  // generated: one include per folder of oprt/ops/

#endif
