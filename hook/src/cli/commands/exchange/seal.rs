//! Bundles encrypted with age: only who has one of the keys can read them.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use age::secrecy::SecretString;
use ckpt_output::text::safe;
use ckpt_process::failure::Failure;
use ckpt_store::error::Context;
use ckpt_store::exchange::Bundle;
use ckpt_store::{Error, Result as Outcome};
use console::Term;

/// Returns the public keys that are given as text or in files, one a line; `None` if none are.
pub fn keys(given: &[String]) -> Result<Option<String>, Failure> {
    let mut keys = Vec::new();
    for given in given {
        let text = match recipient(given).is_some() || is_private(given) {
            true => given.clone(),
            false => std::fs::read_to_string(given)
                .context(|| format!("`{}` is neither a public key nor a file", safe(given)))?,
        };
        if is_private(&text) {
            return Err(private_key());
        }
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let before = keys.len();
        for line in lines {
            // What follows an SSH key is a comment.
            let words: Vec<&str> = line.split_whitespace().take(2).collect();
            let key = words.join(" ");
            if recipient(&key).is_none() {
                return Err(no_key(given));
            }
            keys.push(key);
        }
        if keys.len() == before {
            return Err(no_key(given));
        }
    }
    keys.sort();
    keys.dedup();
    Ok((!keys.is_empty()).then(|| keys.join("\n")))
}

/// Returns whether text looks like a private key, or a file of one.
fn is_private(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    text.contains("AGE-SECRET-KEY-") || text.contains("PRIVATE KEY-----")
}

/// Returns the error for a private key. What was given may be the key itself.
fn private_key() -> Failure {
    Failure::usage(
        "that is a private key: what is pushed is encrypted for public ones",
        "give its public half, `age-keygen -y FILE` or `ssh-keygen -y -f FILE` print it; nothing of this key was kept",
    )
}

fn no_key(given: &str) -> Failure {
    Failure::usage(
        format!("`{}` has a line that is no public key", safe(given)),
        "give an age key (`age1…`), an SSH key (`ssh-ed25519` or `ssh-rsa`), or a file of such lines",
    )
}

fn recipient(key: &str) -> Option<Box<dyn age::Recipient>> {
    let of_age = key.parse::<age::x25519::Recipient>();
    let of_ssh = || key.parse::<age::ssh::Recipient>();
    match of_age {
        Ok(key) => Some(Box::new(key)),
        Err(_) => of_ssh().ok().map(|key| Box::new(key) as _),
    }
}

/// Encrypts a bundle for public keys, one a line.
pub fn seal(bundle: &Bundle, keys: &str) -> Outcome<Vec<u8>> {
    let what = || "cannot encrypt what is to be pushed";
    let keys: Vec<_> = keys.lines().filter_map(recipient).collect();
    let keys = keys.iter().map(|key| &**key as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(keys).context(what)?;
    let mut sealed = Vec::new();
    let mut writer = encryptor.wrap_output(&mut sealed).context(what)?;
    let rows = (bundle.rows.len() as u64).to_be_bytes();
    for bytes in [&rows[..], &bundle.rows, &bundle.pack] {
        writer.write_all(bytes).context(what)?;
    }
    writer.finish().context(what)?;
    Ok(sealed)
}

/// The private keys that the user gives.
pub struct Identities(Vec<Box<dyn age::Identity>>);

impl Identities {
    /// Reads them from files: age identities, or an SSH key each.
    pub fn read(files: &[PathBuf]) -> Outcome<Self> {
        let mut identities: Vec<Box<dyn age::Identity>> = Vec::new();
        for file in files {
            let what = || format!("`{}` holds no age identity and no SSH key", file.display());
            let bytes = std::fs::read(file).context(what)?;
            let name = file.to_string_lossy().into_owned();
            match age::ssh::Identity::from_buffer(&bytes[..], Some(name)) {
                Ok(age::ssh::Identity::Unsupported(_)) => return Err(Error::failed(what())),
                Ok(key) => identities.push(Box::new(key.with_callbacks(Passphrase::default()))),
                Err(_) => {
                    let found = age::IdentityFile::from_buffer(&bytes[..]).context(what)?;
                    identities.extend(found.into_identities().context(what)?);
                }
            }
        }
        Ok(Self(identities))
    }

    /// Decrypts a bundle.
    pub fn open(&self, sealed: &[u8]) -> Outcome<Bundle> {
        let what = || "what another machine pushed is encrypted, and cannot be decrypted";
        let identities = self
            .0
            .iter()
            .map(|identity| &**identity as &dyn age::Identity);
        let opened = age::Decryptor::new(sealed).and_then(|it| it.decrypt(identities));
        let mut reader = opened.context(what).map_err(|error| {
            error.hint("give the file with your private key: `ckpt-hook fetch --identity FILE`")
        })?;
        let mut length = [0; 8];
        reader.read_exact(&mut length).context(what)?;
        let mut rows = Vec::new();
        let mut start = reader.by_ref().take(u64::from_be_bytes(length));
        start.read_to_end(&mut rows).context(what)?;
        let mut pack = Vec::new();
        reader.read_to_end(&mut pack).context(what)?;
        Ok(Bundle { rows, pack })
    }
}

/// Asks for the passphrase of a key at the terminal, once.
#[derive(Clone, Default)]
struct Passphrase(Arc<OnceLock<Option<SecretString>>>);

impl age::Callbacks for Passphrase {
    fn display_message(&self, _: &str) {}

    fn confirm(&self, _: &str, _: &str, _: Option<&str>) -> Option<bool> {
        None
    }

    fn request_public_string(&self, _: &str) -> Option<String> {
        None
    }

    fn request_passphrase(&self, description: &str) -> Option<SecretString> {
        let ask = || {
            let terminal = Term::stderr();
            // It isolates names for scripts that are written from right to left.
            let description = description.replace(['\u{2068}', '\u{2069}'], "");
            terminal
                .write_str(&format!("{}: ", safe(&description)))
                .ok()?;
            terminal.read_secure_line().ok().map(SecretString::from)
        };
        self.0.get_or_init(ask).clone()
    }
}
