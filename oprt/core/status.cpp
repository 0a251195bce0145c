#include "oprt/core/status.h"

#include <exception>
#include <new>

#include "oprt/api/version.h"

namespace oprt {
namespace {

// A fixed buffer, so that a message can be written when memory has run out.
thread_local char message[1024] = "";

Status write(oprt_status_t code, std::initializer_list<const char*> parts) noexcept {
  char* to = message;
  char* const end = message + sizeof(message) - 1;
  for (const char* part : parts)
    while (*part && to < end) *to++ = *part++;
  *to = '\0';
  return Status(code);
}

}  // namespace

Status fail(oprt_status_t code, const char* op, const char* argument, const std::string& expected,
            const std::string& got) {
  return write(code, {op, ": ", argument, ": expected ", expected.c_str(), ", got ", got.c_str()});
}

Status fail(oprt_status_t code, const char* what, const std::string& sentence) {
  return write(code, {what, ": ", sentence.c_str()});
}

Status from_current_exception(const char* what) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return write(OPRT_ERR_OUT_OF_MEMORY, {what, ": host memory ran out"});
  } catch (const std::exception& error) {
    return write(OPRT_ERR_RUNTIME, {what, ": ", error.what()});
  } catch (...) {
    return write(OPRT_ERR_RUNTIME, {what, ": unknown exception"});
  }
}

}  // namespace oprt

extern "C" {

const char* oprt_last_error_message(void) { return oprt::message; }

const char* oprt_status_string(oprt_status_t status) {
  switch (status) {
    case OPRT_SUCCESS: return "success";
    case OPRT_ERR_INVALID_ARG: return "invalid argument";
    case OPRT_ERR_UNSUPPORTED_DTYPE: return "unsupported dtype";
    case OPRT_ERR_RUNTIME: return "runtime error";
    case OPRT_ERR_INSUFFICIENT_WORKSPACE: return "insufficient workspace";
    case OPRT_ERR_NOT_SUPPORTED: return "not supported";
    case OPRT_ERR_OUT_OF_MEMORY: return "out of memory";
  }
  return "unknown status";
}

int oprt_abi_version(void) { return OPRT_ABI_VERSION; }

#define OPRT_TEXT_(x) #x
#define OPRT_TEXT(x) OPRT_TEXT_(x)
const char* oprt_version_string(void) {
  return OPRT_TEXT(OPRT_VERSION_MAJOR) "." OPRT_TEXT(OPRT_VERSION_MINOR) "." OPRT_TEXT(OPRT_VERSION_PATCH);
}

}  // extern "C"
