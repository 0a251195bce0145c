// libcudart.so.13 exports exactly the names in runtime/symbols.txt, each in the version `libcudart.so.13`.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <string>

namespace {

std::set<std::string> listed() {
  std::ifstream file(VGPU_SOURCE "/runtime/symbols.txt");
  std::set<std::string> names;
  for (std::string name; std::getline(file, name);) names.insert(name);
  return names;
}

TEST(Exports, EveryListedNameHasItsVersion) {
  void* library = dlopen(VGPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  const auto names = listed();
  EXPECT_EQ(names.size(), 422u);
  for (const auto& name : names) {
    EXPECT_TRUE(dlvsym(library, name.c_str(), "libcudart.so.13")) << name;
  }
  dlclose(library);
}

TEST(Exports, NothingElseIsExported) {
  std::set<std::string> exported;
  FILE* nm = popen("nm -D --defined-only --with-symbol-versions " VGPU_LIBRARY, "r");
  ASSERT_TRUE(nm);
  char kind, name[256];
  while (std::fscanf(nm, "%*x %c %255s", &kind, name) == 2) {
    if (kind == 'A') continue;  // the version itself
    const std::string versioned = name;
    const auto at = versioned.find("@@libcudart.so.13");
    EXPECT_NE(at, std::string::npos) << versioned;
    exported.insert(versioned.substr(0, at));
  }
  ASSERT_EQ(pclose(nm), 0);
  EXPECT_EQ(exported, listed());
}

}  // namespace
