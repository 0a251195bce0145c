// Launches: from an API call to a checked KernelOperation (E10), and its execution.
#include <cstring>

#include "report/source.h"
#include "runtime/context.h"
#include "runtime/occupancy.h"
#include "runtime/operation.h"
#include "runtime/registry.h"
#include "runtime/status.h"
#include "runtime/stream.h"

namespace vgpu {
namespace {

std::string text(const Dim3& d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

struct Refusal {
  Error code = Error::Success;
  std::string what, reason, hint;
};

Refusal refuse_grid(const Dim3& grid, const DeviceLimits& limits) {
  const char* axis = grid.x == 0 || grid.x > limits.grid.x   ? "x"
                     : grid.y == 0 || grid.y > limits.grid.y ? "y"
                     : grid.z == 0 || grid.z > limits.grid.z ? "z"
                                                             : nullptr;
  if (!axis) return {};
  return {Error::InvalidValue, std::string("gridDim.") + axis + " of " + text(grid) + " is not possible",
          "a grid has 1 to 2147483647 blocks in x, 1 to 65535 in y and in z",
          "an empty input needs no launch; a long axis belongs in x"};
}

Refusal refuse_block(const Dim3& block, const Function& function, const DeviceLimits& limits) {
  const std::string what =
      std::to_string(block.count()) + " threads in a block of " + text(block) + " are not possible";
  if (!block.x || !block.y || !block.z || block.x > limits.block.x || block.y > limits.block.y ||
      block.z > limits.block.z || block.count() > limits.threads_per_block) {
    return {Error::InvalidValue, what, "a block has 1 to 1024 threads, no more than 1024 in x, 1024 in y and 64 in z",
            "use smaller blocks and more of them"};
  }
  const auto& source = *function.source;
  const auto required = source.required_threads;
  if (required[0] &&
      (block.x != uint32_t(required[0]) || block.y != uint32_t(required[1]) || block.z != uint32_t(required[2]))) {
    const Dim3 wanted{uint32_t(required[0]), uint32_t(required[1]), uint32_t(required[2])};
    return {Error::InvalidValue, what, "the kernel was compiled for blocks of exactly " + text(wanted),
            "launch it with that block, or change its __block_size__"};
  }
  if (block.count() > function.info.max_threads) {
    return {Error::InvalidValue, what,
            "the kernel's __launch_bounds__ promise no more than " + std::to_string(function.info.max_threads),
            "launch smaller blocks, or raise the bound"};
  }
  return {};
}

Refusal refuse_shared(const KernelOperation& launch, const DeviceLimits& limits) {
  const size_t dynamic = launch.dynamic_shared, fixed = launch.function->info.static_shared;
  const auto allowed = size_t(launch.function->on(launch.device).max_dynamic_shared);
  if (dynamic <= allowed) return {};
  const std::string what = std::to_string(dynamic) + " bytes of dynamic shared memory" +
                           (fixed ? " beside " + std::to_string(fixed) + " static ones" : "") + " are not possible";
  if (dynamic + fixed > limits.shared_per_block_optin) {
    return {Error::InvalidValue, what,
            "a block of this device has at most " + std::to_string(limits.shared_per_block_optin) + " bytes",
            "use smaller tiles"};
  }
  return {Error::InvalidValue, what,
          "the kernel may use " + std::to_string(allowed) + " bytes: more than 48 KiB a block need a permission",
          "call cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) first"};
}

Refusal refuse_cluster(const KernelOperation& launch, const DeviceLimits& limits) {
  const auto& function = launch.function->on(launch.device);
  const Dim3 &cluster = launch.cluster, &grid = launch.grid, &compiled = function.cluster;
  if (!cluster.x) return {};
  const std::string what = "clusters of " + text(cluster) + " blocks in a grid of " + text(grid) + " are not possible";
  const uint32_t most = function.nonportable_cluster ? limits.cluster_blocks_nonportable : limits.cluster_blocks;
  if (cluster.count() > most) {
    return {Error::InvalidClusterSize, what,
            limits.sm < 90 ? "clusters need sm_90" : "a cluster has at most " + std::to_string(most) + " blocks here",
            "use smaller clusters; up to 16 blocks need cudaFuncAttributeNonPortableClusterSizeAllowed"};
  }
  if (compiled.x && (cluster.x != compiled.x || cluster.y != compiled.y || cluster.z != compiled.z)) {
    return {Error::InvalidClusterSize, what, "the kernel was compiled for clusters of " + text(compiled),
            "launch it with those, or change its __cluster_dims__"};
  }
  if (!cluster.y || !cluster.z || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z) {
    return {Error::InvalidClusterSize, what, "the grid must be a multiple of the cluster in every axis",
            "round the grid up, and let blocks without work return"};
  }
  return {};
}

Refusal refuse_cooperative(const KernelOperation& launch, const DeviceLimits& limits) {
  if (!launch.cooperative) return {};
  const uint64_t most =
      uint64_t{limits.multiprocessors} *
      blocks_per_multiprocessor(*launch.function, launch.block.count(), launch.dynamic_shared, limits);
  if (launch.grid.count() <= most) return {};
  return {Error::CooperativeLaunchTooLarge,
          "a cooperative launch of " + std::to_string(launch.grid.count()) + " blocks is not possible",
          "all its blocks must run at once, and " + std::to_string(most) + " of this shape fit on the device",
          "ask cudaOccupancyMaxActiveBlocksPerMultiprocessor, and let blocks loop over the work"};
}

Error check(const KernelOperation& launch) {
  auto& context = Context::get();
  const auto& limits = context.limits;
  Refusal refusal;
  const auto first = [&](Refusal found) {
    if (refusal.code == Error::Success) refusal = std::move(found);
  };
  first(refuse_grid(launch.grid, limits));
  first(refuse_block(launch.block, *launch.function, limits));
  first(refuse_shared(launch, limits));
  first(refuse_cluster(launch, limits));
  if (refusal.code == Error::Success) first(refuse_cooperative(launch, limits));
  if (refusal.code == Error::Success) return Error::Success;
  Diagnostic diagnostic;
  diagnostic.code = "E10";
  diagnostic.kernel = demangled(launch.function->name);
  if (context.devices.size() > 1) diagnostic.device = launch.device;
  diagnostic.what = std::move(refusal.what);
  diagnostic.reason = std::move(refusal.reason);
  diagnostic.hint = std::move(refusal.hint);
  diagnostic.ends_launch = true;
  context.session.found(std::move(diagnostic), launch.site);
  context.look_for_errors();
  return refusal.code;  // as an H200 says: tests/programs/launch_errors.txt
}

Error copy_arguments(const Function& function, void** arguments, void** extra, std::vector<std::byte>& space) {
  space.assign(function.info.param_bytes, std::byte{});
  if (!arguments && extra) {  // a buffer as the driver takes it: pairs of (1: buffer, 2: address of its size), then 0
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (; *extra; extra += 2) {
      if (extra[0] == reinterpret_cast<void*>(1)) buffer = extra[1];
      if (extra[0] == reinterpret_cast<void*>(2)) bytes = *static_cast<size_t*>(extra[1]);
    }
    if (!buffer || bytes < space.size()) return Error::InvalidValue;
    std::memcpy(space.data(), buffer, space.size());
    return Error::Success;
  }
  if (!function.info.params.empty() && !arguments) return Error::InvalidValue;
  for (size_t i = 0; i < function.info.params.size(); ++i) {
    std::memcpy(space.data() + parameter_offset(function, i), arguments[i], function.info.params[i].bytes);
  }
  return Error::Success;
}

// What ended the launch, as the error that hardware would leave behind. It has no deadlock detection: there a watchdog
// ends the launch.
Error code_of(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::none: return Error::Success;
    case Fault::Kind::out_of_bounds:
      return fault.space == ptx::Space::global || fault.space == ptx::Space::generic ? Error::IllegalAddress
                                                                                     : Error::LaunchFailure;
    case Fault::Kind::host_pointer:
    case Fault::Kind::other_device: return Error::IllegalAddress;
    case Fault::Kind::stack: return Error::IllegalAddress;
    case Fault::Kind::deadlock:
    case Fault::Kind::endless: return Error::LaunchTimeout;
    case Fault::Kind::misaligned: return Error::MisalignedAddress;
    case Fault::Kind::assertion: return Error::Assert;
    case Fault::Kind::trap: return Error::LaunchFailure;
  }
  return Error::LaunchFailure;
}

Error submit_kernel(const LaunchConfiguration& configuration, const void* function, void** arguments, void* site) {
  KernelOperation operation;
  const Stream* stream = find_stream(configuration.stream);
  Error error = stream && stream->device != current_device() ? Error::InvalidResourceHandle : Error::Success;
  if (error == Error::Success) error = make_kernel(configuration, function, arguments, site, operation);
  if (error != Error::Success) {
    spoil_capture(configuration.stream);
    return error;
  }
  return submit(configuration.stream, std::move(operation));
}

Error launch_plain(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, Stream* stream,
                   bool cooperative, void* site) {
  LaunchAttribute attribute{LaunchAttribute::Id::Cooperative, 0, {}};
  attribute.value.number = 1;
  return submit_kernel({grid, block, shared, stream, &attribute, cooperative ? 1u : 0u}, function, arguments, site);
}

}  // namespace

size_t parameter_offset(const Function& function, size_t index) {
  size_t offset = 0;
  for (size_t i = 0;; ++i) {
    const auto& parameter = function.info.params[i];
    offset = (offset + parameter.align - 1) / parameter.align * parameter.align;
    if (i == index) return offset;
    offset += parameter.bytes;
  }
}

Error make_kernel(const LaunchConfiguration& configuration, const void* key, void** arguments, void* site,
                  KernelOperation& result) {
  result.function = registry().function(key);
  if (!result.function) return key ? Error::InvalidResourceHandle : Error::InvalidDeviceFunction;
  if (result.device < 0) result.device = current_device();
  if (const Error error = result.function->load(result.device); error != Error::Success) return error;
  result.grid = configuration.grid;
  result.block = configuration.block;
  result.cluster = result.function->on(result.device).cluster;
  result.site = site;
  result.dynamic_shared = uint32_t(configuration.dynamic_shared);  // the driver sees no more of it either
  for (uint32_t i = 0; i < configuration.attribute_count; ++i) {
    set_attribute(result, configuration.attributes[i].id, configuration.attributes[i].value);
  }
  if (const Error error = check(result); error != Error::Success) return error;
  return copy_arguments(*result.function, arguments, nullptr, result.parameters);
}

Error make_kernel(const KernelNodeParameters& parameters, void* site, KernelOperation& result) {
  result.function = registry().function(parameters.function);
  if (!result.function) return Error::InvalidDeviceFunction;
  if (result.device < 0) result.device = current_device();
  if (const Error error = result.function->load(result.device); error != Error::Success) return error;
  result.grid = parameters.grid;
  result.block = parameters.block;
  if (!result.cluster.x) result.cluster = result.function->on(result.device).cluster;
  result.dynamic_shared = parameters.dynamic_shared;
  result.site = site;
  if (const Error error = check(result); error != Error::Success) return error;
  return copy_arguments(*result.function, parameters.arguments, parameters.extra, result.parameters);
}

void set_attribute(KernelOperation& operation, LaunchAttribute::Id id, const LaunchAttribute::Value& value) {
  // The others tune or permit an overlap that program order makes anyway.
  if (id == LaunchAttribute::Id::Cooperative) operation.cooperative = value.number != 0;
  if (id == LaunchAttribute::Id::ClusterDimension) operation.cluster = value.dimension;
  if (id == LaunchAttribute::Id::Priority) operation.priority = value.number;
}

Error execute(const KernelOperation& operation, Stream&) {
  auto& context = Context::get();
  Launch launch{};
  launch.kernel = operation.function->on(operation.device).kernel;
  launch.module = &operation.function->image.module();
  launch.function = operation.function->source;
  launch.grid = operation.grid;
  launch.block = operation.block;
  launch.cluster = operation.cluster.x ? operation.cluster : Dim3{};
  launch.params = operation.parameters;
  launch.dynamic_shared = operation.dynamic_shared;
  launch.cooperative = operation.cooperative;
  launch.stack_bytes = uint32_t(context.devices[size_t(operation.device)].limits[0]);
  launch.owner = context.owner(operation.device);
  launch.serial = ++context.launches;
  launch.host_site = operation.site;
  if (bool& launched = operation.function->launched; !launched) {
    launched = true;
    if (notes_kernels()) note("launched " + operation.function->name + "\n");
  }
  RunOptions options;
  options.seed = context.configuration.seed;
  options.observers = context.session.observers();
  if (context.configuration.budget) options.budget = context.configuration.budget;
  std::vector<std::pair<const ptx::Function*, std::vector<Executed>>> executed;
  const Fault fault = run(*launch.kernel, launch, context.memory, context.limits, options,
                          context.session.counts() ? &executed : nullptr);
  context.session.finished(launch, fault, executed);
  context.look_for_errors();
  context.sticky = code_of(fault);
  return Error::Success;  // a launch that ends early is found out later, as on hardware
}

VGPU_API(cudaLaunchKernel, const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared,
         Stream* stream) {
  return call(
      [&] { return launch_plain(function, grid, block, arguments, shared, stream, false, this_thread().site); });
}
// What <<<...>>> becomes: its line is that of the configuration, the call itself is in generated code.
VGPU_API(__cudaLaunchKernel, Function* function, Dim3 grid, Dim3 block, void** arguments, size_t shared,
         Stream* stream) {
  return call(
      [&] { return launch_plain(function, grid, block, arguments, shared, stream, false, this_thread().launch_site); });
}
VGPU_API(cudaLaunchCooperativeKernel, const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared,
         Stream* stream) {
  return call([&] { return launch_plain(function, grid, block, arguments, shared, stream, true, this_thread().site); });
}
VGPU_API(cudaLaunchKernelExC, const LaunchConfiguration* configuration, const void* function, void** arguments) {
  return call([&] {
    return configuration ? submit_kernel(*configuration, function, arguments, this_thread().site) : Error::InvalidValue;
  });
}

}  // namespace vgpu
