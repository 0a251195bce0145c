// What programs register: fat binaries, and the functions and variables in them by their host addresses. Nothing is
// parsed before it is needed: a library with a hundred files of kernels starts at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/engine.h"
#include "runtime/api.h"
#include "runtime/context.h"

namespace vgpu {

// A container or text, and how long it is; 0: as long as readable_from() finds it to be.
struct Part {
  const void* data;
  size_t bytes = 0;
};

// One fat binary, or one that cudaLibraryLoadData brought. Lives to the end of the process: reports name its lines.
class Image {
 public:
  // One part, or those of a program built with -rdc, of which one at most may hold PTX that fits. `error` says why
  // there is nothing usable.
  Image(std::vector<Part> parts, std::string error) : parts_(std::move(parts)), sentence_(std::move(error)) {}

  // Chooses and parses at the first call, and loads at the device's first; says what is wrong, once. The code is the
  // same at every call.
  Error load(int device);
  const ptx::Module& module() const { return *module_; }
  const Program& program(int device) const { return *loaded_[size_t(device)].program; }

 private:
  Error fail(Error code, const std::string& sentence);
  // Reads the parts and picks the PTX text.
  Error choose_text(std::string& text, std::string& error) const;
  std::vector<Part> parts_;
  std::string sentence_;
  Error parse();
  bool tried_ = false;
  Error code_ = Error::Success;
  std::shared_ptr<const ptx::Module> module_;
  // The kernels and variables of each device.
  struct Loaded {
    bool tried = false;
    Error code = Error::Success;
    std::unique_ptr<Program> program;
  };
  std::array<Loaded, kMostDevices> loaded_;
};

class Function {
 public:
  Function(Image& image, std::string name) : image(image), name(std::move(name)) {}

  // Makes `info`, `source` and on(device) valid.
  Error load(int device);

  // What is loaded on a device, and what cudaFuncSetAttribute changes there.
  struct OnDevice {
    bool tried = false;
    Error code = Error::Success;
    const Kernel* kernel = nullptr;
    int max_dynamic_shared = 0;  // at first what fits into 48 KiB beside the static shared memory
    int carveout = -1, cluster_policy = 0;
    bool nonportable_cluster = false;
    Dim3 cluster{0, 0, 0};  // 0: none required
  };
  OnDevice& on(int device) { return on_[device]; }

  Image& image;
  const std::string name;  // mangled
  KernelInfo info;         // on all devices the same
  const ptx::Function* source = nullptr;
  bool launched = false;

 private:
  std::map<int, OnDevice> on_;
};

// A __device__, __constant__ or __managed__ variable.
struct Symbol {
  Image& image;
  std::string name;
  size_t bytes;
  void** managed = nullptr;  // where the host keeps the address of a __managed__ variable
};

class Registry {
 public:
  Image& add_image(std::vector<Part> parts, std::string error);
  void add_function(Image& image, const void* host, const char* name);
  void add_symbol(const void* host, Symbol symbol);
  // By the address of the host's stub, or a handle that cudaGetKernel gave out.
  Function* function(const void* key) const;
  Function* function(Image& image, std::string_view name);   // of a library; made at the first call
  std::vector<std::string> names(const Image& image) const;  // of its functions
  // By the address of the host's shadow variable.
  const Symbol* symbol(const void* host) const;
  // Loads the image and tells the host where its managed variables are.
  Error place_managed(const Image& image);

 private:
  std::vector<std::unique_ptr<Image>> images_;
  std::map<const void*, Function*> functions_by_key_;  // stubs and handles
  std::map<std::pair<const Image*, std::string>, std::unique_ptr<Function>, std::less<>> functions_;
  std::map<const void*, std::unique_ptr<Symbol>> symbols_;
};
Registry& registry();

// A variable's memory on the current device.
Error address_of(const Symbol& symbol, const Allocation*& result);

}  // namespace vgpu
