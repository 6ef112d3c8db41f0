//! Numbers as people read them.

/// Returns "1 file" or "2,000 files".
pub fn count(number: u64, thing: &str) -> String {
    let is_hissing = ["s", "x", "ch", "sh"]
        .iter()
        .any(|end| thing.ends_with(end));
    let plural = match (number, is_hissing) {
        (1, _) => "",
        (_, false) => "s",
        (_, true) => "es",
    };
    format!("{} {thing}{plural}", grouped(number))
}

/// Returns a number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3);
    let groups = groups.map(|group| std::str::from_utf8(group).expect("digits are text"));
    let head = (first > 0).then(|| &digits[..first]);
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

/// Joins the first `most` names of a list, and says how many more there are.
pub(crate) fn first_of(mut names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let mut first: Vec<String> = names.by_ref().take(most).collect();
    if names.len() > 0 {
        first.push(format!("and {} more", names.len()));
    }
    first.join(", ")
}

/// Like [`first_of`], for names that are quoted.
pub(crate) fn first_quoted(names: &[String], most: usize) -> String {
    first_of(names.iter().map(|name| format!("`{name}`")), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hissing_word_has_a_longer_plural() {
        assert_eq!(count(1, "push"), "1 push");
        assert_eq!(count(3, "push"), "3 pushes");
        assert_eq!(count(3, "file"), "3 files");
    }

    /// A list is shortened to its first names and a number.
    #[test]
    fn list_is_shortened_to_names_and_a_number() {
        let names = |number: usize| (0..number).map(|name| name.to_string());
        assert_eq!(first_of(names(0), 2), "", "an empty one");
        assert_eq!(first_of(names(2), 2), "0, 1");
        assert_eq!(first_of(names(5), 2), "0, 1, and 3 more");
    }

    #[test]
    fn one_thing_is_told_in_the_singular() {
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(0, "file"), "0 files");
        assert_eq!(count(2000, "file"), "2,000 files");
    }

    #[test]
    fn thousands_are_set_apart() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (4_150_000, "4,150,000"),
        ];
        for (number, shown) in cases {
            assert_eq!(grouped(number), shown, "of {number}");
        }
    }
}
