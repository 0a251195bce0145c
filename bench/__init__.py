"""oprt next to other libraries: `python -m bench.gpu`, the comparison on an NVIDIA GPU."""
