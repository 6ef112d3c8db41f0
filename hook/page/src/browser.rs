//! Opens the user's browser. Other users of the machine can read the arguments of a program, so it is given the path of
//! a private file that leads on to the address.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use ckpt_process::surroundings;
use ckpt_process::{PrivateFolder, programs};

/// The system's opener.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens an address in the program that `$BROWSER` names, else in the system's. The file is there for as long as the
/// result.
pub fn open(address: &str) -> io::Result<PrivateFolder> {
    let folder = PrivateFolder::new()?;
    let page = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>ckpt-hook</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<a href=\"{address}\">ckpt-hook</a>\n"
    );
    let url = url_of(&folder.write(Path::new("open.html"), page.as_bytes())?);
    let browsers = surroundings::variable("BROWSER").unwrap_or_default();
    let mut browsers = browsers.as_bytes().split(|byte| *byte == b':');
    let mut command = match browsers.find(|browser| !browser.is_empty()) {
        Some(browser) => of_variable(browser, &url),
        None => {
            let mut opener = programs::named(OPENER);
            opener.arg(&url);
            opener
        }
    };
    command
        // Ctrl-C here ends the server, not a browser that it started.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(folder)
}

/// Returns the URL of a file. Nothing in it means anything to a shell or to HTML.
fn url_of(file: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(byte);
    let bytes = file.as_os_str().as_bytes().iter();
    let written = bytes.map(|byte| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file://{}", written.collect::<String>())
}

/// Returns the first command of `$BROWSER`: it has `%s` where the address belongs, or takes it as its last word.
fn of_variable(browser: &[u8], url: &str) -> Command {
    let line = OsStr::from_bytes(browser);
    match String::from_utf8(browser.to_vec()) {
        // It may stand between quotes.
        Ok(text) if text.contains("%s") => {
            let mut command = programs::named("sh");
            command
                .arg("-c")
                .arg(OsString::from(text.replace("%s", url)));
            command
        }
        _ => programs::line(line, [url]),
    }
}
