//! The steps of a session in time. Many paths are asked about, and a long history has many steps, so not each path is
//! compared with each step. Pure.

use crate::model::Milliseconds;
use crate::sessions::StepSides;

/// The steps of a session, found by time.
pub(crate) struct StepSpans<'s> {
    /// In the order in which they were told of.
    pub all: &'s [StepSides],
    /// By their begins, each with the latest end of those up to it.
    by_begin: Vec<(&'s StepSides, Milliseconds)>,
    /// By their ends.
    by_end: Vec<(Milliseconds, &'s StepSides)>,
    /// For each step, in the order of `all`, the newest message of those up to it.
    newest: Vec<i64>,
}

impl<'s> StepSpans<'s> {
    /// Sorts them. One that is open ends `now`, as far as it has an end.
    pub fn of(all: &'s [StepSides], now: Milliseconds) -> Self {
        let mut begins: Vec<&StepSides> = all.iter().collect();
        begins.sort_by_key(|span| span.started_at);
        let ends = |span: &StepSides| span.finished_at.unwrap_or(Milliseconds::MAX);
        let by_begin = begins.into_iter().scan(Milliseconds::MIN, |latest, span| {
            *latest = (*latest).max(ends(span));
            Some((span, *latest))
        });
        let end = |span: &'s StepSides| (span.finished_at.unwrap_or(now), span);
        let mut by_end: Vec<(Milliseconds, &StepSides)> = all.iter().map(end).collect();
        by_end.sort_by_key(|(end, _)| *end);
        let newest = all.iter().scan(i64::MIN, |newest, span| {
            *newest = (*newest).max(span.message_seq);
            Some(*newest)
        });
        Self {
            all,
            by_begin: by_begin.collect(),
            by_end,
            newest: newest.collect(),
        }
    }

    /// Returns the steps that were at work at a moment, give or take so much, in the order in which they began.
    pub fn at(&self, moment: Milliseconds, slack: Milliseconds) -> Vec<&'s StepSides> {
        let (from, to) = (moment.saturating_sub(slack), moment.saturating_add(slack));
        let begun = self
            .by_begin
            .partition_point(|(span, _)| span.started_at <= to);
        let before = self.by_begin[..begun].iter().rev();
        let mut at: Vec<&StepSides> = before
            .take_while(|(_, latest)| *latest >= from)
            .map(|(span, _)| *span)
            .filter(|span| span.finished_at.is_none_or(|end| end >= from))
            .collect();
        at.reverse();
        at
    }

    /// Returns when the last of the steps that began no earlier than one had ended, at a moment.
    pub fn ended_by(&self, moment: Milliseconds, began: Milliseconds) -> Option<Milliseconds> {
        let ended = self.by_end.partition_point(|(end, _)| *end <= moment);
        let mut ended = self.by_end[..ended].iter().rev();
        let (end, _) = ended.find(|(_, span)| span.started_at >= began)?;
        Some(*end)
    }

    /// Returns the first step of a message from one on.
    pub fn first_since(&self, message_seq: i64) -> Option<&'s StepSides> {
        self.all
            .get(self.newest.partition_point(|newest| *newest < message_seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(started_at: i64, finished_at: Option<i64>, message_seq: i64) -> StepSides {
        StepSides {
            step_id: String::new(),
            session_id: String::new(),
            message_id: String::new(),
            message_seq,
            start: 0,
            started_at,
            finish: None,
            finished_at,
            changed_rules: false,
            seen: (None, None),
        }
    }

    #[test]
    fn steps_are_found_as_by_looking_at_all() {
        // A long one, one within it, one that was moved behind the next, and an open one.
        let all = [
            span(10, Some(90), 1),
            span(20, Some(30), 1),
            span(60, Some(70), 3),
            span(40, Some(50), 2),
            span(95, None, 4),
        ];
        let spans = StepSpans::of(&all, 120);
        for moment in 0..130 {
            for slack in [0, 7] {
                let mut plain: Vec<&StepSides> = all
                    .iter()
                    .filter(|span| {
                        span.started_at <= moment + slack
                            && span.finished_at.is_none_or(|end| end >= moment - slack)
                    })
                    .collect();
                plain.sort_by_key(|span| span.started_at);
                assert_eq!(spans.at(moment, slack), plain, "at {moment}");
            }
            for began in [0, 40, 100] {
                let ends = all.iter().filter(|span| span.started_at >= began);
                let ends = ends.map(|span| span.finished_at.unwrap_or(120));
                let last = ends.filter(|end| *end <= moment).max();
                assert_eq!(spans.ended_by(moment, began), last, "{moment}, {began}");
            }
        }
        for seq in 0..6 {
            let first = all.iter().find(|span| span.message_seq >= seq);
            assert_eq!(spans.first_since(seq), first, "from message {seq}");
        }
    }
}
