// Softmax of a matrix, row by row, in C++20. The matrix is stored by columns: its transpose is a view, and any view
// will do for an operator.
//
//   c++ -std=c++20 softmax.cpp $(pkg-config --cflags --libs oprt) -o softmax     or the CMakeLists.txt beside this file
#include <cstdio>
#include <exception>
#include <memory>
#include <oprt/oprt.hpp>
#include <vector>

int main() try {
  const auto columns = oprt::Tensor::from_data<float>({1, 0, 1000, 2, 0, 1001, 3, 0, 1002, 4, 0, 1003}, {4, 3});
  const oprt::Tensor in = columns.transpose(0, 1);  // 3 rows of 4; no element moves
  oprt::Tensor out = oprt::Tensor::zeros({3, 4});

  oprt_operator_descriptor_t desc = nullptr;
  oprt::check(oprt_create_softmax_descriptor(&desc, &out.view(), &in.view(), /*axis=*/-1));
  const std::unique_ptr<oprt_operator_descriptor, decltype(&oprt_destroy_softmax_descriptor)> softmax(
      desc, oprt_destroy_softmax_descriptor);

  // A view that is not contiguous along the axis may need workspace.
  size_t size = 0;
  oprt::check(oprt_get_softmax_workspace_size(desc, &size));
  std::vector<char> workspace(size);
  oprt::check(oprt_execute_softmax(desc, workspace.data(), size, out.data<float>(), in.data<float>(), nullptr));

  const std::vector<float> values = out.to_vector<float>();
  for (size_t row = 0; row < 3; ++row) {
    for (size_t column = 0; column < 4; ++column) std::printf("%.4f ", values[row * 4 + column]);
    std::printf("\n");
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
