//! Softmax of a matrix, row by row, in Rust.
//!
//!     cargo run

use oprt_example::{softmax, Tensor, TensorMut};

fn main() -> Result<(), oprt_example::Error> {
    let shape = [3, 4];
    let input = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 1000.0, 1001.0, 1002.0, 1003.0];
    let mut out = [0.0; 12];
    softmax(TensorMut::new(&mut out, &shape), Tensor::new(&input, &shape), -1)?;
    for row in out.chunks(shape[1]) {
        for value in row {
            print!("{value:.4} ");
        }
        println!();
    }
    Ok(())
}
