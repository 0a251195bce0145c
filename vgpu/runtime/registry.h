// What programs register: fat binaries, and the functions and variables in them by their host addresses. Nothing is
// parsed before it is needed: a library with a hundred files of kernels starts at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exec/engine.h"
#include "runtime/api.h"

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

  // Chooses, parses and loads at the first call; says what is wrong, once. The code is the same at every call.
  Error load();
  const Program& program() const { return *program_; }

 private:
  Error fail(Error code, const std::string& sentence);
  // Reads the parts and picks the PTX text.
  Error choose_text(std::string& text, std::string& error) const;
  std::vector<Part> parts_;
  std::string sentence_;
  bool tried_ = false;
  Error code_ = Error::Success;
  std::unique_ptr<Program> program_;
};

class Function {
 public:
  Function(Image& image, std::string name) : image(image), name(std::move(name)) {}

  // Makes `kernel` and `info` valid.
  Error load();

  Image& image;
  const std::string name;  // mangled
  const Kernel* kernel = nullptr;
  KernelInfo info;
  const ptx::Function* source = nullptr;
  // What cudaFuncSetAttribute changes.
  int max_dynamic_shared = 0;  // set by load(): what fits into 48 KiB beside the static shared memory
  int carveout = -1, cluster_policy = 0;
  bool nonportable_cluster = false;
  Dim3 cluster{0, 0, 0};  // 0: none required
  bool launched = false;

 private:
  bool tried_ = false;
  Error code_ = Error::Success;
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

// The device address of a variable.
Error address_of(const Symbol& symbol, const Allocation*& result);

}  // namespace vgpu
