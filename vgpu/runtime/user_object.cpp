#include "runtime/user_object.h"

#include <climits>
#include <set>

#include "runtime/context.h"
#include "runtime/graph.h"

namespace vgpu {
namespace {

std::set<UserObject*>& objects() {
  static auto* objects = new std::set<UserObject*>;
  return *objects;
}

}  // namespace

void retain(UserObject* object, unsigned count) { object->count += count; }

void release(UserObject* object, unsigned count) {
  object->count -= count < object->count ? count : object->count;
  if (object->count) return;
  objects().erase(object);
  object->destroy(object->data);
  delete object;
}

VGPU_API(cudaUserObjectCreate, UserObject** result, void* data, HostFunction destroy, unsigned count, unsigned flags) {
  return call([&] {
    constexpr unsigned kNoDestructorSync = 1;  // the only flag, and required
    if (!result || !destroy || !count || count > INT_MAX || flags != kNoDestructorSync) return Error::InvalidValue;
    *result = new UserObject(data, destroy, count);
    objects().insert(*result);
    return Error::Success;
  });
}
VGPU_API(cudaUserObjectRetain, UserObject* object, unsigned count) {
  return call([&] {
    if (!objects().contains(object) || !count) return Error::InvalidValue;
    retain(object, count);
    return Error::Success;
  });
}
VGPU_API(cudaUserObjectRelease, UserObject* object, unsigned count) {
  return call([&] {
    if (!objects().contains(object) || !count) return Error::InvalidValue;
    release(object, count);
    return Error::Success;
  });
}
VGPU_API(cudaGraphRetainUserObject, Graph* handle, UserObject* object, unsigned count, unsigned flags) {
  return call([&] {
    constexpr unsigned kMove = 1;  // the program's own references become the graph's
    const auto graph = find_graph(handle);
    if (!graph || !objects().contains(object) || !count || flags > kMove) return Error::InvalidValue;
    if (flags != kMove) retain(object, count);
    graph->user_objects[object] += count;
    return Error::Success;
  });
}
VGPU_API(cudaGraphReleaseUserObject, Graph* handle, UserObject* object, unsigned count) {
  return call([&] {
    const auto graph = find_graph(handle);
    if (!graph) return Error::InvalidValue;
    const auto held = graph->user_objects.find(object);
    if (held == graph->user_objects.end() || !count || count > held->second) return Error::InvalidValue;
    if ((held->second -= count) == 0) graph->user_objects.erase(held);
    release(object, count);
    return Error::Success;
  });
}

}  // namespace vgpu
