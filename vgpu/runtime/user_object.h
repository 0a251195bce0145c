// cudaUserObject_t: a destructor that runs when the last reference, a graph's or the program's, is given back.
#pragma once

#include "runtime/api.h"

namespace vgpu {

class UserObject {
 public:
  UserObject(void* data, HostFunction destroy, unsigned count) : data(data), destroy(destroy), count(count) {}
  void* const data;
  const HostFunction destroy;
  unsigned count;
};

void retain(UserObject* object, unsigned count);
void release(UserObject* object, unsigned count);

}  // namespace vgpu
