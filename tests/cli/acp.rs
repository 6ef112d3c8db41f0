//! `acp`: an agent that an editor talks to, with what it does recorded.

use serde_json::json;
use testing::binary::Sandbox;

/// What the agent of these tests does: notes what it is sent, and answers as the protocol has it, and not.
const AGENT: &str = r#"
exec 3>received
while IFS= read -r line; do
  printf '%s\n' "$line" >&3
  case $line in
    *session/prompt*)
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit a","kind":"edit","status":"pending"}}}'
      echo changed >a
      echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}'
      printf 'no { JSON \377\n\n'
      echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}' ;;
    *) echo '{"jsonrpc":"2.0","id":1,"result":{}}' ;;
  esac
done
printf 'the end'
exit 3
"#;

fn acp(script: &str) -> [&str; 7] {
    ["acp", "--agent", "shop", "--", "/bin/sh", "-c", script]
}

/// What the editor sends in a session of the workspace.
fn lines(world: &Sandbox) -> String {
    let load = json!({"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": {"sessionId": "s", "cwd": world.workspace()}});
    let prompt = json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt",
        "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "change it"}]}});
    format!("{load}\nnothing  {{ known\n{prompt}\n")
}

/// A turn of an agent in an editor is a message that goes back, and every byte arrives.
///
/// Invariant `agent/acp`: What an editor and an agent send each other by `acp` arrives byte for byte, recorded or not.
#[test]
fn turn_of_an_editors_agent_goes_back() {
    let world = Sandbox::new();
    world.write("a", "before\n");
    let sent = lines(&world);
    let run = world.run(&acp(AGENT), sent.as_bytes()).exits(3);
    assert_eq!(
        world.read("received"),
        sent.as_bytes(),
        "the agent has every byte"
    );
    let bare = Sandbox::new();
    let alone = bare.run(&["run", "--", "/bin/sh", "-c", AGENT], sent.as_bytes());
    assert_eq!(run.stdout, alone.stdout, "and so has the editor");
    let log = world.json(&["log"]);
    let message = &log["messages"][0];
    assert_eq!(message["agent"], "shop", "{log}");
    assert_eq!(message["prompt"], "change it", "{log}");
    assert_eq!(message["files"], 2, "{log}");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("a"), b"before\n", "taken back");
}

/// An agent that ends in a turn holds nothing, and one that is not there is said.
#[test]
fn agent_that_ends_in_a_turn_holds_nothing() {
    let world = Sandbox::new();
    world.write("a", "before\n");
    let dies =
        "while read -r line; do case $line in *prompt*) echo changed >a; kill -9 $$;; esac; done";
    world.run(&acp(dies), lines(&world).as_bytes()).exits(137);
    let status = world.json(&["status"]);
    assert_eq!(status["open_steps"], 0, "{status}");
    world.run(&["revert", "--message", "last"], b"").exits(0);
    assert_eq!(world.read("a"), b"before\n", "taken back");
    world.run(&["acp", "--", "/no/such/agent"], b"").exits(127);
}
