// Which gelu: the two differ by up to 4.73e-4, at |x| = 2.7, so there is no default.
#ifndef OPRT_API_GELU_H
#define OPRT_API_GELU_H

#include "oprt/api/export.h"

OPRT_EXTERN_C_BEGIN

typedef enum OPRT_ENUM_BASE {
  OPRT_GELU_ERF = 0,  // x/2 erfc(-x / sqrt(2)), the definition
  OPRT_GELU_TANH = 1  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the approximation
} oprt_gelu_t;

OPRT_EXTERN_C_END

#endif
