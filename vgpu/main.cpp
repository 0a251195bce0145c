// The command `vgpu`.
#include <cstdio>

int main() {
  std::fputs("usage: vgpu run [OPTIONS] -- PROGRAM ARGUMENTS...\n", stderr);
  return 2;
}
