//! Three operators of oprt, safe to call: slices and shapes go in, a wrong call comes back as an `Error` with the
//! library's own sentence. Everything unsafe is in this file.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::{fmt, ptr};

/// What oprt answered a call with that it did not take.
#[derive(Debug)]
pub struct Error {
    pub status: i32,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Error {}

/// An input: row-major elements and their shape.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    data: &'a [f32],
    shape: &'a [usize],
}

/// An output. Borrowed alone, so it cannot be an input of the same call.
pub struct TensorMut<'a> {
    data: &'a mut [f32],
    shape: &'a [usize],
}

impl<'a> Tensor<'a> {
    /// Panics where `data` is not as long as `shape` says, or the rank is over 8.
    pub fn new(data: &'a [f32], shape: &'a [usize]) -> Self {
        check(data.len(), shape);
        Tensor { data, shape }
    }
}

impl<'a> TensorMut<'a> {
    /// Panics where `data` is not as long as `shape` says, or the rank is over 8.
    pub fn new(data: &'a mut [f32], shape: &'a [usize]) -> Self {
        check(data.len(), shape);
        TensorMut { data, shape }
    }
}

fn check(length: usize, shape: &[usize]) {
    assert!(shape.len() <= MAX_DIMS, "at most {MAX_DIMS} axes, not {}", shape.len());
    assert_eq!(length, shape.iter().product(), "elements for shape {shape:?}");
}

/// out = max(input, 0) + slope * min(input, 0); input broadcasts to out.
pub fn relu(out: TensorMut, input: Tensor, slope: f32) -> Result<(), Error> {
    let (o, i) = (View::of_mut(&out), View::of(&input));
    RELU.run(
        |desc| unsafe { oprt_create_relu_descriptor(desc, &o, &i, slope) },
        |desc, workspace, size| unsafe { oprt_execute_relu(desc, workspace, size, o.data, i.data, ptr::null_mut()) },
    )
}

/// out = a + b; both broadcast to out.
pub fn vector_add(out: TensorMut, a: Tensor, b: Tensor) -> Result<(), Error> {
    let (o, a, b) = (View::of_mut(&out), View::of(&a), View::of(&b));
    VECTOR_ADD.run(
        |desc| unsafe { oprt_create_vector_add_descriptor(desc, &o, &a, &b) },
        |desc, workspace, size| unsafe {
            oprt_execute_vector_add(desc, workspace, size, o.data, a.data, b.data, ptr::null_mut())
        },
    )
}

/// Softmax along an axis, counted from the end where negative.
pub fn softmax(out: TensorMut, input: Tensor, axis: i64) -> Result<(), Error> {
    let (o, i) = (View::of_mut(&out), View::of(&input));
    SOFTMAX.run(
        |desc| unsafe { oprt_create_softmax_descriptor(desc, &o, &i, axis) },
        |desc, workspace, size| unsafe { oprt_execute_softmax(desc, workspace, size, o.data, i.data, ptr::null_mut()) },
    )
}

// --- over the C interface ---------------------------------------------------------------------------------------------

const MAX_DIMS: usize = 8;
const F32: c_int = 1;

/// oprt_tensor_view_t.
#[repr(C)]
struct View {
    data: *mut c_void,
    dtype: c_int,
    ndim: i32,
    shape: [i64; MAX_DIMS],
    strides: [i64; MAX_DIMS],
}

impl View {
    fn new(data: *mut c_void, shape: &[usize]) -> View {
        let mut view = View { data, dtype: F32, ndim: shape.len() as i32, shape: [0; 8], strides: [0; 8] };
        let mut stride = 1;
        for (axis, &length) in shape.iter().enumerate().rev() {
            view.shape[axis] = length as i64;
            view.strides[axis] = stride;
            stride *= length as i64;
        }
        view
    }

    fn of(tensor: &Tensor) -> View {
        View::new(tensor.data.as_ptr() as *mut c_void, tensor.shape) // an input: oprt does not write to it
    }

    fn of_mut(tensor: &TensorMut) -> View {
        View::new(tensor.data.as_ptr() as *mut c_void, tensor.shape)
    }
}

type Desc = *mut c_void;

/// The two functions of an operator that every call needs besides create and execute.
struct Operator {
    workspace_size: unsafe extern "C" fn(Desc, *mut usize) -> c_int,
    destroy: unsafe extern "C" fn(Desc) -> c_int,
}

/// A descriptor, destroyed with its owner.
struct Descriptor<'a> {
    operator: &'a Operator,
    desc: Desc,
}

impl Drop for Descriptor<'_> {
    fn drop(&mut self) {
        unsafe { (self.operator.destroy)(self.desc) };
    }
}

impl Operator {
    fn run(
        &self,
        create: impl FnOnce(*mut Desc) -> c_int,
        execute: impl FnOnce(Desc, *mut c_void, usize) -> c_int,
    ) -> Result<(), Error> {
        let mut desc = ptr::null_mut();
        answer(create(&mut desc))?;
        let made = Descriptor { operator: self, desc };
        let mut size = 0;
        answer(unsafe { (self.workspace_size)(made.desc, &mut size) })?;
        let mut workspace = vec![0u8; size];
        answer(execute(made.desc, workspace.as_mut_ptr() as *mut c_void, size))
    }
}

fn answer(status: c_int) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(oprt_last_error_message()) };
    Err(Error { status, message: message.to_string_lossy().into_owned() })
}

const RELU: Operator =
    Operator { workspace_size: oprt_get_relu_workspace_size, destroy: oprt_destroy_relu_descriptor };
const VECTOR_ADD: Operator =
    Operator { workspace_size: oprt_get_vector_add_workspace_size, destroy: oprt_destroy_vector_add_descriptor };
const SOFTMAX: Operator =
    Operator { workspace_size: oprt_get_softmax_workspace_size, destroy: oprt_destroy_softmax_descriptor };

extern "C" {
    fn oprt_last_error_message() -> *const c_char;

    fn oprt_create_relu_descriptor(desc: *mut Desc, out: *const View, input: *const View, slope: f32) -> c_int;
    fn oprt_get_relu_workspace_size(desc: Desc, size: *mut usize) -> c_int;
    fn oprt_execute_relu(
        desc: Desc, workspace: *mut c_void, size: usize, out: *mut c_void, input: *const c_void, stream: *mut c_void,
    ) -> c_int;
    fn oprt_destroy_relu_descriptor(desc: Desc) -> c_int;

    fn oprt_create_vector_add_descriptor(desc: *mut Desc, out: *const View, a: *const View, b: *const View) -> c_int;
    fn oprt_get_vector_add_workspace_size(desc: Desc, size: *mut usize) -> c_int;
    fn oprt_execute_vector_add(
        desc: Desc, workspace: *mut c_void, size: usize, out: *mut c_void, a: *const c_void, b: *const c_void,
        stream: *mut c_void,
    ) -> c_int;
    fn oprt_destroy_vector_add_descriptor(desc: Desc) -> c_int;

    fn oprt_create_softmax_descriptor(desc: *mut Desc, out: *const View, input: *const View, axis: i64) -> c_int;
    fn oprt_get_softmax_workspace_size(desc: Desc, size: *mut usize) -> c_int;
    fn oprt_execute_softmax(
        desc: Desc, workspace: *mut c_void, size: usize, out: *mut c_void, input: *const c_void, stream: *mut c_void,
    ) -> c_int;
    fn oprt_destroy_softmax_descriptor(desc: Desc) -> c_int;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relu_keeps_the_slope() {
        let mut out = [0.0; 3];
        relu(TensorMut::new(&mut out, &[3]), Tensor::new(&[-2.0, 0.0, 3.0], &[3]), 0.5).unwrap();
        assert_eq!(out, [-1.0, 0.0, 3.0]);
    }

    #[test]
    fn vector_add_broadcasts() {
        let mut out = [0.0; 4];
        let (a, b) = ([1.0, 2.0], [10.0, 20.0]);
        vector_add(TensorMut::new(&mut out, &[2, 2]), Tensor::new(&a, &[2, 1]), Tensor::new(&b, &[2])).unwrap();
        assert_eq!(out, [11.0, 21.0, 12.0, 22.0]);
    }

    #[test]
    fn softmax_of_one_is_one() {
        let mut out = [0.0; 2];
        softmax(TensorMut::new(&mut out, &[2, 1]), Tensor::new(&[5.0, -1000.0], &[2, 1]), -1).unwrap();
        assert_eq!(out, [1.0, 1.0]);
    }

    #[test]
    fn a_wrong_call_is_an_error_with_a_sentence() {
        let mut out = [7.0; 2];
        let error = softmax(TensorMut::new(&mut out, &[2]), Tensor::new(&[0.0; 3], &[3]), 0).unwrap_err();
        assert_eq!(error.status, 1);
        assert_eq!(error.message, "softmax: in: expected shape [2] as out, got shape [3]");
        assert_eq!(out, [7.0, 7.0]);
    }

    #[test]
    #[should_panic(expected = "elements for shape [2, 2]")]
    fn a_short_slice_does_not_reach_the_library() {
        Tensor::new(&[0.0; 3], &[2, 2]);
    }
}
