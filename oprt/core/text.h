// How values read in messages.
#pragma once

#include <charconv>
#include <cstdio>
#include <string>
#include <type_traits>

#include "oprt/api/dtype.h"

namespace oprt {

inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(oprt_dtype_t dtype) { return oprt_dtype_string(dtype); }

// The fewest digits that tell the number from its neighbours: "7", "0.1", "1e-09", "nan".
template <class T>
std::enable_if_t<std::is_floating_point_v<T>, std::string> text(T value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

// "[2, 3]"; "[]" for rank 0.
inline std::string text(const int64_t* values, int count) {
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

inline std::string address(const void* pointer) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%p", pointer);
  return buffer;
}

}  // namespace oprt
