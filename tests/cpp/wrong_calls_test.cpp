// Wrong calls of every operator through the C API. Each must give the right status and a message that holds operator,
// argument, expected and got, leave *desc null and every byte of memory as it was. The calls are made from what the
// headers say (operators.h), so a new operator gets its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <set>

#include "operators.h"

namespace oprt_test {
namespace {

struct Wrong {
  const Functions* op;
  std::string name;
  oprt_status_t status;
  std::set<std::string> blamed;  // the argument that the message names is one of these

  std::function<void(Call&)> spoil;                                      // what is wrong with a valid call
  std::function<oprt_status_t(Call&, oprt_operator_descriptor_t)> make;  // after a good create; null: create is wrong
};

void nothing(Call&) {}
oprt_status_t execute(Call& call, oprt_operator_descriptor_t desc) { return call.execute(desc); }

class List {
 public:
  explicit List(const Functions& op) : op_(op), example_(example(op)) {
    everything_.insert(op.views.begin(), op.views.end());
    views();
    aliasing();
    scalars();
    calls();
  }
  std::vector<Wrong> take() { return std::move(list_); }

 private:
  bool is(std::initializer_list<const char*> names) const {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return std::strcmp(op_.name, name) == 0; });
  }

  void create(const std::string& name, oprt_status_t status, std::set<std::string> blamed,
              std::function<void(Call&)> spoil) {
    list_.push_back({&op_, name, status, std::move(blamed), std::move(spoil), nullptr});
  }

  void execute_with(const std::string& name, std::set<std::string> blamed, std::function<void(Call&)> spoil) {
    list_.push_back({&op_, name + " at execute", OPRT_ERR_INVALID_ARG, std::move(blamed), std::move(spoil), execute});
  }

  void call(const std::string& name, oprt_status_t status, std::set<std::string> blamed,
            std::function<oprt_status_t(Call&, oprt_operator_descriptor_t)> make) {
    list_.push_back({&op_, name, status, std::move(blamed), nothing, std::move(make)});
  }

  // A change of one view that is wrong by itself, or (`everything_`) no longer fits the others.
  void view(size_t i, const std::string& what, oprt_status_t status, std::set<std::string> blamed,
            std::function<void(oprt_tensor_view_t&)> change) {
    create(std::string(op_.views[i]) + " " + what, status, std::move(blamed), [=](Call& c) { change(c.views[i]); });
  }

  void views() {
    const std::set<std::string> all = everything_;
    for (size_t i = 0; i < op_.views.size(); ++i) {
      const std::set<std::string> own = {op_.views[i]};
      const Operand& operand = example_.operands[i];
      const int rank = static_cast<int>(operand.shape.size());
      if (!operand.optional)
        create(std::string(op_.views[i]) + " null", OPRT_ERR_INVALID_ARG, own,
               [i](Call& c) { c.pointers[i] = nullptr; });
      for (int ndim : {-1, 9, INT_MAX, INT_MIN})
        view(i, "of rank " + std::to_string(ndim), OPRT_ERR_INVALID_ARG, own, [=](auto& v) { v.ndim = ndim; });
      for (int dtype : {-1, 5, 99})
        view(i, "of dtype " + std::to_string(dtype), OPRT_ERR_UNSUPPORTED_DTYPE, own,
             [=](auto& v) { std::memcpy(&v.dtype, &dtype, sizeof(dtype)); });
      for (int64_t length : {int64_t{-1}, INT64_MIN}) {
        view(i, "with first length " + std::to_string(length), OPRT_ERR_INVALID_ARG, own,
             [=](auto& v) { v.shape[0] = length; });
        view(i, "with last length " + std::to_string(length), OPRT_ERR_INVALID_ARG, own,
             [=](auto& v) { v.shape[rank - 1] = length; });
      }
      for (int64_t length : {INT64_MAX, int64_t{1} << 62})
        view(i, "of " + std::to_string(length) + " elements", OPRT_ERR_INVALID_ARG, own,
             [=](auto& v) { v.ndim = 1, v.shape[0] = length; });
      view(i, "whose count wraps to 0", OPRT_ERR_INVALID_ARG, own,
           [](auto& v) { v.ndim = 2, v.shape[0] = v.shape[1] = int64_t{1} << 32; });
      view(i, "whose count wraps eight times", OPRT_ERR_INVALID_ARG, own, [](auto& v) {
        v.ndim = 8;
        std::fill(v.shape, v.shape + 8, int64_t{1} << 31);
      });
      for (int64_t stride : {INT64_MAX, INT64_MIN, int64_t{1} << 62})
        view(i, "with stride " + std::to_string(stride), OPRT_ERR_INVALID_ARG, own,
             [=](auto& v) { v.strides[0] = stride; });
      view(i, "whose strides reach 2^63 both ways", OPRT_ERR_INVALID_ARG, own, [](auto& v) {
        const int64_t far = INT64_MAX / (v.dtype == OPRT_DTYPE_I64 ? 8 : 4) - 8;
        v.ndim = 2, v.shape[0] = v.shape[1] = 2;
        v.strides[0] = far, v.strides[1] = -far;
      });
      view(i, "without data", OPRT_ERR_INVALID_ARG, own, [](auto& v) { v.data = nullptr; });
      view(i, "misaligned", OPRT_ERR_INVALID_ARG, own, [](auto& v) { v.data = static_cast<char*>(v.data) + 1; });

      for (int dtype = OPRT_DTYPE_F16; dtype <= OPRT_DTYPE_I64; ++dtype) {
        const bool index = operand.dtype == OPRT_DTYPE_I64;
        if (dtype == operand.dtype || (index && dtype == OPRT_DTYPE_I32)) continue;
        if (is({"cast"}) && dtype <= OPRT_DTYPE_BF16) continue;  // what cast is for
        view(i, std::string("of ") + oprt_dtype_string(static_cast<oprt_dtype_t>(dtype)) + " among others",
             OPRT_ERR_UNSUPPORTED_DTYPE, all, [=](auto& v) { v.dtype = static_cast<oprt_dtype_t>(dtype); });
      }
      for (int axis = 0; axis < rank; ++axis) {
        if (is({"embedding"}) && i == 1 && axis == 0) continue;   // a longer table fits
        if (is({"reduce_sum"}) && i == 1 && axis == 1) continue;  // so does a longer sum
        view(i, "longer on axis " + std::to_string(axis), OPRT_ERR_INVALID_ARG, all, [=](auto& v) { ++v.shape[axis]; });
      }
      if (is({"matmul"}) && rank == 2) view(i, "of rank 1", OPRT_ERR_INVALID_ARG, own, [](auto& v) { v.ndim = 1; });
      if (is({"embedding"}) && rank == 1)  // out would have rank 9
        view(i, "of rank 8", OPRT_ERR_INVALID_ARG, own, [](auto& v) {
          v.ndim = 8;
          std::fill(v.shape, v.shape + 8, 1);
        });
      const bool broadcasts = !is({"silu_and_mul", "gelu_and_mul", "reduce_sum", "softmax", "layernorm", "rmsnorm",
                                   "add_rmsnorm", "embedding", "rope"});
      if (static_cast<int>(i) >= op_.outputs || !broadcasts)
        view(i, "of two ranks more", OPRT_ERR_INVALID_ARG, all, [](auto& v) {
          std::copy_backward(v.shape, v.shape + v.ndim, v.shape + v.ndim + 2);
          std::copy_backward(v.strides, v.strides + v.ndim, v.strides + v.ndim + 2);
          v.shape[0] = v.shape[1] = 2, v.strides[0] = v.strides[1] = 0;
          v.ndim += 2;
        });
    }
  }

  void aliasing() {
    for (int o = 0; o < op_.outputs; ++o) {
      const std::string name = op_.views[o];
      view(o, "with stride 0", OPRT_ERR_INVALID_ARG, {name}, [](auto& v) { v.strides[0] = 0; });
      if (example_.operands[o].shape.size() > 1)
        view(o, "with rows that overlap", OPRT_ERR_INVALID_ARG, {name}, [](auto& v) { v.strides[0] = 1; });
      for (size_t i = 0; i < op_.views.size(); ++i) {
        if (static_cast<int>(i) == o) continue;
        const std::string other = op_.views[i];
        create(name + " partly over " + other, OPRT_ERR_INVALID_ARG, {name, other},
               [=](Call& c) { c.views[o].data = static_cast<char*>(c.views[i].data) + 8; });
        execute_with(name + " partly over " + other, {name, other},
                     [=](Call& c) { c.data[o] = static_cast<char*>(c.data[i]) + 8; });
        if (static_cast<int>(i) < op_.outputs)
          create(name + " exactly " + other, OPRT_ERR_INVALID_ARG, {name, other},
                 [=](Call& c) { c.views[o].data = c.views[i].data; });
      }
    }
  }

  void scalars() {
    for (size_t s = 0; s < op_.scalars.size(); ++s) {
      const std::string name = op_.scalars[s].name;
      std::vector<int64_t> wrong;
      if (name == "axis")
        wrong = {2, 3, -3, INT64_MAX, INT64_MIN};
      else if (op_.scalars[s].kind == ScalarKind::i64 && name != "allow_tf32")
        wrong = {-1, 7, 99};  // an enum
      for (int64_t value : wrong)
        create(name + " " + std::to_string(value), OPRT_ERR_INVALID_ARG, {name},
               [=](Call& c) { c.scalars[s].i64 = value; });
      if (name == "eps")
        for (double value : {-1e-5, -HUGE_VAL, std::nan("")})
          create(name + " " + std::to_string(value), OPRT_ERR_INVALID_ARG, {name},
                 [=](Call& c) { c.scalars[s].f64 = value; });
    }
    create("backend that is not built in", OPRT_ERR_NOT_SUPPORTED, {"backend"},
           [](Call&) { oprt_exchange_thread_backend(OPRT_BACKEND_METAX); });
  }

  void calls() {
    const Functions& op = op_;
    using D = oprt_operator_descriptor_t;
    call("create without desc", OPRT_ERR_INVALID_ARG, {"desc"}, [](Call& c, D) { return c.create(nullptr); });
    call("execute without desc", OPRT_ERR_INVALID_ARG, {"desc"}, [](Call& c, D) { return c.execute(nullptr); });
    call("workspace size without desc", OPRT_ERR_INVALID_ARG, {"desc"},
         [&op](Call& c, D) { return op.workspace_size(nullptr, &c.workspace_size); });
    call("workspace size to nowhere", OPRT_ERR_INVALID_ARG, {"size"},
         [&op](Call&, D desc) { return op.workspace_size(desc, nullptr); });

    // Another operator's functions, given this one's descriptor.
    const Functions& other = &op == &operators().front() ? operators().back() : operators().front();
    if (&other != &op) {
      const auto of_other = [&](const char* what, auto function) {
        list_.push_back({&other,
                         std::string(what) + " with a descriptor of " + op.name,
                         OPRT_ERR_INVALID_ARG,
                         {"desc"},
                         nothing,
                         [=, &op](Call&, D) {
                           Call own(op, example(op));
                           D desc = nullptr;
                           if (own.create(&desc) != OPRT_SUCCESS) return OPRT_SUCCESS;
                           const oprt_status_t status = function(own, desc);
                           op.destroy(desc);
                           return status;
                         }});
      };
      of_other("execute", [&other](Call& c, D desc) {
        void* data[8] = {};
        std::copy(c.data.begin(), c.data.end(), data);
        return other.execute(desc, nullptr, 0, data, nullptr);
      });
      of_other("workspace size", [&other](Call& c, D desc) { return other.workspace_size(desc, &c.workspace_size); });
      of_other("destroy", [&other](Call&, D desc) { return other.destroy(desc); });
    }

    for (size_t i = 0; i < op.views.size(); ++i) {
      const std::string name = op.views[i];
      execute_with(name + " null", {name}, [i](Call& c) { c.data[i] = nullptr; });
      execute_with(name + " misaligned", {name}, [i](Call& c) { c.data[i] = static_cast<char*>(c.data[i]) + 1; });
      if (example_.operands[i].optional)
        call(name + " at execute, absent at create", OPRT_ERR_INVALID_ARG, {name}, [i, &op](Call& c, D) {
          D without = nullptr;
          c.pointers[i] = nullptr;
          if (c.create(&without) != OPRT_SUCCESS) return OPRT_SUCCESS;
          c.take_workspace(without);
          const oprt_status_t status = c.execute(without);
          op.destroy(without);
          return status;
        });
      if (example_.operands[i].dtype == OPRT_DTYPE_I64)
        for (int64_t id : {int64_t{-1}, int64_t{16}, (int64_t{1} << 32) + 3, INT64_MIN, INT64_MAX})
          execute_with(name + " with " + std::to_string(id), {name},
                       [=](Call& c) { static_cast<int64_t*>(c.data[i])[2] = id; });
    }
    if (!needs_workspace()) return;
    call("workspace too small", OPRT_ERR_INSUFFICIENT_WORKSPACE, {"workspace_size"}, [](Call& c, D desc) {
      --c.workspace_size;
      return c.execute(desc);
    });
    call("workspace null", OPRT_ERR_INVALID_ARG, {"workspace"}, [](Call& c, D desc) {
      c.workspace = nullptr;
      return c.execute(desc);
    });
  }

  bool needs_workspace() const {
    Call right(op_, example_);
    oprt_operator_descriptor_t desc = nullptr;
    if (right.create(&desc) != OPRT_SUCCESS) return false;
    right.take_workspace(desc);
    op_.destroy(desc);
    return right.workspace_size > 0;
  }

  const Functions& op_;
  const Example example_;
  std::set<std::string> everything_;
  std::vector<Wrong> list_;
};

class WrongCall : public testing::Test {
 public:
  explicit WrongCall(const Wrong& wrong) : wrong_(wrong) {}

  void TestBody() override {
    const Functions& op = *wrong_.op;
    oprt_set_backend(static_cast<oprt_backend_t>(99));  // so that the message below is surely this call's
    Call call(op, example(op));
    wrong_.spoil(call);
    const std::string before = call.memory();
    oprt_operator_descriptor_t desc = reinterpret_cast<oprt_operator_descriptor_t>(&call);  // anything but null
    oprt_status_t status = call.create(&desc);
    if (wrong_.make) {
      ASSERT_EQ(status, OPRT_SUCCESS) << oprt_last_error_message();
      call.take_workspace(desc);
      status = wrong_.make(call, desc);
      op.destroy(desc);
    } else {
      EXPECT_EQ(desc, nullptr);
      if (status == OPRT_SUCCESS) op.destroy(desc);
    }
    oprt_exchange_thread_backend(OPRT_BACKEND_UNSET);

    const std::string message = oprt_last_error_message();
    EXPECT_EQ(status, wrong_.status) << oprt_status_string(status) << ": " << message;
    const bool blames = std::any_of(wrong_.blamed.begin(), wrong_.blamed.end(), [&](const std::string& argument) {
      return message.rfind(std::string(op.name) + ": " + argument + ": expected ", 0) == 0;
    });
    EXPECT_TRUE(blames && message.find(", got ") != std::string::npos) << "the message: " << message;
    EXPECT_TRUE(call.memory() == before) << "memory was written";
  }

 private:
  const Wrong wrong_;
};

class RightCall : public testing::Test {
 public:
  explicit RightCall(const Functions& op) : op_(op) {}

  void TestBody() override {
    Call call(op_, example(op_));
    oprt_operator_descriptor_t desc = nullptr;
    ASSERT_EQ(call.create(&desc), OPRT_SUCCESS) << oprt_last_error_message();
    call.take_workspace(desc);
    const std::string unwritten = call.output(0);
    EXPECT_EQ(call.execute(desc), OPRT_SUCCESS) << oprt_last_error_message();
    EXPECT_NE(call.output(0), unwritten);
    EXPECT_EQ(op_.destroy(desc), OPRT_SUCCESS);
  }

 private:
  const Functions& op_;
};

bool takes_example(const Functions& op) {
  Call call(op, example(op));
  oprt_operator_descriptor_t desc = nullptr;
  if (call.create(&desc) != OPRT_SUCCESS) return false;
  op.destroy(desc);
  return true;
}

// Test names as GoogleTest filters take them.
std::string identifier(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

// Registered when the program runs, since the lists ask the operators themselves. Returns how many.
int register_all() {
  int wrong_calls = 0;
  for (const Functions& op : operators()) {
    if (example(op).guessed && !takes_example(op)) {
      std::printf("%s: no example of it in operators.h, so no wrong calls are made\n", op.name);
      continue;
    }
    testing::RegisterTest("RightCall", op.name, nullptr, nullptr, __FILE__, __LINE__,
                          [&op]() -> testing::Test* { return new RightCall(op); });
    for (const Wrong& wrong : List(op).take()) {
      ++wrong_calls;
      testing::RegisterTest("WrongCall", (wrong.op->name + ("." + identifier(wrong.name))).c_str(), nullptr, nullptr,
                            __FILE__, __LINE__, [wrong]() -> testing::Test* { return new WrongCall(wrong); });
    }
  }
  return wrong_calls;
}

}  // namespace
}  // namespace oprt_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int wrong_calls = oprt_test::register_all();
  std::printf("%d wrong calls of %zu operators\n", wrong_calls, oprt_test::operators().size());
  return RUN_ALL_TESTS() || wrong_calls < 500;
}
