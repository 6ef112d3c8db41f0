//! `demo`: a small session with the real hook in a scratch folder, reverted and brought back, told in plain words.
//!
//! Everything that is shown is what the commands print. The hook is this program with a temporary home and store, so
//! none of the user's files are read or written; the scratch folder is removed at the end, also after a failure.

mod stage;

use ckpt_command::invocation::Invocation;
use ckpt_process::failure::{DONE, Failure};
use ckpt_store::Error;
use serde_json::json;

use stage::{Stage, StageFiles};

/// Plays the session. Fails if a single byte is not as it should be.
pub fn run(invocation: &Invocation) -> Result<u8, Failure> {
    let mut stage = Stage::set(invocation)?;
    stage.say("This plays a short session in a scratch folder, with the real hook and a store of its own.")?;
    stage.say("Nothing of yours is touched.")?;
    let before = opening(&mut stage)?;
    first_message(&mut stage)?;
    own_edit(&mut stage)?;
    let middle = stage.files()?;
    second_message(&mut stage)?;
    let after = stage.files()?;
    look(&mut stage)?;
    back(&mut stage, &before, &middle)?;
    forward(&mut stage, &middle, &after)?;
    closing(&mut stage)?;
    Ok(DONE)
}

const MENU: &str = "# Menu\n\nsourdough  4.50\nrye        4.20\nbaguette   2.10\n";
const MENU_WITH_CAKES: &str =
    "# Menu\n\nsourdough  4.50\nrye        4.20\nbaguette   2.10\napple pie  3.80\n";
const NOTES: &str = "order flour on Monday\ncall the miller\n";
const ORDER: &str = "def total(prices):\n    return sum(prices)\n";
const ORDER_WITH_VAT: &str =
    "VAT = 0.07\n\n\ndef total(prices):\n    return sum(prices) * (1 + VAT)\n";
const OWN_LINE: &str = "closed on Sundays\n";

fn opening(stage: &mut Stage<'_>) -> Result<StageFiles, Failure> {
    stage.title("A project, before any agent has touched it")?;
    stage.write("menu.md", MENU)?;
    stage.write("notes.txt", NOTES)?;
    stage.write("src/order.py", ORDER)?;
    stage.list()?;
    stage.files()
}

fn first_message(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.title("You send a message: “add cakes to the menu”")?;
    stage.event(
        json!({"event": "user_message", "message_id": "cakes", "prompt": "add cakes to the menu"}),
    )?;
    stage.event(json!({"event": "step_start"}))?;
    stage.act("The agent edits menu.md with its editor.")?;
    stage.event(json!({"event": "tool_start", "tool_name": "Edit", "tool_use_id": "1", "paths": ["menu.md"]}))?;
    stage.write("menu.md", MENU_WITH_CAKES)?;
    stage.event(json!({"event": "tool_finish", "tool_name": "Edit", "tool_use_id": "1", "paths": ["menu.md"]}))?;
    stage.shell(
        "2",
        "mkdir recipes && printf 'apples, flour, butter\\n' > recipes/apple-pie.txt",
    )?;
    stage.event(json!({"event": "step_finish"}))?;
    stage.event(json!({"event": "turn_end"}))
}

fn own_edit(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.title("You write a file yourself")?;
    stage.write("opening-hours.txt", OWN_LINE)?;
    stage.act("opening-hours.txt is yours: no revert will touch it.")
}

fn second_message(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.title("You send another message: “charge VAT and tidy up”")?;
    stage.event(
        json!({"event": "user_message", "message_id": "tidy", "prompt": "charge VAT and tidy up"}),
    )?;
    stage.event(json!({"event": "step_start"}))?;
    stage.act("The agent edits src/order.py with its editor.")?;
    stage.event(json!({"event": "tool_start", "tool_name": "Edit", "tool_use_id": "3", "paths": ["src/order.py"]}))?;
    stage.write("src/order.py", ORDER_WITH_VAT)?;
    stage.event(json!({"event": "tool_finish", "tool_name": "Edit", "tool_use_id": "3", "paths": ["src/order.py"]}))?;
    stage.shell("4", "rm notes.txt && mv recipes/apple-pie.txt pie.txt && rmdir recipes && chmod 755 src/order.py")?;
    stage.event(json!({"event": "step_finish"}))?;
    stage.event(json!({"event": "turn_end"}))?;
    stage.act("That went too far: your notes are gone.")
}

fn look(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.title("What the hook has seen")?;
    stage.calls()?;
    stage.command(&["log"])?;
    stage.command(&["diff", "tidy", "current", "--stat"])
}

fn back(stage: &mut Stage<'_>, before: &StageFiles, middle: &StageFiles) -> Result<(), Failure> {
    stage.title("Back to just before the second message")?;
    stage.command(&["revert", "--message", "tidy"])?;
    check(
        stage,
        middle,
        "Every file is as it was just before that message, byte for byte",
    )?;
    stage.title("Further back, to just before the first one")?;
    stage.command(&["revert", "--message", "cakes"])?;
    let mut expected = before.clone();
    expected.extend(
        middle
            .iter()
            .filter(|(name, _)| is_own(name))
            .map(|(name, file)| (name.clone(), file.clone())),
    );
    check(
        stage,
        &expected,
        "The project is as before, and your opening hours are still there",
    )?;
    stage.command(&["status"])
}

fn is_own(name: &str) -> bool {
    name == "opening-hours.txt"
}

fn forward(stage: &mut Stage<'_>, middle: &StageFiles, after: &StageFiles) -> Result<(), Failure> {
    stage.title("Changed your mind? One message forward")?;
    stage.command(&["redo"])?;
    check(
        stage,
        middle,
        "The cakes are back, the second message is not",
    )?;
    stage.title("And all the way")?;
    stage.command(&["unrevert"])?;
    check(
        stage,
        after,
        "Everything is as it was before the first revert, byte for byte",
    )?;
    stage.command(&["log", "--operations"])
}

fn closing(stage: &mut Stage<'_>) -> Result<(), Failure> {
    stage.say("\nYour turn:")?;
    stage.act("ckpt-hook install claude-code     put the hook into your agent's settings")?;
    stage.act("ckpt-hook status                  in your project, after a message or two")?;
    stage.act("ckpt-hook revert                  choose a message to go back to")
}

/// Compares names, modes and bytes, and reports that it did.
fn check(stage: &mut Stage<'_>, expected: &StageFiles, what: &str) -> Result<(), Failure> {
    let found = stage.files()?;
    if found == *expected {
        return stage.checked(what, found.len());
    }
    let differs = |name: &&String| expected.get(*name) != found.get(*name);
    let mut names: Vec<&String> = expected
        .keys()
        .chain(found.keys())
        .filter(differs)
        .collect();
    names.sort();
    names.dedup();
    Err(Error::failed(format!(
        "the demo found files that are not as they should be: {names:?}"
    ))
    .hint("this is a bug; please report it with the output above")
    .into())
}
