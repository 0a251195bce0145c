// rope: rotary position embedding. Each pair of a head turns by an angle of its position.
//
//   (out[j0], out[j1]) = (in[j0] cos - in[j1] sin, in[j1] cos + in[j0] sin)      cos, sin at [position, i]
//   pair i in [0, R/2) is      interleaved: j0 = 2i, j1 = 2i + 1      half: j0 = i, j1 = i + R/2
//   out[j] = in[j]                                                                j in [R, head_dim)
//
// Shapes:  in and out are [tokens, heads, head_dim] or [batch, tokens, heads, head_dim]. positions is [tokens], or
//          [batch, tokens] where in has a batch. cos and sin are [max_position, R/2] with R <= head_dim: R is the
//          rotary dimension, less than head_dim where only the first part of a head turns. Any strides (out: no two
//          indices at one address): q and k that are heads of one fused projection are one view and one call.
// Alias:   out may be exactly in; any other overlap is refused.
// Empty:   nothing is launched, success; null data is legal. R = 0 copies.
// Positions: from 0 to max_position - 1. CPU: with a bad one nothing is written, INVALID_ARG names the first. GPU: that
//          token's heads become NaN, the others are right.
// Dtypes:  in and out f32, f16 or bf16, the same; cos and sin f32; positions i32 or i64. Computed in f32, rounded once.
// Errors:  INVALID_ARG (null view, rank, shape, overlap, mode, a bad position), UNSUPPORTED_DTYPE.
// Source:  Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.
#ifndef OPRT_OPS_ROPE_ROPE_H
#define OPRT_OPS_ROPE_ROPE_H

#include "oprt/api/descriptor.h"

OPRT_EXTERN_C_BEGIN

// How a head is read as pairs. There is no default: a model trained with one gives nonsense with the other.
typedef enum OPRT_ENUM_BASE {
  OPRT_ROPE_INTERLEAVED = 0,  // neighbours: GPT-J, the original
  OPRT_ROPE_HALF = 1          // halves: GPT-NeoX, LLaMA in most checkpoints
} oprt_rope_t;

OPRT_API oprt_status_t oprt_create_rope_descriptor(oprt_operator_descriptor_t *desc, const oprt_tensor_view_t *out,
                                                   const oprt_tensor_view_t *in, const oprt_tensor_view_t *cos,
                                                   const oprt_tensor_view_t *sin, const oprt_tensor_view_t *positions,
                                                   oprt_rope_t mode);
OPRT_API oprt_status_t oprt_get_rope_workspace_size(oprt_operator_descriptor_t desc, size_t *size);
OPRT_API oprt_status_t oprt_execute_rope(oprt_operator_descriptor_t desc, void *workspace, size_t workspace_size,
                                         void *out, const void *in, const void *cos, const void *sin,
                                         const void *positions, oprt_stream_t stream);
OPRT_API oprt_status_t oprt_destroy_rope_descriptor(oprt_operator_descriptor_t desc);

typedef enum OPRT_ENUM_BASE {
  OPRT_ROPE_SCALING_NONE = 0,
  OPRT_ROPE_SCALING_LINEAR = 1,  // every frequency divided by factor
  OPRT_ROPE_SCALING_LLAMA3 = 2   // only the slow ones, with a ramp between: see rope_table.cpp
} oprt_rope_scaling_kind_t;

// Set struct_size to sizeof(oprt_rope_scaling_t). A smaller struct, from an older header, is taken where it holds what
// its kind needs; so is a larger one whose unknown bytes are all zero.
typedef struct {
  size_t struct_size;             // bytes of the struct as the caller knows it
  int32_t kind;                   // an oprt_rope_scaling_kind_t
  double factor;                  // linear, llama3: above 0
  double low_freq_factor;         // llama3: wavelengths above original_max_position / this are scaled whole
  double high_freq_factor;        // llama3: those below original_max_position / this are not; above low_freq_factor
  int64_t original_max_position;  // llama3: the length that the model was trained on, in tokens
} oprt_rope_scaling_t;

// Fills tables for rope in host memory, row by row: cos and sin are [max_position, rotary_dim / 2], contiguous, owned
// by the caller.
//
//   cos[p, i] = cos(p f_i), sin[p, i] = sin(p f_i)        f_i = theta^(-2i / rotary_dim), then scaled
//
// Angles, cos and sin are float64, rounded to f32 at the end: f32 angles lose 1e-3 rad at position 10^5. scaling may be
// null: none. Typical theta: 10000, 500000.
// Errors:  INVALID_ARG (null table that is not empty, negative or odd length, theta or a factor that is not finite and
//          above 0, an unknown kind), NOT_SUPPORTED (a scaling struct with fields this build does not know).
OPRT_API oprt_status_t oprt_rope_table(float *cos, float *sin, int64_t max_position, int64_t rotary_dim, double theta,
                                       const oprt_rope_scaling_t *scaling);

OPRT_EXTERN_C_END

#endif
