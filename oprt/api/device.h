#ifndef OPRT_API_DEVICE_H
#define OPRT_API_DEVICE_H
#include "oprt/api/backend.h"
#endif
