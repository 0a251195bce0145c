// Managed memory: variables and allocations that host and device both follow, in turns; pointer attributes.
#include "check.h"

__managed__ int counter = 5;
__managed__ float weights[4] = {1, 2, 3, 4};

struct Node {
  int value;
  Node* next;
};

__global__ void walk(Node* list, int* sum) {
  for (Node* node = list; node; node = node->next) {
    *sum += node->value;
    node->value *= 2;
  }
  ++counter;
  weights[3] += weights[0];
}

int main() {
  EXPECT(counter == 5 && weights[2] == 3);
  counter = 10;
  Node* list = nullptr;
  for (int i = 1; i <= 20; ++i) {
    Node* node;
    CUDA(cudaMallocManaged(&node, sizeof(Node)));
    *node = {i, list};
    list = node;
  }
  int* sum;
  CUDA(cudaMallocManaged(&sum, sizeof(int)));
  *sum = 0;
  cudaMemLocation device{cudaMemLocationTypeDevice, 0};
  CUDA(cudaMemAdvise(sum, sizeof(int), cudaMemAdviseSetPreferredLocation, device));
  CUDA(cudaMemPrefetchAsync(sum, sizeof(int), device, 0, nullptr));
  walk<<<1, 1>>>(list, sum);
  CUDA(cudaDeviceSynchronize());
  EXPECT(*sum == 210 && counter == 11 && weights[3] == 5);
  int doubled = 0;
  for (Node* node = list; node;) {
    doubled += node->value;
    Node* next = node->next;
    CUDA(cudaFree(node));
    node = next;
  }
  EXPECT(doubled == 420);

  int on_stack;
  void* on_device;
  CUDA(cudaMalloc(&on_device, 100));
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, sum));
  EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == sum);
  CUDA(cudaPointerGetAttributes(&attributes, on_device));
  EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0 && !attributes.hostPointer);
  CUDA(cudaPointerGetAttributes(&attributes, &on_stack));
  EXPECT(attributes.type == cudaMemoryTypeUnregistered);
  CUDA(cudaFree(on_device));
  std::printf("managed_memory: sum %d, counter %d\n", *sum, counter);
  CUDA(cudaFree(sum));
}
