// PTX text as tokens, made on demand; every token is a view of the text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace vgpu::ptx {

// Thrown inside the parser, caught in parse(): one sentence, without its line.
struct SyntaxError {
  int line;
  std::string what;
};

struct Token {
  enum class Kind : unsigned char {
    end,
    name,       // kernel, %r1, $L__BB0_1, _
    directive,  // .global, .shared::cta; with its dot
    number,     // 12, 0x1F, 0f3F800000, 1.5e-3
    string,     // "with its quotes"
    mark  // one of ( ) [ ] { } < > , ; : = + - * / % & | ^ ~ ! ? @, or two of the operators << >> <= >= == != && ||
  } kind = Kind::end;
  char mark = 0;  // of a mark of one character: that
  int line = 1;
  std::string_view text;
  bool is(char m) const { return mark == m; }
  bool is(std::string_view t) const { return text == t; }
};

[[noreturn]] inline void fail(int line, std::string what) { throw SyntaxError{line, std::move(what)}; }

class Lexer {
 public:
  // The text must outlive the tokens. (A std::string, for the zero byte behind it.)
  explicit Lexer(const std::string& text) : at_(text.c_str()), end_(at_ + text.size()) {}
  Token next();
  // Widens `token`, the last one made, to a mnemonic: "ld.shared::cluster.v4.f32".
  void widen_to_mnemonic(Token& token);
  // Widens `token` by a part that follows without a space, "%tid" to "%tid.x"; false if there is none.
  bool widen_by_part(Token& token);
  // Is the next character but white space a colon (of a label; "::" belongs to a mnemonic)?
  bool label_follows() const;
  // The text from the beginning of one token to the space before another.
  static std::string_view between(const Token& first, const Token& end);
  static bool is_plain(const Token& first, const Token& end);  // that text is on one line and holds no comment
  static std::string joined(const std::string& text);          // comments removed, white space made single spaces

 private:
  void skip_space();
  static const char* past_words(const char* p, unsigned char classes);
  std::string_view rest_of_text() const { return {at_, size_t(end_ - at_)}; }
  const char *at_, *end_;
  int line_ = 1;
};

// `text`, cut where it is long: for messages.
inline std::string in_quotes(std::string_view text) {
  const bool whole = text.size() <= 60;
  std::string quoted = "`";
  return quoted.append(text.substr(0, whole ? 60 : 57)).append(whole ? "`" : "...`");
}

// The lexer with the token that comes next.
class Tokens {
 public:
  explicit Tokens(const std::string& text) : lexer(text), now(lexer.next()) {}
  Lexer lexer;
  Token now;

  Token take() {
    Token token = now;
    now = lexer.next();
    return token;
  }
  template <class Wanted>  // a character or a text, as Token::is takes them
  bool accept(const Wanted& wanted) {
    if (!now.is(wanted)) return false;
    now = lexer.next();
    return true;
  }
  void expect(char mark) {
    if (!accept(mark)) unexpected(in_quotes({&mark, 1}));
  }
  void expect(std::string_view text) {
    if (!accept(text)) unexpected(in_quotes(text));
  }
  Token expect(Token::Kind kind, const char* what) {
    if (now.kind != kind) unexpected(what);
    return take();
  }
  [[noreturn]] void unexpected(const std::string& wanted) const {
    const std::string found = now.kind == Token::Kind::end ? "the text ends" : in_quotes(now.text) + " stands";
    fail(now.line, found + " where " + wanted + " should be");
  }
};

}  // namespace vgpu::ptx
