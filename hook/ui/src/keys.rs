//! The keys of the browser: turns the terminal's events into keys, and describes what each key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key with a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UiKey {
    /// A letter or another character.
    Char(char),
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Opens.
    Enter,
    /// Marks.
    Tab,
    /// To the pane before.
    Left,
    /// To the next pane.
    Right,
    /// Back.
    Escape,
    /// Takes the last character away.
    Backspace,
    /// Ctrl-U: takes all characters away.
    Clear,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

impl UiKey {
    /// Returns whether it moves a cursor, or scrolls.
    pub fn moves(self) -> bool {
        step(self, 1, 3, 1) != 1
    }

    /// Returns the message where the key does nothing, with a key that does something.
    pub fn idle(self, instead: &str) -> String {
        let name = match self {
            Self::Char(' ') => "Space".to_owned(),
            Self::Char(character) => character.to_string(),
            Self::Left => "←".to_owned(),
            Self::Right => "→".to_owned(),
            Self::Clear => "Ctrl-U".to_owned(),
            other => format!("{other:?}"),
        };
        format!("{name} does nothing here; {instead}")
    }
}

/// Returns the row that a key leads to.
pub fn step(key: UiKey, at: usize, rows: usize, page: usize) -> usize {
    let last = rows.saturating_sub(1);
    let to = match key {
        UiKey::Up | UiKey::Char('k') => at.saturating_sub(1),
        UiKey::Down | UiKey::Char('j' | ' ') => at.saturating_add(1),
        UiKey::PageUp => at.saturating_sub(page),
        UiKey::PageDown => at.saturating_add(page),
        UiKey::Home | UiKey::Char('g') => 0,
        UiKey::End | UiKey::Char('G') => last,
        _ => at,
    };
    to.min(last)
}

/// Every key and what it does, in the order in which `?` lists them.
pub const KEYS: [(&str, &str); 21] = [
    ("↑ ↓ j k", "one row up or down"),
    ("PgUp PgDn", "one page up or down"),
    ("Home g, End G", "to the first or the last row"),
    (
        "Enter →",
        "open: from the timeline to the files, then the patch",
    ),
    ("← Shift-Tab", "to the previous pane"),
    (
        "Tab Space",
        "mark a file, or a hunk in its patch: a revert then takes only what is marked",
    ),
    (
        "/",
        "only entries whose prompt, paths or changed contents contain what you type",
    ),
    ("i", "everything that is known of this entry"),
    ("r", "plan: back to just before this message"),
    ("a", "plan: this message alone; later ones stay"),
    ("u", "plan: undo the last operation"),
    ("f", "plan: one message forward again"),
    ("F", "plan: all the way forward"),
    (
        "R",
        "plan: the files as they were before this entry; of the files or the patch, the one that is chosen",
    ),
    ("l", "a label for this message"),
    ("o", "operations alone, or everything"),
    ("b", "who wrote each line of this file"),
    ("y", "copy the id"),
    ("?", "this list"),
    ("q", "back; from the timeline, leave"),
    ("Esc", "back"),
];

/// Every key of a plan.
pub const PLAN_KEYS: [(&str, &str); 9] = [
    ("y", "do it"),
    (
        "Space",
        "take this file, or leave it; in its patch, this hunk",
    ),
    (
        "o, O",
        "take a file all the same that would stay; or all of them",
    ),
    ("t", "take what is unclear, too"),
    ("g", "move git's HEAD, branches and index along, or not"),
    (
        "c",
        "go back in the files, in files and conversation, or in the conversation alone",
    ),
    ("!", "go ahead beside an agent at work"),
    ("i", "the whole plan as text"),
    ("Esc q n", "leave it; nothing was done"),
];

/// Returns the key of an event, or `None` if it has no meaning here.
pub fn of(event: KeyEvent) -> Option<UiKey> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(UiKey::Interrupt),
            KeyCode::Char('z') => Some(UiKey::Suspend),
            KeyCode::Char('u') => Some(UiKey::Clear),
            KeyCode::Char('h') => Some(UiKey::Backspace),
            _ => None,
        };
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    Some(match event.code {
        KeyCode::Char(character) => UiKey::Char(character),
        KeyCode::Up => UiKey::Up,
        KeyCode::Down => UiKey::Down,
        KeyCode::PageUp => UiKey::PageUp,
        KeyCode::PageDown => UiKey::PageDown,
        KeyCode::Home => UiKey::Home,
        KeyCode::End => UiKey::End,
        KeyCode::Enter => UiKey::Enter,
        KeyCode::Tab => UiKey::Tab,
        KeyCode::BackTab | KeyCode::Left => UiKey::Left,
        KeyCode::Right => UiKey::Right,
        KeyCode::Esc => UiKey::Escape,
        KeyCode::Backspace => UiKey::Backspace,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter with a modifier is not that letter.
    #[test]
    fn letter_with_modifier_is_another_key() {
        let event = |code, modifiers| of(KeyEvent::new(code, modifiers));
        let r = KeyCode::Char('r');
        assert_eq!(event(r, KeyModifiers::NONE), Some(UiKey::Char('r')));
        assert_eq!(event(r, KeyModifiers::CONTROL), None, "no revert");
        assert_eq!(event(r, KeyModifiers::ALT), None, "no revert");
        assert_eq!(
            event(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Some(UiKey::Interrupt)
        );
    }
}
