//! Parses times as people write them: "2 days ago", "yesterday", a date.

use ckpt_store::Milliseconds;
use interim::{Dialect, Interval, parse_date_string, parse_duration};
use time::{OffsetDateTime, Time};

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
    // `-2h` may mean two hours ago, or that a word before it is missing; the parser takes it for the former.
    if text.starts_with('-') || has_wrong_clock(text) || is_number(text) {
        return None;
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
    let moment = match (exact, named(text, now)) {
        (Ok(moment), _) | (Err(_), Some(moment)) => moment,
        (Err(_), None) => parse_date_string(&ago, now, Dialect::Uk).ok()?,
    };
    let moment = moment.unix_timestamp().checked_mul(1000)?;
    (moment <= times.now).then_some(moment)
}

/// Returns a moment of today that has a name. `today` is all of it: a question for what happened since then does not
/// mean the present moment.
fn named(text: &str, now: OffsetDateTime) -> Option<OffsetDateTime> {
    match text.to_ascii_lowercase().as_str() {
        "today" | "midnight" => Some(now.replace_time(Time::MIDNIGHT)),
        "noon" => Some(now.replace_time(Time::from_hms(12, 0, 0).ok()?)),
        _ => None,
    }
}

/// Returns whether there is a time of day that no clock shows, such as `25:00`: the parser would take it for one of the
/// next day.
fn has_wrong_clock(text: &str) -> bool {
    let words = text.split(|character: char| !character.is_ascii_digit() && character != ':');
    let mut clocks = words.filter(|word| word.contains(':'));
    clocks.any(|clock| {
        let parts = clock.split(':').map(str::parse::<u8>);
        let mut parts = parts.zip([23, 59, 59]);
        parts.any(|(part, most)| part.is_ok_and(|part| part > most))
    })
}

/// Returns whether a text is only a number: the parser would take it for a year.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
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
            ("today", Some(times.now - 12 * hour)),
            ("Midnight", Some(times.now - 12 * hour)),
            ("noon", Some(times.now)),
            ("yesterday 09:30", Some(times.now - 26 * hour - hour / 2)),
            ("2026-13-45", None),
            ("2026-03-09 25:00", None),
            ("24:00", None),
            ("2026-03-09 09:75", None),
            ("5", None),
            ("-2h", None),
            ("-2 days", None),
            ("-1 day ago", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text, &times), expected, "of `{text}`");
        }
    }
}
