#include "ptx/lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace vgpu::ptx {
namespace {

enum : uint8_t { kSpace = 1, kNameFirst = 2, kNameRest = 4, kDigit = 8, kMark = 16, kDoubles = 32, kDot = 64 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[uint8_t(c)] = kSpace;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kNameFirst | kNameRest;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameRest | kDigit;
  classes['_'] = classes['$'] = kNameFirst | kNameRest;
  for (const char c : std::string_view("()[]{},;:+-*/%^~?@")) classes[uint8_t(c)] = kMark;
  for (const char c : std::string_view("<>=!&|")) classes[uint8_t(c)] = kMark | kDoubles;
  classes['.'] = kDot;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t classes) { return kClasses[uint8_t(c)] & classes; }

}  // namespace

// Every loop below ends at the zero byte behind the text, which is of no class.

void Lexer::skip_space() {
  for (;; ++at_) {
    while (is(*at_, kSpace)) line_ += *at_++ == '\n';
    if (*at_ != '/') return;
    if (at_[1] == '/') {
      while (at_ < end_ && *at_ != '\n') ++at_;
      line_ += at_ < end_;
    } else if (at_[1] == '*') {
      const std::string_view rest = rest_of_text();
      const size_t end = rest.find("*/", 2);
      if (end == rest.npos) fail(line_, "a comment is never closed");
      line_ += int(std::count(at_, at_ + end, '\n'));
      at_ += end + 1;
    } else {
      return;
    }
    if (at_ >= end_) return;
  }
}

Token Lexer::next() {
  skip_space();
  const char* p = at_;
  const char c = *p;
  Token token;
  token.line = line_;
  if (is(c, kNameFirst) || (c == '%' && is(p[1], kNameFirst))) {
    token.kind = Token::Kind::name;
    do ++p;
    while (is(*p, kNameRest));
  } else if (is(c, kMark)) {
    token.kind = Token::Kind::mark;
    token.mark = c;
    ++p;
    if (is(c, kDoubles)) {
      for (const char* two : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}) {
        if (c != two[0] || *p != two[1]) continue;
        ++p;
        token.mark = 0;
        break;
      }
    }
  } else if (is(c, kDigit) || (c == '.' && is(p[1], kDigit))) {
    token.kind = Token::Kind::number;
    // A sign belongs to a decimal number where it follows the exponent's letter; 0x1e+4 is a sum.
    const bool decimal = c != '0' || std::string_view("xXfFdDbB").find(p[1]) == std::string_view::npos;
    do ++p;
    while (is(*p, kNameRest) || (decimal && (*p == '.' || ((*p == '+' || *p == '-') && (p[-1] | 0x20) == 'e'))));
  } else if (c == '.') {
    token.kind = Token::Kind::directive;
    p = past_words(p + 1, kNameRest);
    if (p == at_ + 1) fail(line_, "a dot stands alone");
  } else if (c == '"') {
    token.kind = Token::Kind::string;
    for (++p; p < end_ && *p != '"' && *p != '\n';) p += *p == '\\' ? 2 : 1;
    if (p >= end_ || *p != '"') fail(line_, "a string is never closed");
    ++p;
  } else if (p < end_) {
    char what[64];
    snprintf(what, sizeof what,
             c > ' ' && c < 127 ? "the character `%c` has no meaning in PTX" : "the byte 0x%02X has no meaning in PTX",
             uint8_t(c));
    fail(line_, what);
  }
  token.text = {at_, size_t(p - at_)};
  at_ = p;
  return token;
}

// Past characters of the classes, and "::" between them.
const char* Lexer::past_words(const char* p, uint8_t classes) {
  while (is(*p, classes) || (*p == ':' && p[1] == ':' && is(p[2], kNameRest))) p += *p == ':' ? 2 : 1;
  return p;
}

void Lexer::widen_to_mnemonic(Token& token) {
  at_ = past_words(at_, kNameRest | kDot);
  token.text = {token.text.data(), size_t(at_ - token.text.data())};
}

bool Lexer::widen_by_part(Token& token) {
  if (*at_ != '.' || !is(at_[1], kNameFirst)) return false;
  do ++at_;
  while (is(*at_, kNameRest));
  token.text = {token.text.data(), size_t(at_ - token.text.data())};
  return true;
}

bool Lexer::label_follows() const {
  if (is(*at_, kSpace) || *at_ == '/') {
    Lexer ahead = *this;
    ahead.skip_space();
    return *ahead.at_ == ':' && ahead.at_[1] != ':';
  }
  return *at_ == ':' && at_[1] != ':';
}

std::string_view Lexer::between(const Token& first, const Token& end) {
  const char* to = end.text.data();
  while (to > first.text.data() && is(to[-1], kSpace)) --to;
  return {first.text.data(), size_t(to - first.text.data())};
}

bool Lexer::is_plain(const Token& first, const Token& end) {
  return first.line == end.line && between(first, end).find("/*") == std::string_view::npos;
}

std::string Lexer::joined(const std::string& text) {
  std::string line;
  Lexer lexer(text);
  while (lexer.skip_space(), lexer.at_ < lexer.end_) {
    if (!line.empty()) line += ' ';
    const auto comment = [&] { return *lexer.at_ == '/' && (lexer.at_[1] == '/' || lexer.at_[1] == '*'); };
    while (lexer.at_ < lexer.end_ && !is(*lexer.at_, kSpace) && !comment()) line += *lexer.at_++;
  }
  return line;
}

}  // namespace vgpu::ptx
