//! Times for people: how long ago, then the local date.

use ckpt_store::Milliseconds;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};

const MINUTES: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]");
const SECONDS: &[BorrowedFormatItem<'_>] = format_description!(
    "[year]-[month]-[day] [hour]:[minute]:[second] [offset_hour sign:mandatory]:[offset_minute]"
);
const UTC: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");

/// The present time and the time zone.
#[derive(Clone, Copy, Debug)]
pub struct TimeContext {
    /// Milliseconds since the Unix epoch.
    pub now: Milliseconds,
    /// The user's offset from UTC.
    pub offset: UtcOffset,
}

impl TimeContext {
    /// Returns those of this machine; UTC if the time zone is unknown.
    pub fn local(now: Milliseconds) -> Self {
        Self {
            now,
            offset: UtcOffset::current_local_offset().unwrap_or(UtcOffset::UTC),
        }
    }

    /// Returns "just now", "5 min ago", "3 h ago", and otherwise the local date.
    pub fn ago(&self, time: Milliseconds) -> String {
        match (self.now.saturating_sub(time)) / 1000 {
            0..60 => "just now".to_owned(),
            seconds @ 60..3600 => format!("{} min ago", seconds / 60),
            seconds @ 3600..86_400 => format!("{} h ago", seconds / 3600),
            _ => self.format(time, MINUTES),
        }
    }

    /// Returns "now", "5m", "3h", "12d", and after 99 days "9w".
    pub fn brief(&self, time: Milliseconds) -> String {
        match (self.now.saturating_sub(time)) / 1000 {
            ..60 => "now".to_owned(),
            seconds @ 60..3600 => format!("{}m", seconds / 60),
            seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
            seconds if seconds < 99 * 86_400 => format!("{}d", seconds / 86_400),
            seconds => format!("{}w", seconds / 604_800),
        }
    }

    /// Returns the local time of today, "10:12", and otherwise with the date.
    pub fn clock(&self, time: Milliseconds) -> String {
        let text = self.format(time, MINUTES);
        let today = self.format(self.now, MINUTES);
        match (text.split_once(' '), today.split_once(' ')) {
            (Some((date, clock)), Some((today, _))) if date == today => clock.to_owned(),
            _ => text,
        }
    }

    /// Returns the local date and time with the offset.
    pub fn exact(&self, time: Milliseconds) -> String {
        self.format(time, SECONDS)
    }

    fn format(&self, time: Milliseconds, format: &[BorrowedFormatItem<'_>]) -> String {
        date(time)
            .to_offset(self.offset)
            .format(&format)
            .unwrap_or_else(|_| time.to_string())
    }
}

/// A duration for people: "0.4 s", "3.2 s", "12 s", "3 min 5 s", "2 h 4 min". Tenths are rounded up, so that
/// nothing takes "0.0 s".
pub fn duration(milliseconds: Milliseconds) -> String {
    let (seconds, minutes) = (milliseconds / 1000, milliseconds / 60_000);
    let tenths = milliseconds.saturating_add(99) / 100;
    match seconds {
        _ if milliseconds < 0 => "no time".to_owned(),
        0..10 if tenths < 100 => format!("{}.{} s", tenths.max(1) / 10, tenths.max(1) % 10),
        0..60 => format!("{} s", seconds.max(10)),
        60..3600 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Returns a time in the format of RFC 3339, in UTC.
pub fn utc(time: Milliseconds) -> String {
    date(time).format(&UTC).unwrap_or_else(|_| time.to_string())
}

fn date(time: Milliseconds) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(time.div_euclid(1000)).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A duration is as exact as somebody wants to know it.
    #[test]
    fn duration_is_as_exact_as_useful() {
        let cases = [
            (0, "0.1 s"),
            (12, "0.1 s"),
            (1420, "1.5 s"),
            (3200, "3.2 s"),
            (9900, "9.9 s"),
            (9901, "10 s"),
            (10_000, "10 s"),
            (12_900, "12 s"),
            (185_000, "3 min 5 s"),
            (7_440_000, "2 h 4 min"),
            (-1, "no time"),
        ];
        for (milliseconds, shown) in cases {
            assert_eq!(duration(milliseconds), shown, "of {milliseconds}");
        }
    }

    /// What was just now is counted and what was long ago is dated.
    #[test]
    fn recent_is_counted_and_old_is_dated() {
        let times = TimeContext {
            now: 1_000_000_000_000,
            offset: UtcOffset::from_hms(2, 0, 0).expect("a zone"),
        };
        let cases = [
            (1_000_000_000_000, "just now"),
            (999_999_941_000, "just now"),
            (999_999_700_000, "5 min ago"),
            (999_990_000_000, "2 h ago"),
            (999_900_000_000, "2001-09-08 00:00"),
            (1_000_000_100_000, "2001-09-09 03:48"),
        ];
        for (time, shown) in cases {
            assert_eq!(
                times.ago(time),
                shown,
                "of {time}: a clock that was set back gives a date, too"
            );
        }
        assert_eq!(
            times.exact(0),
            "1970-01-01 02:00:00 +02:00",
            "the local time with its offset"
        );
        assert_eq!(utc(0), "1970-01-01T00:00:00Z", "for files");
    }
}
