"""Measuring: how long a call takes, next to a plain copy of as many bytes and to other libraries, in the same run."""
