// OPRT_API marks what liboprt exports; everything else in it is hidden.
#ifndef OPRT_API_EXPORT_H
#define OPRT_API_EXPORT_H

#if defined(__GNUC__)
#define OPRT_API __attribute__((visibility("default")))
#else
#define OPRT_API
#endif

#ifdef __cplusplus
#define OPRT_EXTERN_C_BEGIN extern "C" {
#define OPRT_EXTERN_C_END }
#else
#define OPRT_EXTERN_C_BEGIN
#define OPRT_EXTERN_C_END
#endif

#endif
