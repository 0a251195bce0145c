"""What `cmake --install` lays down serves the clients it is for: an old program, find_package, pkg-config."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("installed")
SOFTMAX = "0.0321 0.0871 0.2369 0.6439 \n0.2500 0.2500 0.2500 0.2500 \n0.0321 0.0871 0.2369 0.6439 \n"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pkg_config(installed, *flags):
    environment = os.environ | {"PKG_CONFIG_PATH": str(installed / "lib/pkgconfig")}
    return run("pkg-config", *flags, "oprt", env=environment).split()


def test_only_the_c_interface_is_exported(installed):
    lines = run("nm", "--dynamic", "--defined-only", installed / "lib/liboprt.so").splitlines()
    symbols = [line.split()[-1].split("@")[0] for line in lines if line.split()[1] != "A"]  # A: the version node
    assert "oprt_create_relu_descriptor" in symbols
    assert [symbol for symbol in symbols if not symbol.startswith("oprt_")] == []


def test_no_function_of_the_interface_is_unpinned():
    """abi_test.c pins signatures by use; this says that it forgets none of api/."""
    pinned = set(re.findall(r"\boprt_\w+", (ROOT / "tests/c/abi_test.c").read_text()))
    for header in ROOT.glob("oprt/api/*.h"):
        declared = set(re.findall(r"^OPRT_API[^;(]*?\b(oprt_\w+)\(", header.read_text(), flags=re.M))
        assert declared <= pinned, header.name


def test_soname_and_link_names(installed):
    dynamic = run("readelf", "--dynamic", installed / "lib/liboprt.so")
    assert "Library soname: [liboprt.so.1]" in dynamic
    for name in ("liboprt.so", "liboprt.so.1", "libcamp_ops.so"):
        assert (installed / "lib" / name).resolve().name.startswith("liboprt.so.1.")


def test_the_library_needs_no_framework(installed):
    needed = [
        line for line in run("readelf", "--dynamic", installed / "lib/liboprt.so").splitlines() if "NEEDED" in line
    ]
    assert not [line for line in needed if any(word in line for word in ("python", "torch", "cuda", "blas", "dnnl"))]


def test_a_program_of_the_earlier_runtime(installed, tmp_path):
    program = tmp_path / "old_names"
    run("cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", ROOT / "tests/c/old_names.c", "-o", program,
        f"-I{installed}/include", f"-L{installed}/lib", "-lcamp_ops", f"-Wl,-rpath,{installed}/lib")  # fmt: skip
    assert run(program).splitlines() == [
        "backend auto",
        "copy -1.0000 2.0000 -3.0000 4.0000 -5.0000 6.0000",
        "vector_add 9.0000 22.0000 27.0000 44.0000 45.0000 66.0000",
        "relu -0.5000 2.0000 -1.5000 4.0000 -2.5000 6.0000",
        "reduce_sum -2.0000 5.0000",
        "softmax 0.0471 0.9465 0.0064 0.1192 0.0000 0.8808",
        "softmax: axis: expected an axis from -2 to 1, got 7",
    ]


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_find_package(language, installed, tmp_path):
    run("cmake", "-S", ROOT / "examples" / language, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "softmax") == SOFTMAX


@pytest.mark.parametrize(("language", "compiler"), [("c", ["cc", "-std=c99"]), ("cpp", ["c++", "-std=c++20"])])
def test_pkg_config(language, compiler, installed, tmp_path):
    flags = pkg_config(installed, "--cflags", "--libs")
    source = shutil.copy(next((ROOT / "examples" / language).glob("softmax.c*")), tmp_path)
    run(*compiler, source, "-o", tmp_path / "softmax", *flags, f"-Wl,-rpath,{installed}/lib")
    assert run(tmp_path / "softmax") == SOFTMAX


def test_it_can_be_moved(installed, tmp_path):
    moved = shutil.copytree(installed, tmp_path / "moved", symlinks=True)
    for flag in pkg_config(moved, "--cflags", "--libs"):
        assert str(installed) not in flag
        if flag[:2] in ("-I", "-L"):
            assert pathlib.Path(flag[2:]).resolve().is_relative_to(moved)
