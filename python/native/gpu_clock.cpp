#include "gpu_clock.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "device_buffer.h"
#include "error.h"
#include "oprt/runtime/buffer.h"
#include "oprt/runtime/event.h"

namespace oprt::python {
namespace {

void check_gpu(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  raise(OPRT_ERR_RUNTIME, std::string("GpuClock: ") + cudaGetErrorString(error));
}

cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.c()); }

// A function of the driver, whose library is not linked; null where there is none.
template <class F>
F driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion(name, &found, 13000, cudaEnableDefault, &result) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return reinterpret_cast<F>(found);
}

// Bytes of the parameters of each kernel in the graph. Empty where the driver cannot tell.
std::vector<size_t> parameter_bytes_of(cudaGraph_t graph) {
  const auto node_parameters =
      driver_function<CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*)>("cuGraphKernelNodeGetParams");
  const auto of_function = driver_function<CUresult (*)(CUfunction, size_t, size_t*, size_t*)>("cuFuncGetParamInfo");
  const auto of_kernel = driver_function<CUresult (*)(CUkernel, size_t, size_t*, size_t*)>("cuKernelGetParamInfo");
  if (!node_parameters || !of_function || !of_kernel) return {};
  size_t count = 0;
  check_gpu(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  check_gpu(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<size_t> found;
  for (cudaGraphNode_t node : nodes) {
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    if (node_parameters(node, &kernel) != CUDA_SUCCESS) continue;  // a copy, say
    const auto parameter = [&](size_t i, size_t* offset, size_t* size) {
      return kernel.kern ? of_kernel(kernel.kern, i, offset, size) : of_function(kernel.func, i, offset, size);
    };
    size_t end = 0, offset = 0, size = 0;
    for (size_t i = 0; parameter(i, &offset, &size) == CUDA_SUCCESS; ++i) end = offset + size;
    found.push_back(end);
  }
  return found;
}

// Symbols of the kernels in the graph. Empty where the runtime cannot tell: each library may be linked with its own.
std::vector<std::string> kernels_of(cudaGraph_t graph) {
  size_t count = 0;
  check_gpu(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  check_gpu(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<std::string> found;
  for (cudaGraphNode_t node : nodes) {
    cudaKernelNodeParams kernel = {};
    const char* name = nullptr;
    if (cudaGraphKernelNodeGetParams(node, &kernel) == cudaSuccess &&
        cudaFuncGetName(&name, kernel.func) == cudaSuccess)
      found.emplace_back(name);
    else
      cudaGetLastError();
  }
  return found;
}

// A captured graph, ready to be launched again and again on its clock's stream.
class Graph {
 public:
  Graph(const Stream& stream, cudaGraph_t graph) : stream_(stream), graph_(graph) {
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
    if (error == cudaSuccess) return;
    cudaGraphDestroy(graph);
    check_gpu(error);
  }
  ~Graph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;

  std::vector<size_t> parameter_bytes() const { return parameter_bytes_of(graph_); }
  std::vector<std::string> kernels() const { return kernels_of(graph_); }

  void replay() { check_gpu(cudaGraphLaunch(executable_, native(stream_))); }

 private:
  Stream stream_;
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

class GpuClock {
 public:
  GpuClock() : stream_(Device(OPRT_BACKEND_NVIDIA)) {}
  GpuClock(const GpuClock&) = delete;

  std::unique_ptr<Graph> record(const nb::callable& work) {
    stream_.synchronize();
    check_gpu(cudaStreamBeginCapture(native(stream_), cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      const WorkStream here(stream_.c());
      work();
    } catch (...) {
      cudaStreamEndCapture(native(stream_), &graph);
      cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check_gpu(cudaStreamEndCapture(native(stream_), &graph));
    return std::make_unique<Graph>(stream_, graph);
  }

  void run(const nb::callable& work) {
    const WorkStream here(stream_.c());
    work();
  }

  void mark() {
    if (used_ == marks_.size()) marks_.emplace_back(stream_.device());
    marks_[used_++].record(stream_);
  }

  std::vector<double> gaps() {
    stream_.synchronize();
    std::vector<double> seconds;
    for (size_t i = 1; i < used_; ++i) seconds.push_back(marks_[i].milliseconds_since(marks_[i - 1]) / 1e3);
    used_ = 0;
    return seconds;
  }

  void copy(const DeviceBuffer& to, const DeviceBuffer& from, size_t bytes) {
    if (bytes > to.bytes() || bytes > from.bytes())
      raise_argument(OPRT_ERR_INVALID_ARG, "GpuClock.copy", "bytes", "what both buffers hold", std::to_string(bytes));
    const oprt_device_t device = stream_.device().c();
    check(oprt_memory_copy_async(to.data(), device, from.data(), device, bytes, stream_.c()));
  }

  int attribute(cudaDeviceAttr name) const {
    int value = 0;
    check_gpu(cudaDeviceGetAttribute(&value, name, stream_.device().index()));
    return value;
  }

 private:
  Stream stream_;
  std::vector<Event> marks_;
  size_t used_ = 0;
};

}  // namespace

void bind_gpu_clock(nb::module_& module) {
  nb::class_<Graph>(module, "Graph", "Work captured by GpuClock.record().")
      .def("replay", &Graph::replay, "Submits all of it once.")
      .def_prop_ro("kernels", &Graph::kernels, "Symbols of the kernels; empty where the runtime cannot tell.")
      .def_prop_ro("parameter_bytes", &Graph::parameter_bytes,
                   "Bytes of the parameters of each kernel; empty where the driver cannot tell.");
  nb::class_<GpuClock>(module, "GpuClock", "A stream of the first GPU whose work is captured, replayed and timed.")
      .def(nb::init<>())
      .def("record", &GpuClock::record, nb::arg("work"),
           "Calls work() once; what it submits on DeviceViews is not run but kept, as a Graph.")
      .def("run", &GpuClock::run, nb::arg("work"), "Calls work() once, on this stream.")
      .def("mark", &GpuClock::mark, "Sets a mark at the stream's present end.")
      .def("gaps", &GpuClock::gaps, "Waits, and returns the seconds between one mark and the next since the last call.")
      .def("copy", &GpuClock::copy, nb::arg("to"), nb::arg("source"), nb::arg("bytes"),
           "cudaMemcpyAsync between the beginnings of two DeviceBuffers.")
      .def_prop_ro("l2_bytes", [](const GpuClock& self) { return self.attribute(cudaDevAttrL2CacheSize); });
}

}  // namespace oprt::python
