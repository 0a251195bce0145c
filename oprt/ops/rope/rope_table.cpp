// The tables of rope: float64 angles, rounded to f32 once.
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "oprt/core/parallel.h"
#include "oprt/core/status.h"
#include "oprt/core/text.h"
#include "oprt/ops/rope/rope.h"

namespace oprt {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr int64_t kGrain = 1024;        // elements a thread takes at least: some 40 us
constexpr int64_t kMostScaling = 4096;  // bytes; a struct_size beyond is a mistake, not a newer version

Status check_above_zero(const char* argument, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return invalid("rope_table", argument, "a finite number above 0", text(value));
}

// Bytes of the struct that a kind needs.
int64_t needed(int64_t kind) {
  switch (kind) {
    case OPRT_ROPE_SCALING_LINEAR: return offsetof(oprt_rope_scaling_t, low_freq_factor);
    case OPRT_ROPE_SCALING_LLAMA3: return sizeof(oprt_rope_scaling_t);
    default: return offsetof(oprt_rope_scaling_t, factor);
  }
}

Status check_size(const oprt_rope_scaling_t& given, int64_t least) {
  const int64_t size = static_cast<int64_t>(given.struct_size);
  if (size >= least && size <= kMostScaling) return {};
  return invalid("rope_table", "scaling",
                 "struct_size in bytes, " + text(int64_t{sizeof(oprt_rope_scaling_t)}) + " in this version",
                 text(size));
}

// The scaling as this build knows it, checked.
Status read_scaling(const oprt_rope_scaling_t* given, oprt_rope_scaling_t* known) {
  *known = {};
  if (!given) return {};
  OPRT_TRY(check_size(*given, needed(OPRT_ROPE_SCALING_NONE)));
  if (given->kind < OPRT_ROPE_SCALING_NONE || given->kind > OPRT_ROPE_SCALING_LLAMA3)
    return invalid("rope_table", "kind", "none, linear or llama3, 0 to 2", text(int64_t{given->kind}));
  OPRT_TRY(check_size(*given, needed(given->kind)));
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(*known); i < given->struct_size; ++i)
    if (bytes[i] != 0)
      return fail(OPRT_ERR_NOT_SUPPORTED, "rope_table", "scaling",
                  "zero in every byte past the " + text(int64_t{sizeof(*known)}) + " that this version knows",
                  "something at byte " + text(static_cast<int64_t>(i)));
  std::memcpy(known, given, needed(given->kind));
  if (known->kind == OPRT_ROPE_SCALING_NONE) return {};
  OPRT_TRY(check_above_zero("factor", known->factor));
  if (known->kind == OPRT_ROPE_SCALING_LINEAR) return {};
  OPRT_TRY(check_above_zero("low_freq_factor", known->low_freq_factor));
  OPRT_TRY(check_above_zero("high_freq_factor", known->high_freq_factor));
  if (known->high_freq_factor <= known->low_freq_factor)
    return invalid("rope_table", "high_freq_factor", "more than low_freq_factor, " + text(known->low_freq_factor),
                   text(known->high_freq_factor));
  if (known->original_max_position <= 0)
    return invalid("rope_table", "original_max_position", "1 or more", text(known->original_max_position));
  return {};
}

Status check_table(const float* cos, const float* sin, int64_t max_position, int64_t rotary_dim, double theta) {
  if (max_position < 0) return invalid("rope_table", "max_position", "0 or more", text(max_position));
  if (rotary_dim < 0 || rotary_dim % 2 != 0)
    return invalid("rope_table", "rotary_dim", "an even number, 0 or more", text(rotary_dim));
  int64_t bytes;
  if (__builtin_mul_overflow(max_position, rotary_dim / 2 * int64_t{sizeof(float)}, &bytes))
    return invalid("rope_table", "max_position", "a table of fewer than 2^63 bytes",
                   text(max_position) + " rows of " + text(rotary_dim / 2));
  OPRT_TRY(check_above_zero("theta", theta));
  if (bytes > 0 && !cos) return invalid("rope_table", "cos", text(bytes) + " bytes to write to", "a null pointer");
  if (bytes > 0 && !sin) return invalid("rope_table", "sin", text(bytes) + " bytes to write to", "a null pointer");
  return {};
}

// llama3 leaves wavelengths that fit the original context high_freq_factor times as they are, stretches by `factor`
// those that fit it less than low_freq_factor times, and goes from one to the other linearly in the number of times.
double scaled(double frequency, const oprt_rope_scaling_t& scaling) {
  if (scaling.kind == OPRT_ROPE_SCALING_NONE) return frequency;
  if (scaling.kind == OPRT_ROPE_SCALING_LINEAR) return frequency / scaling.factor;
  const double fits = static_cast<double>(scaling.original_max_position) * frequency / kTwoPi;
  if (fits > scaling.high_freq_factor) return frequency;
  if (fits < scaling.low_freq_factor) return frequency / scaling.factor;
  const double kept = (fits - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

}  // namespace
}  // namespace oprt

using namespace oprt;

oprt_status_t oprt_rope_table(float* cos, float* sin, int64_t max_position, int64_t rotary_dim, double theta,
                              const oprt_rope_scaling_t* scaling) {
  return guarded("rope_table", [&]() -> Status {
    OPRT_TRY(check_table(cos, sin, max_position, rotary_dim, theta));
    oprt_rope_scaling_t known;
    OPRT_TRY(read_scaling(scaling, &known));
    const int64_t pairs = rotary_dim / 2;
    std::vector<double> frequencies(pairs);
    for (int64_t i = 0; i < pairs; ++i) frequencies[i] = scaled(std::pow(theta, -2.0 * i / rotary_dim), known);
    parallel_for(max_position * pairs, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const double angle = static_cast<double>(at / pairs) * frequencies[at % pairs];
        cos[at] = static_cast<float>(std::cos(angle));
        sin[at] = static_cast<float>(std::sin(angle));
      }
    });
    return {};
  });
}
