//! Numbers as people read them.

/// Returns "1 file" or "2,000 files".
pub fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
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

#[cfg(test)]
mod tests {
    use super::*;

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
