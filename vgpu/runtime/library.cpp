// Libraries: images that a program loads at run time, and the kernels and variables in them by name.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/context.h"
#include "runtime/registry.h"

namespace vgpu {

class Library {
 public:
  explicit Library(Image& image) : image(image) {}
  Image& image;
  std::vector<std::string> kernels() const {
    std::vector<std::string> names;
    for (const auto& function : image.module().functions) {
      if (function->is_entry) names.push_back(function->name);
    }
    return names;
  }
};

namespace {

std::map<Library*, std::unique_ptr<Library>>& libraries() {
  static auto* libraries = new std::map<Library*, std::unique_ptr<Library>>;
  return *libraries;
}

Error load(Library** result, const Part& code) {
  if (!result || !code.data) return Error::InvalidValue;
  Image& image = registry().add_image({code}, {});
  if (const Error error = image.load(current_device()); error != Error::Success) return error;
  auto library = std::make_unique<Library>(image);
  *result = library.get();
  libraries()[*result] = std::move(library);
  return Error::Success;
}

Error load_file(Library** result, const char* path) {
  if (!path) return Error::InvalidValue;
  FILE* file = std::fopen(path, "rb");
  if (!file) return Error::FileNotFound;
  auto* bytes = new std::string;
  char part[65536];
  for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) bytes->append(part, got);
  std::fclose(file);
  return load(result, {bytes->data(), bytes->size()});  // an image lives to the end
}

Error variable(void** address, size_t* bytes, Library* library, const char* name, bool managed) {
  if (!libraries().contains(library)) return Error::InvalidResourceHandle;
  if (!name) return Error::InvalidValue;
  const int device = current_device();
  if (const Error error = library->image.load(device); error != Error::Success) return error;
  const Allocation* allocation = library->image.program(device).variable(name);
  if (!allocation || (allocation->kind == MemoryKind::managed) != managed) return Error::SymbolNotFound;
  if (address) *address = reinterpret_cast<void*>(allocation->address);
  if (bytes) *bytes = allocation->bytes;
  return Error::Success;
}

}  // namespace

VGPU_API(cudaLibraryLoadData, Library** result, const void* code, void*, void**, unsigned, void*, void**, unsigned) {
  return call([&] { return load(result, {code}); });
}
VGPU_API(cudaLibraryLoadFromFile, Library** result, const char* path, void*, void**, unsigned, void*, void**,
         unsigned) {
  return call([&] { return load_file(result, path); });
}
VGPU_API(cudaLibraryUnload, Library* library) {
  return call([&] { return libraries().erase(library) ? Error::Success : Error::InvalidResourceHandle; });
}
VGPU_API(cudaLibraryGetKernel, Function** result, Library* library, const char* name) {
  return call([&] {
    if (!libraries().contains(library)) return Error::InvalidResourceHandle;
    if (!result || !name) return Error::InvalidValue;
    const auto names = library->kernels();
    if (std::find(names.begin(), names.end(), name) == names.end()) return Error::SymbolNotFound;
    *result = registry().function(library->image, name);
    return Error::Success;
  });
}
VGPU_API(cudaLibraryGetKernelCount, unsigned* count, Library* library) {
  return call([&] {
    if (!libraries().contains(library)) return Error::InvalidResourceHandle;
    if (!count) return Error::InvalidValue;
    *count = unsigned(library->kernels().size());
    return Error::Success;
  });
}
VGPU_API(cudaLibraryEnumerateKernels, Function** kernels, unsigned count, Library* library) {
  return call([&] {
    if (!libraries().contains(library)) return Error::InvalidResourceHandle;
    if (!kernels) return Error::InvalidValue;
    const auto names = library->kernels();
    for (size_t i = 0; i < std::min<size_t>(count, names.size()); ++i) {
      kernels[i] = registry().function(library->image, names[i]);
    }
    return Error::Success;
  });
}
VGPU_API(cudaLibraryGetGlobal, void** address, size_t* bytes, Library* library, const char* name) {
  return call([&] { return variable(address, bytes, library, name, false); });
}
VGPU_API(cudaLibraryGetManaged, void** address, size_t* bytes, Library* library, const char* name) {
  return call([&] { return variable(address, bytes, library, name, true); });
}

}  // namespace vgpu
