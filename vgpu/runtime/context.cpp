#include "runtime/context.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/host_fault.h"
#include "runtime/status.h"

namespace vgpu {
namespace {

// True where the variable is not set, or is a number that fits.
template <class T>
bool number(const char* name, T& value, std::string& error) {
  const char* text = std::getenv(name);
  if (!text || !*text) return true;
  const std::string_view view = text;
  const auto [end, code] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (code == std::errc{} && end == view.data() + view.size()) return true;
  error = std::string(name) + " is '" + text + "', which is no number";
  return false;
}

bool read_checks(std::string_view list, SessionOptions& options, std::string& error) {
  options.memory = options.race = options.init = options.sync = options.perf = false;
  while (!list.empty()) {
    const auto word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    const bool all = word == "all";
    if (!(all || word == "none" || word == "memory" || word == "race" || word == "init" || word == "sync" ||
          word == "perf")) {
      error = "there is no check '" + std::string(word) + "'; there are all, memory, race, init, sync, perf and none";
      return false;
    }
    options.memory |= all || word == "memory";
    options.race |= all || word == "race";
    options.init |= all || word == "init";
    options.sync |= all || word == "sync";
    options.perf |= all || word == "perf";
  }
  return true;
}

Configuration configuration_or_default() {
  Configuration configuration;
  std::string error;
  if (read_configuration(configuration, error)) return configuration;
  std::fprintf(stderr, "vgpu: %s; taking the defaults\n", error.c_str());
  return {};
}

Context* the_context = nullptr;  // for the destructor below, which must not make one

__attribute__((destructor)) void at_exit() {
  if (the_context) the_context->session.finish();
}

}  // namespace

bool read_configuration(Configuration& result, std::string& error) {
  if (!number("VGPU_SEED", result.seed, error) || !number("VGPU_SM", result.sm, error) ||
      !number("VGPU_MEMORY", result.memory, error) || !number("VGPU_BUDGET", result.budget, error) ||
      !number("VGPU_DEVICES", result.devices, error)) {
    return false;
  }
  if (result.devices < 1 || result.devices > kMostDevices) {
    error = "VGPU_DEVICES is " + std::to_string(result.devices) + "; there can be 1 to " + std::to_string(kMostDevices);
    return false;
  }
  if (result.sm != 80 && result.sm != 90) {
    error = "VGPU_SM is " + std::to_string(result.sm) + "; the virtual GPU can be 80 or 90";
    return false;
  }
  if (const char* checks = std::getenv("VGPU_CHECK"); checks && !read_checks(checks, result.session, error))
    return false;
  if (const char* text = std::getenv("VGPU_REPORT"); text && *text) {
    const std::string_view format = text;
    if (format == "text") {
      result.session.format = SessionOptions::Format::text;
    } else if (format == "json") {
      result.session.format = SessionOptions::Format::json;
    } else if (format == "html") {
      result.session.format = SessionOptions::Format::html;
    } else {
      error = "VGPU_REPORT is '" + std::string(format) + "'; there are text, json and html";
      return false;
    }
  }
  if (const char* file = std::getenv("VGPU_REPORT_FILE")) result.session.file = file;
  return true;
}

ThreadState& this_thread() {
  // Never destroyed: programs call us from their static destructors.
  thread_local ThreadState* state = new ThreadState;
  return *state;
}

std::recursive_mutex& runtime_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

bool is_device(int device) { return device >= 0 && device < Context::get().configuration.devices; }

int current_device() {
  const int chosen = this_thread().device;
  if (chosen >= 0) return chosen;
  const auto& valid = Context::get().valid_devices;
  return valid.empty() ? 0 : valid[0];
}

Context::Context(Configuration c)
    : configuration(std::move(c)),
      memory(configuration.memory, configuration.devices),
      session(configuration.session, memory) {
  for (int d = 0; d < configuration.devices; ++d) devices.push_back({.reach = 1u << d});
  limits.sm = configuration.sm;
  if (limits.sm == 80) {  // an A100's
    limits.multiprocessors = 108;
    limits.shared_per_block_optin = 163 * 1024;
    limits.shared_per_multiprocessor = 164 * 1024;
    limits.cluster_blocks = limits.cluster_blocks_nonportable = 1;
  }
  note("used\n");
  watch_host_faults(memory);
}

Context& Context::get() {
  static Context* context = the_context = new Context(configuration_or_default());
  return *context;
}

void Context::say(const std::string& sentence) { std::fprintf(stderr, "vgpu: %s\n", sentence.c_str()); }

void Context::found(const char* code, std::string what, std::string reason, std::string hint, std::string object) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.what = std::move(what);
  diagnostic.reason = std::move(reason);
  diagnostic.hint = std::move(hint);
  diagnostic.object = std::move(object);
  session.found(std::move(diagnostic), this_thread().site);
  look_for_errors();
}

void Context::look_for_errors() {
  if (errors_noted_ || !session.has_errors()) return;
  errors_noted_ = true;
  note("errors\n");
}

}  // namespace vgpu
