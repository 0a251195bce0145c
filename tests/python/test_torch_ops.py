"""operator_runtime.torch_ops on the CPU: values, PyTorch's own checks of an operator, compilation in one graph."""

import subprocess
import sys

import operator_runtime as oprt
import pytest

torch = pytest.importorskip("torch")

import operator_runtime.torch_ops as ops  # noqa: E402
from torch_calls import OPERATORS, TorchCall, as_list  # noqa: E402


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "empty"])
@pytest.mark.parametrize("op", OPERATORS)
def test_values(op, layout):
    for index in range(3):
        call = TorchCall(op, index=index, layout=layout)
        allocating, tensors, params = call.torch_op()
        assert not call.complaints(as_list(allocating(*tensors, **params)))
        writing, tensors, params = call.torch_op(in_place=True)
        assert writing(*tensors, **params) is None
        assert not call.complaints(call.outs)


@pytest.mark.parametrize("op", OPERATORS)
def test_pytorchs_own_checks(op):
    call = TorchCall(op, index=1)
    torch.library.opcheck(*call.torch_op())
    torch.library.opcheck(*call.torch_op(in_place=True))


@pytest.mark.parametrize("op", OPERATORS)
def test_fullgraph(op):
    torch.compiler.reset()
    call = TorchCall(op, index=2)
    (allocating, ins, params), (writing, tensors, params_) = call.torch_op(), call.torch_op(in_place=True)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def both(ins, tensors):
        writing(*tensors, **params_)
        return allocating(*ins, **params)

    assert not call.complaints(as_list(both(ins, tensors)))
    assert not call.complaints(call.outs)


def block(x, gamma, w_in, w_out):
    """A feed-forward block with its residual, half of it in place. PyTorch's own would need a C++ compiler."""
    h, residual = ops.add_rmsnorm(x, x, gamma)
    h = ops.silu_and_mul(ops.matmul(h, w_in))
    y = torch.empty_like(x)
    ops.matmul_(y, h, w_out)
    ops.vector_add_(y, y, residual)
    return ops.softmax(y.T, dim=0)


@pytest.mark.parametrize("dynamic", [False, True])
def test_inductor_compiles_a_block(dynamic):
    torch.compiler.reset()
    torch.manual_seed(0)
    weights = torch.rand(24), torch.randn(24, 64), torch.randn(32, 24)
    compiled = torch.compile(block, fullgraph=True, dynamic=dynamic)
    for rows in (5, 5, 9):
        x = torch.randn(rows, 24)
        torch.testing.assert_close(compiled(x, *weights), block(x, *weights), rtol=1e-5, atol=1e-6)


def test_signatures():
    assert str(torch.ops.oprt.softmax.default._schema) == "oprt::softmax(Tensor src, int dim=1) -> Tensor"
    assert (
        str(ops.add_rmsnorm_._schema) == "oprt::add_rmsnorm_(Tensor(out0!) out, Tensor(out1!) residual_out, "
        "Tensor src, Tensor residual, Tensor? gamma=None, int dim=-1, float eps=9.9999999999999995e-07) -> ()"
    )
    assert {*ops.__all__} == {name for op in OPERATORS for name in (op, f"{op}_")}


def test_fake_tensors_have_the_results_layout():
    for make in (lambda: torch.empty(3, 8, device="meta").T, lambda: torch.empty(2, 6, 4, device="meta")[:, ::2]):
        x = make()
        real = oprt.relu(torch.zeros_like(x, device="cpu").as_strided(x.shape, x.stride()) if x.ndim == 2 else
                         torch.zeros(2, 6, 4)[:, ::2])  # fmt: skip
        fake = ops.relu(x, 0.5)
        assert fake.is_meta and fake.shape == real.shape and fake.stride() == real.stride()


@pytest.mark.parametrize("compiled", [False, True])
def test_a_wrong_call_is_refused_by_name(compiled):
    def call(out, x):
        ops.relu_(out, x, 0.0)

    if compiled:
        torch.compiler.reset()
        call = torch.compile(call, fullgraph=True, backend="aot_eager")
    with pytest.raises(oprt.InvalidArgumentError, match=r"relu: in: expected a shape that broadcasts to \[3\]"):
        call(torch.zeros(3), torch.zeros(4))


def test_no_derivative_is_made_up():
    x = torch.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="oprt::silu: an autograd kernel was not registered"):
        ops.silu(x).sum().backward()
    assert x.grad is None


def test_the_package_does_not_import_torch():
    program = "import sys, operator_runtime; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
