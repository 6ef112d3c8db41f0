//! The real agents, with the hook that `ckpt-hook install` puts in, on a scripted model: what they change can be taken back
//! and brought again, and they do not notice.
//!
//! Ignored unless asked for: `just agents` installs the CLIs and runs them. An agent is added with a row in `packages`, a
//! file in `program`, and a line below.

mod beside;
mod broken;
mod conversation;
mod headless;
mod model;
mod models;
mod network;
mod program;
mod rules;
mod session;
mod sitting;
mod story;

/// Makes a module an agent, with a test for every rule.
macro_rules! tests {
    ($($agent:ident: $program:ident $(, $more:ident)*;)*) => {
        $(mod $agent {
            use crate::program::$program;
            crate::tests!(@rules $program:
                rules::every_message_goes_back_and_comes_again_and_the_users_notes_stay;
                rules::no_version_is_disturbed_and_what_it_tells_of_goes_back;
                rules::uninstall_leaves_the_settings_as_they_were;
                broken::the_agent_goes_on_with_a_full_disk_with_held_locks_and_without_the_binary;
                broken::the_agent_goes_on_without_permission_to_the_store_and_with_a_damaged_store;
                headless::a_headless_run_that_is_killed_holds_nothing_and_an_edit_by_hand_stays;
                headless::a_headless_run_whose_time_is_up_holds_nothing_and_an_edit_by_hand_stays;
            );
            $(crate::tests!(@$more $program);)*
        })*
    };
    (@terminal $program:ident) => {
        crate::tests!(@rules $program:
            session::every_message_of_a_terminal_session_goes_back_and_comes_again;
        );
        crate::tests!(@stories $program);
    };
    (@stories $program:ident) => {
        crate::tests!(@rules $program:
            story::esc_in_a_shell_then_an_edit_by_hand_then_a_message_then_a_revert_keeps_the_edit;
            story::esc_in_a_shell_and_a_revert_at_once_takes_what_it_did;
            story::a_killed_agent_holds_nothing_and_an_edit_by_hand_stays;
            story::a_closed_terminal_holds_nothing_and_an_edit_by_hand_stays;
        );
    };
    (@package $program:ident) => {
        crate::tests!(@rules $program:
            rules::our_package_records_what_our_installation_does;
        );
    };
    (@both $program:ident) => {
        crate::tests!(@rules $program:
            beside::our_package_and_our_installation_together_record_everything_once;
        );
    };
    (@beside $program:ident) => {
        crate::tests!(@rules $program:
            beside::two_at_once_in_one_workspace_go_back_each_by_itself;
        );
    };
    (@work_trees $program:ident) => {
        crate::tests!(@rules $program:
            beside::two_at_once_in_two_work_trees_know_nothing_of_each_other;
        );
    };
    (@anew $program:ident) => {
        crate::tests!(@rules $program:
            story::a_new_session_and_one_that_is_resumed_go_back_message_by_message;
        );
    };
    (@next_day $program:ident) => {
        crate::tests!(@rules $program:
            story::a_session_that_is_resumed_on_the_next_day_goes_back_message_by_message;
        );
    };
    (@background $program:ident) => {
        crate::tests!(@rules $program:
            story::what_a_shell_in_the_background_writes_later_is_offered_and_not_taken;
        );
    };
    (@rewind $program:ident) => {
        crate::tests!(@rules $program:
            story::after_its_own_rewind_a_revert_takes_back_what_that_left;
        );
    };
    (@undo $program:ident) => {
        crate::tests!(@rules $program:
            story::a_message_after_its_own_undo_goes_back_to_what_that_left;
        );
    };
    (@recover $program:ident) => {
        crate::tests!(@rules $program:
            story::what_its_own_undo_removed_of_earlier_messages_is_recovered;
        );
    };
    (@at_once $program:ident) => {
        crate::tests!(@rules $program:
            story::a_queued_message_that_is_sent_at_once_counts_from_the_end_of_the_running_step;
        );
    };
    (@untold $program:ident) => {
        crate::tests!(@rules $program:
            story::a_message_while_a_tool_runs_that_no_hook_is_told_of_counts_from_the_end_of_that_step;
        );
    };
    (@left $program:ident) => {
        crate::tests!(@rules $program:
            headless::what_a_shell_that_a_killed_agent_left_behind_writes_later_stays;
        );
    };
    (@waits $program:ident) => {
        crate::tests!(@rules $program:
            network::a_start_waits_for_the_packages_of_any_plugin_and_without_one_for_none;
        );
    };
    (@named $program:ident) => {
        crate::tests!(@rules $program:
            story::while_a_hook_runs_the_screen_shows_its_name_and_no_shell_line;
        );
    };
    (@models $program:ident) => {
        crate::tests!(@rules $program:
            models::the_model_reads_the_history_through_our_server;
            models::the_model_takes_a_message_back_through_our_server;
        );
    };
    (@rules $program:ident: $($module:ident::$rule:ident;)*) => {
        $(#[test]
        #[ignore = "needs the real agent: `just agents`"]
        fn $rule() {
            crate::$module::$rule(&$program);
        })*
    };
}

use tests;

tests! {
    claude_code: CLAUDE_CODE, package, both, terminal, anew, next_day, beside, work_trees, background, rewind, models;
    codex: CODEX, package, both, terminal, anew, next_day, beside, work_trees, background, undo;
    gemini_cli: GEMINI_CLI, package, both, terminal, anew, next_day, beside, work_trees, background, rewind, named, left;
    qwen_code: QWEN_CODE, package, both, terminal, anew, next_day, beside, work_trees, background, rewind;
    copilot_cli: COPILOT_CLI, package, both, stories, untold, anew, next_day, beside, work_trees, background, undo;
    opencode: OPENCODE, package, both, terminal, anew, next_day, beside, work_trees, background, undo, waits;
    kilo: KILO, package, both, terminal, anew, next_day, beside, work_trees, background, undo;
    cline: CLINE, terminal, at_once, anew, next_day, beside, work_trees, background, undo, recover;
    pi: PI, terminal, anew, next_day, beside, work_trees, background, undo;
}
