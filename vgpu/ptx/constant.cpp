#include "ptx/constant.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

namespace vgpu::ptx {
namespace {

constexpr int kDeepest = 200;  // nested parentheses and signs

using Literal = Operand::Literal;

Constant integer(uint64_t bits, bool is_unsigned = false) { return {Literal::integer, is_unsigned, bits}; }

Constant number(const Token& token) {
  const std::string_view text = token.text;
  const auto bad = [&] { fail(token.line, in_quotes(text) + " is not a number"); };
  const auto digits = [&](std::string_view part, int base) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, base);
    if (error == std::errc::result_out_of_range) fail(token.line, in_quotes(text) + " does not fit into 64 bits");
    if (part.empty() || error != std::errc() || end != part.data() + part.size()) bad();
    return value;
  };
  const char second = text.size() > 1 && text[0] == '0' ? char(text[1] | 0x20) : ' ';
  if (second == 'f' || second == 'd') {
    const bool single = second == 'f';
    if (text.size() != (single ? 10u : 18u)) bad();
    return {single ? Literal::f32 : Literal::f64, false, digits(text.substr(2), 16)};
  }
  const bool hex = second == 'x';
  if (!hex && text.find_first_of(".eE") != text.npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) bad();
    return {Literal::f64, false, std::bit_cast<uint64_t>(value)};
  }
  const bool marked = text.back() == 'U';
  const std::string_view body = text.substr(0, text.size() - marked);
  uint64_t value = 0;
  if (hex || second == 'b') {
    value = digits(body.substr(2), hex ? 16 : 2);
  } else {
    value = digits(body, body.size() > 1 && body[0] == '0' ? 8 : 10);
  }
  return integer(value, marked || value >> 63);
}

class Expression {
 public:
  explicit Expression(Tokens& tokens) : tokens_(tokens) {}

  Constant choice() {
    const Deeper deeper(*this);
    const Constant condition = binary(0);
    if (!tokens_.now.is('?')) return condition;
    const int line = tokens_.take().line;
    const Constant yes = choice();
    tokens_.expect(':');
    const Constant no = choice();
    return truth(condition, line) ? yes : no;
  }

 private:
  // Text nested without end must not use up the stack.
  struct Deeper {
    explicit Deeper(Expression& e) : e(e) {
      if (++e.depth_ > kDeepest) fail(e.tokens_.now.line, "an expression is nested too deeply");
    }
    ~Deeper() { --e.depth_; }
    Expression& e;
  };

  static int precedence(const Token& token) {
    switch (token.mark) {
      case '|': return 3;
      case '^': return 4;
      case '&': return 5;
      case '<':
      case '>': return 7;
      case '+':
      case '-': return 9;
      case '*':
      case '/':
      case '%': return 10;
      case 0: break;
      default: return 0;
    }
    const std::string_view text = token.text;
    if (text == "||") return 1;
    if (text == "&&") return 2;
    if (text == "==" || text == "!=") return 6;
    return text == "<=" || text == ">=" ? 7 : 8;
  }

  Constant binary(int above) {
    Constant left = unary();
    while (tokens_.now.kind == Token::Kind::mark) {
      const int level = precedence(tokens_.now);
      if (level <= above) break;
      const Token operation = tokens_.take();
      const Constant right = binary(level);
      left = apply(operation, left, right);
    }
    return left;
  }

  Constant unary() {
    const Deeper deeper(*this);
    const Token token = tokens_.now;
    if (token.kind == Token::Kind::number) return number(tokens_.take());
    if (token.is("WARP_SZ")) {
      tokens_.take();
      return integer(32);
    }
    if (tokens_.accept('(')) {
      const bool to_signed = tokens_.accept(".s64"), to_unsigned = !to_signed && tokens_.accept(".u64");
      Constant inner;
      if (to_signed || to_unsigned) {
        tokens_.expect(')');
        inner = unary();
        need_integer(inner, token.line);
        inner.is_unsigned = to_unsigned;
      } else {
        inner = choice();
        tokens_.expect(')');
      }
      return inner;
    }
    if (tokens_.accept('+')) return unary();
    if (tokens_.accept('-')) {
      Constant value = unary();
      if (value.literal == Literal::f64) return {Literal::f64, false, value.bits ^ uint64_t{1} << 63};
      if (value.literal == Literal::f32) return {Literal::f32, false, value.bits ^ uint64_t{1} << 31};
      return integer(-value.bits, value.is_unsigned);
    }
    if (tokens_.accept('~')) {
      const Constant value = unary();
      need_integer(value, token.line);
      return integer(~value.bits, value.is_unsigned);
    }
    if (tokens_.accept('!')) return integer(!truth(unary(), token.line));
    tokens_.unexpected("a number");
  }

  static void need_integer(const Constant& value, int line) {
    if (!value.is_integer()) fail(line, "an operator for integers is applied to a floating-point number");
  }
  static bool truth(const Constant& value, int line) {
    need_integer(value, line);
    return value.bits != 0;
  }

  static Constant apply(const Token& operation, const Constant& left, const Constant& right) {
    if (left.literal == Literal::f64 && right.literal == Literal::f64) return apply_f64(operation, left, right);
    need_integer(left, operation.line);
    need_integer(right, operation.line);
    const uint64_t a = left.bits, b = right.bits;
    const bool u = left.is_unsigned || right.is_unsigned;
    const auto less = [u](uint64_t x, uint64_t y) { return u ? x < y : int64_t(x) < int64_t(y); };
    const std::string_view op = operation.text;
    if (op == "+") return integer(a + b, u);
    if (op == "-") return integer(a - b, u);
    if (op == "*") return integer(a * b, u);
    if (op == "&") return integer(a & b, u);
    if (op == "|") return integer(a | b, u);
    if (op == "^") return integer(a ^ b, u);
    if (op == "==") return integer(a == b);
    if (op == "!=") return integer(a != b);
    if (op == "<") return integer(less(a, b));
    if (op == ">") return integer(less(b, a));
    if (op == "<=") return integer(!less(b, a));
    if (op == ">=") return integer(!less(a, b));
    if (op == "&&") return integer(a && b);
    if (op == "||") return integer(a || b);
    if (op == "<<") return integer(b > 63 ? 0 : a << b, left.is_unsigned);
    if (op == ">>") {
      const uint64_t by = b > 63 ? 63 : b;
      if (!left.is_unsigned) return integer(uint64_t(int64_t(a) >> by));
      return integer(b > 63 ? 0 : a >> by, true);
    }
    if (b == 0) fail(operation.line, "a constant is divided by zero");
    if (u) return integer(op == "/" ? a / b : a % b, true);
    if (b == ~uint64_t{0}) return integer(op == "/" ? -a : 0);  // the most negative number by -1 overflows
    return integer(uint64_t(op == "/" ? int64_t(a) / int64_t(b) : int64_t(a) % int64_t(b)));
  }

  static Constant apply_f64(const Token& operation, const Constant& left, const Constant& right) {
    const double a = std::bit_cast<double>(left.bits), b = std::bit_cast<double>(right.bits);
    const auto real = [](double value) { return Constant{Literal::f64, false, std::bit_cast<uint64_t>(value)}; };
    const std::string_view op = operation.text;
    if (op == "+") return real(a + b);
    if (op == "-") return real(a - b);
    if (op == "*") return real(a * b);
    if (op == "/") return real(a / b);
    if (op == "==") return integer(a == b);
    if (op == "!=") return integer(a != b);
    if (op == "<") return integer(a < b);
    if (op == ">") return integer(a > b);
    if (op == "<=") return integer(a <= b);
    if (op == ">=") return integer(a >= b);
    fail(operation.line, "an operator for integers is applied to a floating-point number");
  }

  Tokens& tokens_;
  int depth_ = 0;
};

}  // namespace

Constant constant_expression(Tokens& tokens) { return Expression(tokens).choice(); }

int64_t integer_expression(Tokens& tokens) {
  const int line = tokens.now.line;
  const Constant value = constant_expression(tokens);
  if (!value.is_integer()) fail(line, "a floating-point number stands where an integer should be");
  return int64_t(value.bits);
}

uint64_t bits_as(Type type, const Constant& constant, int line) {
  const bool to_float = type == Type::f32 || type == Type::f64;
  if (constant.is_integer()) {
    if (!to_float) return constant.bits;
    const double value = constant.is_unsigned ? double(constant.bits) : double(int64_t(constant.bits));
    return type == Type::f64 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(float(value));
  }
  const bool single = constant.literal == Literal::f32;
  if (type == Type::b32 && single) return constant.bits;
  if (type == Type::b64 && !single) return constant.bits;
  if (!to_float) fail(line, "a floating-point number initialises a variable of another type");
  if (type == Type::f64) {
    return single ? std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(constant.bits)))) : constant.bits;
  }
  return single ? constant.bits : std::bit_cast<uint32_t>(float(std::bit_cast<double>(constant.bits)));
}

}  // namespace vgpu::ptx
