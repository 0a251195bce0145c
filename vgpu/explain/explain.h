// The pages of `vgpu explain`: explain/<CODE>.md, built in. A page's first line is "# CODE Title".
#pragma once

#include <span>
#include <string_view>

namespace vgpu {

struct Page {
  std::string_view code, text;
};
std::span<const Page> explain_pages();                 // by code
std::string_view explain_page(std::string_view code);  // empty where there is none
std::string_view title_of(std::string_view code);

}  // namespace vgpu
