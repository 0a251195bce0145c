#include "exec/system.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "exec/access.h"
#include "exec/block.h"
#include "exec/grid.h"

namespace vgpu {
namespace {

template <class T>
T argument(Warp& w, const Decoded& d, size_t i, int lane) {
  const Passed& p = d.site->arguments[i];
  T value{};
  std::memcpy(&value, w.lanes<std::byte>(p.place) + lane * p.stride, std::min<size_t>(sizeof(T), p.bytes));
  return value;
}
template <class T>
void result(Warp& w, const Decoded& d, int lane, T value) {
  if (d.site->results.empty()) return;
  const Passed& p = d.site->results[0];
  std::memcpy(w.lanes<std::byte>(p.place) + lane * p.stride, &value, std::min<size_t>(sizeof(T), p.bytes));
}

// A zero-terminated text of the device. Nothing after a fault.
std::optional<std::string> text_at(Warp& w, const Decoded& d, int lane, uint64_t address) {
  std::string text;
  for (;; ++address) {
    const std::byte* byte = reach_one(w, d, lane, address, 1, false);
    if (!byte) return {};
    if (*byte == std::byte{0}) return text;
    text.push_back(static_cast<char>(*byte));
  }
}

// The arguments of one call of printf: each at a multiple of its own size, float as double, char and short as int.
class Arguments {
 public:
  Arguments(Warp& w, const Decoded& d, int lane, uint64_t address) : w_(w), d_(d), lane_(lane), at_(address) {}
  template <class T>
  bool next(T& value) {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const std::byte* from = reach_one(w_, d_, lane_, at_, sizeof(T), false);
    if (!from) return false;
    std::memcpy(&value, from, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

 private:
  Warp& w_;
  const Decoded& d_;
  const int lane_;
  uint64_t at_;
};

// A width or precision beyond this is a mistake, and the text that it asks for may be gigabytes.
constexpr int64_t kMostColumns = 1 << 20, kMany = INT32_MAX;

template <class T>
void append(std::string& out, const std::string& conversion, T value) {
  char buffer[512];
  const int length = std::snprintf(buffer, sizeof buffer, conversion.c_str(), value);
  if (length < 0) return;
  if (static_cast<size_t>(length) < sizeof buffer) {
    out.append(buffer, static_cast<size_t>(length));
  } else {
    std::string large(static_cast<size_t>(length) + 1, '\0');
    std::snprintf(large.data(), large.size(), conversion.c_str(), value);
    out.append(large, 0, static_cast<size_t>(length));
  }
}

// Formats as the device's printf: the host's, one conversion at a time. Nothing after a fault.
std::optional<std::string> format(Warp& w, const Decoded& d, int lane, const std::string& text, uint64_t arguments) {
  Arguments next(w, d, lane, arguments);
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '%') {
      out.push_back(text[i++]);
      continue;
    }
    std::string conversion = "%";
    int longs = 0;
    const auto columns = [&](int64_t wanted) {
      const int64_t given = std::clamp(wanted, -kMostColumns, kMostColumns);
      if (given != wanted) {
        w.block.grid.say_once("printf in a kernel asks for " + std::to_string(wanted) + " columns; " +
                              std::to_string(kMostColumns) + " are printed");
      }
      conversion += std::to_string(given);
    };
    for (++i; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '*' && conversion.back() != '.') {  // a precision of * is nothing that the device's printf knows
        int32_t n = 0;
        if (!next.next(n)) return {};
        columns(n);
      } else if (c >= '1' && c <= '9') {
        int64_t n = 0;
        for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) n = std::min(10 * n + text[i] - '0', kMany);
        --i;
        columns(n);
      } else if (std::strchr("-+ #0.", c)) {
        conversion.push_back(c);
      } else if (c == 'l' || c == 'j' || c == 'z' || c == 't') {
        ++longs;
      } else if (c != 'h') {
        break;
      }
    }
    const char kind = i < text.size() ? text[i++] : '%';
    switch (kind) {
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        if (longs) {
          int64_t value = 0;
          if (!next.next(value)) return {};
          append(out, conversion + "ll" + kind, static_cast<long long>(value));
        } else {
          int32_t value = 0;
          if (!next.next(value)) return {};
          append(out, conversion + kind, value);
        }
        break;
      case 'c': {
        int32_t value = 0;
        if (!next.next(value)) return {};
        append(out, conversion + kind, value);
        break;
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        double value = 0;
        if (!next.next(value)) return {};
        append(out, conversion + kind, value);
        break;
      }
      case 'p': {
        uint64_t value = 0;
        if (!next.next(value)) return {};
        append(out, conversion + kind, reinterpret_cast<void*>(value));
        break;
      }
      case 's': {
        uint64_t value = 0;
        if (!next.next(value)) return {};
        const std::optional<std::string> string = text_at(w, d, lane, value);
        if (!string) return {};
        append(out, conversion + kind, string->c_str());
        break;
      }
      case '%': out.push_back('%'); break;
      default: out += conversion + kind;
    }
  }
  return out;
}

const Decoded* vprintf(Warp& w, const Decoded& d, Mask lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const std::optional<std::string> text = text_at(w, d, l, argument<uint64_t>(w, d, 0, l));
    if (!text) return nullptr;
    const std::optional<std::string> line = format(w, d, l, *text, argument<uint64_t>(w, d, 1, l));
    if (!line) return nullptr;
    w.block.grid.print(*line);
    result(w, d, l, static_cast<int32_t>(line->size()));
  }
  return &d + 1;
}

const Decoded* assertfail(Warp& w, const Decoded& d, Mask lanes) {
  const int l = std::countr_zero(lanes);
  const auto text = [&](size_t i) { return text_at(w, d, l, argument<uint64_t>(w, d, i, l)); };
  const std::optional<std::string> message = text(0), file = text(1), function = text(3);
  if (!message || !file || !function) return nullptr;
  return w.fault(d, Fault::Kind::assertion, l,
                 *file + ":" + std::to_string(argument<uint32_t>(w, d, 2, l)) + ": " + *function + ": Assertion `" +
                     *message + "` failed.");
}

const Decoded* allocate(Warp& w, const Decoded& d, Mask lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const Allocation* a = w.block.grid.memory.allocate(argument<uint64_t>(w, d, 0, l), MemoryKind::device,
                                                       "malloc in the kernel", nullptr, w.block.grid.launch.owner);
    result(w, d, l, a ? a->address : uint64_t{0});
  }
  return &d + 1;
}

const Decoded* release(Warp& w, const Decoded& d, Mask lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const uint64_t address = argument<uint64_t>(w, d, 0, l);
    if (address && !w.block.grid.memory.free(address)) {
      Fault f;
      f.kind = Fault::Kind::out_of_bounds;
      f.address = address;
      const Allocation* in = w.block.grid.memory.find(address);
      f.freed = in && in->freed;
      f.what = f.freed ? "frees memory that has been freed" : "frees an address that malloc has not returned";
      return w.fault(d, l, std::move(f));
    }
  }
  // What instructions remember of allocations may be gone.
  std::fill(w.block.worker.windows.begin(), w.block.worker.windows.end(), Window());
  return &d + 1;
}

}  // namespace

SystemFunction system_function(std::string_view name) {
  if (name == "vprintf") return {vprintf, 2};
  if (name == "__assertfail") return {assertfail, 5};
  if (name == "malloc") return {allocate, 1};
  if (name == "free") return {release, 1};
  return {};
}

}  // namespace vgpu
