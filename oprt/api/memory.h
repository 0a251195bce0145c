#ifndef OPRT_API_MEMORY_H
#define OPRT_API_MEMORY_H
#include "oprt/api/device.h"
#endif
