//! Keys over a text, and keys without a meaning.

use super::{plan, press, three};
use crate::keys::UiKey;
use crate::model::{Popup, UiAction};
use crate::plan_choice::PlanKind;

/// A text that was shown after an operation names keys, and they work there.
#[test]
fn key_that_a_text_names_works() {
    let text = || Popup::Text {
        title: "What was done".to_owned(),
        text: "To undo this: u".to_owned(),
    };
    let mut model = three();
    for (key, kind) in [
        ('u', PlanKind::Undo),
        ('f', PlanKind::Forward),
        ('F', PlanKind::AllForward),
    ] {
        model.lay(text());
        assert_eq!(model.update(UiKey::Char(key)), UiAction::Plan(kind));
        assert_eq!(model.overlay, None, "the plan comes in its place");
    }
    model.no_undo = Some("there is nothing to undo".to_owned());
    model.lay(text());
    assert_eq!(press(&mut model, "u"), [UiAction::Nothing]);
    assert_eq!(model.notice.as_deref(), Some("there is nothing to undo"));
    assert!(model.overlay.is_some(), "the text stays");
}

/// A key without a meaning says so, wherever it is pressed.
#[test]
fn idle_key_says_so_everywhere() {
    let text = Popup::Text {
        title: "Text".to_owned(),
        text: "line\n".to_owned(),
    };
    let mut in_text = plan(PlanKind::Revert);
    in_text.is_text = true;
    let cases = [
        (None, "xg"),
        (Some(text), "xRy"),
        (Some(Popup::Help), "xu"),
        (Some(Popup::Plan(Box::new(plan(PlanKind::Revert)))), "xRu!"),
        (Some(Popup::Plan(Box::new(plan(PlanKind::Undo)))), "gtcO"),
        (Some(Popup::Plan(Box::new(in_text))), "xot"),
    ];
    for (overlay, keys) in cases {
        let mut model = three();
        model.overlay = overlay;
        for key in keys.chars() {
            assert_eq!(press(&mut model, &key.to_string()), [UiAction::Nothing]);
            let moves = UiKey::Char(key).moves() && model.overlay.is_none();
            assert_eq!(
                model.notice.is_none(),
                moves,
                "{key} in {:?}",
                model.overlay
            );
        }
    }
    let mut model = three();
    model.update(UiKey::Left);
    assert_eq!(
        model.notice.as_deref(),
        Some("← does nothing here; ? lists the keys")
    );
}
