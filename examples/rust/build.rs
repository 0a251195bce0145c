//! Finds liboprt with pkg-config (PKG_CONFIG_PATH names an installation that is not the system's).

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let output = Command::new("pkg-config")
        .args(["--variable=libdir", "oprt"])
        .output()
        .expect("pkg-config is needed to find oprt");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = String::from_utf8(output.stdout).unwrap();
    println!("cargo:rustc-link-search=native={}", folder.trim());
    println!("cargo:rustc-link-lib=dylib=oprt");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.trim());
}
