#include "ptx/lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace vgpu::ptx {
namespace {

enum : uint8_t { kSpace = 1, kNameFirst = 2, kNameRest = 4, kDigit = 8, kMark = 16, kDoubles = 32 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\f', '\v'}) classes[uint8_t(c)] = kSpace;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kNameFirst | kNameRest;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kNameRest | kDigit;
  classes['_'] = classes['$'] = kNameFirst | kNameRest;
  for (const char c : std::string_view("()[]{},;:+-*/%^~?@")) classes[uint8_t(c)] = kMark;
  for (const char c : std::string_view("<>=!&|")) classes[uint8_t(c)] = kMark | kDoubles;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t classes) { return kClasses[uint8_t(c)] & classes; }

}  // namespace

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is(c, kSpace)) {
      line_ += c == '\n';
      ++at_;
    } else if (c == '/' && text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && text_.substr(at_, 2) == "/*") {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) throw SyntaxError{line_, "a comment is never closed"};
      for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.line = line_;
  const size_t first = at_;
  token.text = text_.substr(first, 0);
  if (at_ == text_.size()) return token;
  const auto more = [&](uint8_t classes) { return at_ < text_.size() && is(text_[at_], classes); };
  const char c = text_[at_++];
  if (is(c, kNameFirst) || (c == '%' && more(kNameFirst))) {
    token.kind = Token::Kind::name;
    while (more(kNameRest)) ++at_;
  } else if (is(c, kDigit) || (c == '.' && more(kDigit))) {
    token.kind = Token::Kind::number;
    // A sign belongs to a decimal number where it follows the exponent's letter; 0x1e+4 is a sum.
    const bool decimal = c != '0' || text_.substr(at_, 1).find_first_of("xXfFdDbB") != 0;
    while (more(kNameRest) || (decimal && at_ < text_.size() && text_[at_] == '.') ||
           (decimal && at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-') &&
            (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))) {
      ++at_;
    }
  } else if (c == '.') {
    token.kind = Token::Kind::directive;
    while (more(kNameRest) || (text_.substr(at_, 2) == "::" && at_ + 2 < text_.size() && is(text_[at_ + 2], kNameRest)))
      at_ += text_[at_] == ':' ? 2 : 1;
    if (at_ == first + 1) throw SyntaxError{line_, "a dot stands alone"};
  } else if (c == '"') {
    token.kind = Token::Kind::string;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != '"') throw SyntaxError{line_, "a string is never closed"};
    ++at_;
  } else if (is(c, kMark)) {
    token.kind = Token::Kind::mark;
    token.mark = c;
    if (is(c, kDoubles)) {
      for (const std::string_view operation : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}) {
        if (text_.substr(first, 2) != operation) continue;
        at_ = first + 2;
        token.mark = 0;
      }
    }
  } else {
    char what[64];
    snprintf(what, sizeof what,
             c > ' ' && c < 127 ? "the character `%c` has no meaning in PTX" : "the byte 0x%02X has no meaning in PTX",
             uint8_t(c));
    throw SyntaxError{line_, what};
  }
  token.text = text_.substr(first, at_ - first);
  return token;
}

void Lexer::widen_to_mnemonic(Token& token) {
  const size_t first = token.text.data() - text_.data();
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is(c, kNameRest) || c == '.') {
      ++at_;
    } else if (c == ':' && text_.substr(at_, 2) == "::" && at_ + 2 < text_.size() && is(text_[at_ + 2], kNameRest)) {
      at_ += 2;
    } else {
      break;
    }
  }
  token.text = text_.substr(first, at_ - first);
}

bool Lexer::widen_by_part(Token& token) {
  if (at_ + 1 >= text_.size() || text_[at_] != '.' || !is(text_[at_ + 1], kNameFirst)) return false;
  const size_t first = token.text.data() - text_.data();
  for (++at_; at_ < text_.size() && is(text_[at_], kNameRest);) ++at_;
  token.text = text_.substr(first, at_ - first);
  return true;
}

bool Lexer::label_follows() const {
  Lexer ahead = *this;
  ahead.skip_space();
  const std::string_view rest = text_.substr(ahead.at_, 2);
  return rest.starts_with(':') && rest != "::";
}

std::string_view Lexer::between(const Token& first, const Token& end) const {
  const size_t from = first.text.data() - text_.data();
  size_t to = end.text.data() - text_.data();
  while (to > from && is(text_[to - 1], kSpace)) --to;
  return text_.substr(from, to - from);
}

bool Lexer::is_plain(const Token& first, const Token& end) const {
  return first.line == end.line && between(first, end).find("/*") == std::string_view::npos;
}

std::string Lexer::joined(std::string_view text) {
  std::string line;
  Lexer lexer(text);
  while (lexer.skip_space(), lexer.at_ < text.size()) {
    if (!line.empty()) line += ' ';
    while (lexer.at_ < text.size() && !is(text[lexer.at_], kSpace) && text.substr(lexer.at_, 2) != "//" &&
           text.substr(lexer.at_, 2) != "/*")
      line += text[lexer.at_++];
  }
  return line;
}

}  // namespace vgpu::ptx
