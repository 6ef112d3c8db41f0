//! Completions and manual pages are made from the command line's own description.

use testing::binary::Sandbox;

#[test]
fn every_shell_gets_a_script() {
    let world = Sandbox::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = world.run(&["completions", shell], b"").exits(0);
        assert!(
            run.stdout.contains("unrevert"),
            "every command is in it for {shell}"
        );
        assert!(
            !run.stdout.contains("settle"),
            "a command that only our programs call is offered in {shell}"
        );
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let world = Sandbox::new();
    let run = world.run(&["man"], b"").exits(0);
    assert!(
        run.stdout.contains(".TH ckpt-hook 1"),
        "a page in troff: {run}"
    );
    world.run(&["man", "--output", "pages"], b"").exits(0);
    let page = world.workspace().join("pages/ckpt-hook-revert.1");
    let page = std::fs::read_to_string(page).expect("one for each command");
    for words in [
        ".SH EXAMPLES\n.nf\n  ckpt",
        "revert last~2 ",
        "\"ckpt-hook 0",
    ] {
        assert!(page.contains(words), "`{words}` is in it:\n{page}");
    }
    assert!(!page.contains("EXTRA"), "{page}");
    let named = run
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix("(1)"));
    let named: Vec<String> = named.map(|name| name.replace('\\', "")).collect();
    assert!(named.iter().any(|name| name == "ckpt-hook-man"), "{run}");
    for name in named {
        let page = world.workspace().join(format!("pages/{name}.1"));
        assert!(page.exists(), "`{name}` leads nowhere");
    }
}
