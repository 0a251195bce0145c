// How the C headers declare. OPRT_API marks what liboprt exports; everything else in it is hidden.
#ifndef OPRT_API_EXPORT_H
#define OPRT_API_EXPORT_H

#if defined(__GNUC__)
#define OPRT_API __attribute__((visibility("default")))
#else
#define OPRT_API
#endif

// An enum argument may hold any int, and one outside the enum is answered with a status. In C that is so; in C++ only
// where the enum is based on int.
#ifdef __cplusplus
#define OPRT_EXTERN_C_BEGIN extern "C" {
#define OPRT_EXTERN_C_END }
#define OPRT_ENUM_BASE : int
#else
#define OPRT_EXTERN_C_BEGIN
#define OPRT_EXTERN_C_END
#define OPRT_ENUM_BASE
#endif

#endif
