#include "explain/explain.h"

namespace vgpu {

std::string_view explain_page(std::string_view code) {
  for (const Page& page : explain_pages()) {
    if (page.code == code) return page.text;
  }
  return {};
}

std::string_view title_of(std::string_view code) {
  if (code == "assert") return "an assertion of the kernel failed";
  if (code == "trap") return "the kernel stopped itself";
  const std::string_view page = explain_page(code), line = page.substr(0, page.find('\n'));
  return line.size() > code.size() + 3 ? line.substr(code.size() + 3) : std::string_view();
}

}  // namespace vgpu
