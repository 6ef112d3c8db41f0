//! Parses times as people write them: "2 days ago", "yesterday", a date.

use ckpt_store::Milliseconds;
use interim::{Dialect, Interval, parse_date_string, parse_duration};
use time::OffsetDateTime;

use super::time::TimeContext;

/// Parses a moment, relative to the present time and time zone. Returns `None` if it is invalid or in the future.
///
/// A duration alone, such as "2 h", means that long ago, as in git.
pub fn moment(text: &str, times: &TimeContext) -> Option<Milliseconds> {
    let text = text.trim();
    let now = OffsetDateTime::from_unix_timestamp(times.now.div_euclid(1000))
        .ok()?
        .to_offset(times.offset);
    if text.eq_ignore_ascii_case("now") {
        return Some(times.now);
    }
    let is_ahead = |interval: &Interval| match interval {
        Interval::Seconds(number) | Interval::Days(number) | Interval::Months(number) => {
            *number > 0
        }
    };
    let is_duration = text.starts_with(|character: char| character.is_ascii_digit())
        && parse_duration(text).is_ok_and(|interval| is_ahead(&interval));
    let ago = match is_duration {
        true => format!("{text} ago"),
        false => text.to_owned(),
    };
    // RFC 3339, as in other programs' JSON documents.
    let exact = OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339);
    let moment = match exact {
        Ok(moment) => moment,
        Err(_) => parse_date_string(&ago, now, Dialect::Uk).ok()?,
    };
    let moment = moment.unix_timestamp().checked_mul(1000)?;
    (moment <= times.now).then_some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        // 2026-03-10 12:00 in a zone of +02:00.
        let times = TimeContext {
            now: 1_773_136_800_000,
            offset: time::UtcOffset::from_hms(2, 0, 0).expect("a zone"),
        };
        let hour = 3_600_000;
        let cases = [
            ("now", Some(times.now)),
            ("2 hours ago", Some(times.now - 2 * hour)),
            ("2h", Some(times.now - 2 * hour)),
            ("2 days ago", Some(times.now - 48 * hour)),
            ("3 days", Some(times.now - 72 * hour)),
            ("2026-03-10 10:00", Some(times.now - 2 * hour)),
            ("2026-03-10T08:00:00Z", Some(times.now - 2 * hour)),
            ("2026-03-10", Some(times.now - 12 * hour)),
            ("tomorrow", None),
            ("2027-01-01", None),
            ("the day I was born", None),
            ("2026-13-45", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text, &times), expected, "of `{text}`");
        }
    }
}
