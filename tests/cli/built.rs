//! What the binary is made of.

use std::process::Command;

use testing::binary::binary;

/// The c code is inside and not taken from the system.
#[test]
#[cfg(target_os = "linux")]
fn c_code_is_inside() {
    let output = Command::new("ldd")
        .arg(binary())
        .output()
        .expect("`ldd` is there where a linker is");
    let needed = String::from_utf8_lossy(&output.stdout);
    for library in ["libz.", "libgit2", "libsqlite3", "libdeflate"] {
        assert!(
            !needed.contains(library),
            "`{library}` would be whatever stands on the machine, or missing:\n{needed}"
        );
    }
}
