//! A plan as large as they come.

use ckpt_schema::report::FileAction;

use testing::plan::Story;

/// A quadratic step would show: 100,000 paths in 1,000 directories, half of them with two changes.
#[test]
fn a_hundred_thousand_changes_are_planned() {
    let mut world = Story::default();
    let [a, b, c] = ["a\n", "b\n", "c\n"].map(|text| world.blobs.file(text));
    for index in 0..66_667_u32 {
        let at = format!("directory {}/file {index}", index % 1_000);
        let old = if index % 3 == 0 { None } else { a };
        world.agent(&at, old, b);
        if index % 2 == 0 {
            world.agent(&at, b, c);
        }
    }
    let plan = world.plan();
    assert_eq!(plan.items.len(), 66_667, "one item a path");
    let deleted = plan
        .items
        .iter()
        .filter(|item| item.action == FileAction::Delete)
        .count();
    assert_eq!(deleted, 22_223, "every third was made by the agent");
    assert!(plan.is_complete(), "nobody else was at them");
}
