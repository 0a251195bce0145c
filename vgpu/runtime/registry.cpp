#include "runtime/registry.h"

#include <cstdio>
#include <cstring>

#include "runtime/context.h"
#include "runtime/fatbin.h"
#include "runtime/status.h"

namespace vgpu {
namespace {

constexpr int kNewestPtx = 90;  // .version 9.0, which nvcc 13.0 writes

struct Wrapper {  // what __cudaRegisterFatBinary gets; in .nvFatBinSegment
  uint32_t magic, version;
  const void* data;
  const void* const* parts;  // of a version 2 wrapper, which -rdc makes: what was linked, up to a null
};
constexpr uint32_t kWrapperMagic = 0x466243B1, kLinked = 2;

void* const* handle_of(Image& image) { return reinterpret_cast<void* const*>(&image); }
Image& image_of(void** handle) { return *reinterpret_cast<Image*>(handle); }

}  // namespace

// --- images ------------------------------------------------------------------------------------------------

Error Image::fail(Error code, const std::string& sentence) {
  Context::get().say("a kernel cannot be loaded: " + sentence);
  return code;
}

Error Image::choose_text(std::string& text, std::string& error) const {
  FatBinary all;
  Error code = Error::InvalidKernelImage;
  int with_ptx = 0;
  for (const Part& part : parts_) {
    FatBinary binary;
    const auto bytes =
        part.bytes ? std::span(static_cast<const std::byte*>(part.data), part.bytes) : readable_from(part.data);
    if (!read_image(bytes, binary, error)) return Error::InvalidKernelImage;
    if (const Ptx* ptx = choose(binary, Context::get().limits.sm, code, error)) {
      text = ptx->text;
      ++with_ptx;
    }
    all.ptx.insert(all.ptx.end(), binary.ptx.begin(), binary.ptx.end());
    all.machine_code.insert(all.machine_code.end(), binary.machine_code.begin(), binary.machine_code.end());
  }
  if (with_ptx == 1) return Error::Success;
  if (with_ptx == 0) {
    choose(all, Context::get().limits.sm, code, error);  // the sentence about them all
    return code;
  }
  error = "the program was built with -rdc (relocatable device code) from " + std::to_string(with_ptx) +
          " files, which the virtual GPU does not link; build without -rdc, or from one file";
  return Error::NotSupported;
}

Error Image::parse() {
  if (!sentence_.empty()) return fail(Error::InvalidKernelImage, sentence_);
  std::string text, error;
  if (const Error code = choose_text(text, error); code != Error::Success) return fail(code, error);
  // First: newer text may be of another grammar.
  int major = 0, minor = 0;
  const size_t at = text.find(".version");
  if (at != text.npos && std::sscanf(text.c_str() + at, ".version %4d.%4d", &major, &minor) == 2 &&
      major * 10 + minor > kNewestPtx) {
    return fail(Error::UnsupportedPtxVersion, "its PTX is version " + std::to_string(major) + "." +
                                                  std::to_string(minor) +
                                                  "; the virtual GPU knows versions up to 9.0 (nvcc 13.0)");
  }
  module_ = ptx::parse(text, error);
  return module_ ? Error::Success : fail(Error::InvalidPtx, error);
}

Error Image::load(int device) {
  if (!tried_) {
    tried_ = true;
    code_ = parse();
  }
  if (code_ != Error::Success) return code_;
  Loaded& here = loaded_[size_t(device)];
  if (here.tried) return here.code;
  here.tried = true;
  const Program* sibling = nullptr;
  for (const Loaded& other : loaded_) sibling = sibling ? sibling : other.program.get();
  auto& context = Context::get();
  std::string error;
  here.program = Program::load(module_, context.memory, error, context.owner(device), sibling);
  return here.code = here.program ? Error::Success : fail(Error::InvalidPtx, error);
}

Error Function::load(int device) {
  OnDevice& here = on(device);
  if (here.tried) return here.code;
  if (here.code = image.load(device); here.code != Error::Success) return here.code;
  here.tried = true;
  here.kernel = image.program(device).kernel(name);
  source = image.module().find(name);
  std::string error;
  if (!here.kernel || !source) return here.code = Error::InvalidDeviceFunction;
  if (!image.program(device).prepare(*here.kernel, error)) {
    Context::get().say("a kernel cannot be loaded: " + error);
    return here.code = Error::InvalidPtx;
  }
  info = vgpu::info(*here.kernel);
  const uint32_t most = Context::get().limits.shared_per_block;
  if (info.static_shared > most) {
    Context::get().say("a kernel cannot be loaded: " + name + ": its shared variables take " +
                       std::to_string(info.static_shared) + " bytes, and what is declared with a size may take " +
                       std::to_string(most) + "; more is for `extern __shared__`");
    return here.code = Error::InvalidPtx;
  }
  here.max_dynamic_shared = int(Context::get().limits.shared_per_block) - int(info.static_shared);
  if (source->cluster[0])
    here.cluster = {uint32_t(source->cluster[0]), uint32_t(source->cluster[1]), uint32_t(source->cluster[2])};
  return Error::Success;
}

// --- the registry ------------------------------------------------------------------------------------------

Image& Registry::add_image(std::vector<Part> parts, std::string error) {
  return *images_.emplace_back(std::make_unique<Image>(std::move(parts), std::move(error)));
}

Function* Registry::function(Image& image, std::string_view name) {
  auto& slot = functions_[{&image, std::string(name)}];
  if (!slot) {
    slot = std::make_unique<Function>(image, std::string(name));
    functions_by_key_[slot.get()] = slot.get();
  }
  return slot.get();
}

std::vector<std::string> Registry::names(const Image& image) const {
  std::vector<std::string> names;
  const auto first = functions_.lower_bound(std::pair(&image, std::string()));
  for (auto i = first; i != functions_.end() && i->first.first == &image; ++i) names.push_back(i->first.second);
  return names;
}

void Registry::add_function(Image& image, const void* host, const char* name) {
  functions_by_key_[host] = function(image, name);
}

Function* Registry::function(const void* key) const {
  const auto found = functions_by_key_.find(key);
  return found == functions_by_key_.end() ? nullptr : found->second;
}

void Registry::add_symbol(const void* host, Symbol symbol) {
  symbols_[host] = std::make_unique<Symbol>(std::move(symbol));
}

const Symbol* Registry::symbol(const void* host) const {
  const auto found = symbols_.find(host);
  return found == symbols_.end() ? nullptr : found->second.get();
}

Error Registry::place_managed(const Image& image) {
  for (const auto& [host, symbol] : symbols_) {
    if (&symbol->image != &image || !symbol->managed) continue;
    const Allocation* allocation = nullptr;
    if (const Error error = address_of(*symbol, allocation); error != Error::Success) return error;
    *symbol->managed = reinterpret_cast<void*>(allocation->address);
  }
  return Error::Success;
}

Registry& registry() {
  static Registry* registry = new Registry;  // like the context, never destroyed
  return *registry;
}

Error address_of(const Symbol& symbol, const Allocation*& result) {
  const int device = current_device();
  if (const Error error = symbol.image.load(device); error != Error::Success) return error;
  result = symbol.image.program(device).variable(symbol.name);
  return result ? Error::Success : Error::InvalidSymbol;
}

// --- what the code that nvcc generates calls before main ---------------------------------------------------

#define VGPU_HIDDEN_API(type, name, ...) extern "C" __attribute__((visibility("default"))) type name(__VA_ARGS__)

VGPU_HIDDEN_API(void**, __cudaRegisterFatBinary, void* wrapper_address) {
  Wrapper wrapper{};
  if (wrapper_address) std::memcpy(&wrapper, wrapper_address, sizeof wrapper);
  const std::lock_guard lock(runtime_mutex());
  std::string error;
  std::vector<Part> parts{{wrapper.data}};
  if (wrapper.magic != kWrapperMagic) {
    error = "the program registers a fat binary whose wrapper does not start with the magic number 466243B1";
  } else if (!wrapper.data) {
    error = "the program registers a fat binary without data";
  } else if (wrapper.version == kLinked && wrapper.parts) {
    // The linked image is machine code; the PTX is in what it was linked from.
    parts.clear();
    for (auto part = wrapper.parts; *part; ++part) parts.push_back({*part});
  }
  return const_cast<void**>(handle_of(registry().add_image(std::move(parts), std::move(error))));
}

VGPU_HIDDEN_API(void, __cudaRegisterFatBinaryEnd, void** handle) {
  if (!notes_kernels()) return;
  const std::lock_guard lock(runtime_mutex());
  std::string lines;
  for (const std::string& name : registry().names(image_of(handle))) lines += "has " + name + "\n";
  note(lines);
}

// The images stay: what is registered once may be named in a report at the very end.
VGPU_HIDDEN_API(void, __cudaUnregisterFatBinary, void**) {}

VGPU_HIDDEN_API(void, __cudaRegisterFunction, void** handle, const char* host, char*, const char* name, int, void*,
                void*, void*, void*, int*) {
  const std::lock_guard lock(runtime_mutex());
  registry().add_function(image_of(handle), host, name);
}

VGPU_HIDDEN_API(void, __cudaRegisterVar, void** handle, char* host, char*, const char* name, int, size_t bytes, int,
                int) {
  const std::lock_guard lock(runtime_mutex());
  registry().add_symbol(host, {image_of(handle), name, bytes, nullptr});
}

VGPU_HIDDEN_API(void, __cudaRegisterManagedVar, void** handle, void** host, char*, const char* name, int, size_t bytes,
                int, int) {
  const std::lock_guard lock(runtime_mutex());
  registry().add_symbol(host, {image_of(handle), name, bytes, host});
}

// Variables of the host that kernels reach through pageable memory, and functions shared by host and device: this
// device, like an H200 behind PCIe without such memory, has neither.
VGPU_HIDDEN_API(void, __cudaRegisterHostVar, void**, const char*, char*, size_t) {}
VGPU_HIDDEN_API(void, __cudaRegisterUnifiedTable, void**, void*) {}

// Called before the host's first access to a __managed__ variable of this image.
VGPU_HIDDEN_API(char, __cudaInitModule, void** handle) {
  return call([&] { return registry().place_managed(image_of(handle)); }, "__cudaInitModule") == Error::Success;
}

VGPU_API(__cudaGetKernel, Function** result, const void* host) {
  return call([&] {
    *result = registry().function(host);
    return *result ? Error::Success : Error::InvalidDeviceFunction;
  });
}

VGPU_HIDDEN_API(unsigned, __cudaPushCallConfiguration, Dim3 grid, Dim3 block, size_t shared, Stream* stream) {
  this_thread().configurations.push_back({grid, block, shared, stream, __builtin_return_address(0)});
  return 0;
}

VGPU_API(__cudaPopCallConfiguration, Dim3* grid, Dim3* block, size_t* shared, Stream** stream) {
  auto& thread = this_thread();
  if (thread.configurations.empty()) return Error::MissingConfiguration;
  const auto& top = thread.configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *stream = top.stream;
  thread.launch_site = top.site;  // the line with <<<...>>>; the launch itself comes from generated code
  thread.configurations.pop_back();
  return Error::Success;
}

}  // namespace vgpu
