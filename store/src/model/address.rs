//! Addresses of repositories as they may be shown: a password or a token in one is for git alone.

/// Returns an address without what may be a credential: the user and the password before the host, but the user's name
/// for `ssh`, and a query.
pub fn shown(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        // `user@host:path`, which has no place for a password; one that is there all the same is none to show.
        let (user, host) = address.split_once('@').unwrap_or_default();
        return match user.split_once(':') {
            Some((user, _)) if !user.contains('/') => format!("{user}@{host}"),
            _ => address.to_owned(),
        };
    };
    let mut end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // What stands where a port would, and is none, is a password. It may have any character in it.
    let is_password = |host: &str| {
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        !host.contains(['@', '[']) && !port.bytes().all(|byte| byte.is_ascii_digit())
    };
    if is_password(&rest[..end])
        && let Some(at) = rest.rfind('@')
    {
        end = at + rest[at..].find(['/', '?', '#']).unwrap_or(rest.len() - at);
    }
    let (authority, path) = rest.split_at(end);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = match user.split(':').next() {
        Some(user) if scheme.contains("ssh") && !user.is_empty() => format!("{user}@"),
        _ => String::new(),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{user}{host}{path}")
}

/// What stands before and after an address in a sentence.
const END: [char; 11] = ['\'', '"', '`', '(', ')', '<', '>', ':', ';', ',', '.'];

/// Returns text of any kind, such as what git says, with the addresses in it as they may be shown.
pub fn hidden_in(text: &str) -> String {
    let word = |word: &str| {
        let (word, space) = word.split_at(word.trim_end().len());
        let (whole, end) = word.split_at(word.trim_end_matches(END).len());
        let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let before = &whole.as_bytes()[..whole.find("://").unwrap_or(0)];
        let scheme = before.iter().rev().take_while(|byte| is_of_scheme(byte));
        let start = match before.len() {
            0 => whole.len() - whole.trim_start_matches(END).len(),
            length => length - scheme.count(),
        };
        format!("{}{}{end}{space}", &whole[..start], shown(&whole[start..]))
    };
    text.split_inclusive(char::is_whitespace)
        .map(word)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No form of an address shows a password, a token, or what may be one.
    #[test]
    fn addresses_are_shown_without_credentials() {
        for (address, without) in [
            ("https://example.org/a.git", "https://example.org/a.git"),
            (
                "https://secret@example.org/a.git",
                "https://example.org/a.git",
            ),
            (
                "HTTPS://me:secret@example.org:8443/a.git",
                "HTTPS://example.org:8443/a.git",
            ),
            (
                "https://me:se@cret@example.org/@a/b.git",
                "https://example.org/@a/b.git",
            ),
            (
                "https://me:se/cret@example.org/a.git",
                "https://example.org/a.git",
            ),
            (
                "https://me:se?cret#@example.org/a.git",
                "https://example.org/a.git",
            ),
            (
                "https://example.org/a.git?private_token=secret",
                "https://example.org/a.git",
            ),
            ("https://example.org?token=secret", "https://example.org"),
            (
                "https://example.org:80/@a/b.git#secret",
                "https://example.org:80/@a/b.git",
            ),
            ("http://[::1]:80/@a/b.git", "http://[::1]:80/@a/b.git"),
            ("ssh://git@example.org/a.git", "ssh://git@example.org/a.git"),
            (
                "ssh://me:secret@example.org/a.git",
                "ssh://me@example.org/a.git",
            ),
            (
                "git+ssh://me:secret@example.org/a",
                "git+ssh://me@example.org/a",
            ),
            (
                "ftp://me:secret@example.org/a.git",
                "ftp://example.org/a.git",
            ),
            ("git@example.org:a.git", "git@example.org:a.git"),
            ("me:secret@example.org:a.git", "me@example.org:a.git"),
            ("example.org:a@b.git", "example.org@b.git"),
            ("/srv/a:b/c@d.git", "/srv/a:b/c@d.git"),
            ("file:///srv/a@b.git", "file:///srv/a@b.git"),
        ] {
            assert_eq!(shown(address), without, "{address}");
            let said =
                |address: &str| format!("cannot access '{address}': it is gone,\n `{address}`");
            assert_eq!(hidden_in(&said(address)), said(without), "{address}");
        }
        assert_eq!(
            hidden_in("no address: a@b, /c:d@e\t1\n"),
            "no address: a@b, /c:d@e\t1\n"
        );
    }
}
