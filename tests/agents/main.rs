//! The real agents, with the hook that `ckpt-hook install` puts in, on a scripted model: what they change can be taken back
//! and brought again, and they do not notice.
//!
//! Ignored unless asked for: `just agents` installs the CLIs and runs them. An agent is added with a row in `packages`, a
//! file in `program`, and a line below.

mod beside;
mod broken;
mod conversation;
mod forked;
mod headless;
mod manners;
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
                rules::every_message_goes_back_and_comes_again;
                rules::no_version_is_disturbed;
                rules::uninstall_leaves_the_settings_as_they_were;
                broken::agent_goes_on_without_disk_locks_or_binary;
                broken::agent_goes_on_without_a_usable_store;
                headless::killed_headless_run_holds_nothing;
                headless::timed_out_headless_run_holds_nothing;
            );
            $(crate::tests!(@$more $program);)*
        })*
    };
    (@terminal $program:ident) => {
        crate::tests!(@rules $program:
            session::terminal_sessions_messages_go_back_and_forth;
        );
        crate::tests!(@stories $program);
    };
    (@stories $program:ident) => {
        crate::tests!(@rules $program:
            story::esc_edit_message_and_revert_keep_the_edit;
            story::esc_in_a_shell_and_revert_takes_all;
            story::killed_agent_holds_nothing;
            story::closed_terminal_holds_nothing;
        );
    };
    (@package $program:ident) => {
        crate::tests!(@rules $program:
            rules::our_package_records_what_our_installation_does;
        );
    };
    (@both $program:ident) => {
        crate::tests!(@rules $program:
            beside::package_and_installation_record_everything_once;
        );
    };
    (@beside_claude $program:ident) => {
        crate::tests!(@rules $program:
            beside::settings_of_claude_code_record_nothing_twice;
        );
    };
    (@beside $program:ident) => {
        crate::tests!(@rules $program:
            beside::two_in_one_workspace_go_back_separately;
        );
    };
    (@work_trees $program:ident) => {
        crate::tests!(@rules $program:
            beside::two_in_two_work_trees_are_independent;
        );
    };
    (@cut $program:ident) => {
        crate::tests!(@rules $program:
            forked::conversation_is_cut_and_kept;
        );
    };
    (@forked $program:ident) => {
        crate::tests!(@rules $program:
            forked::conversation_goes_back_with_the_files;
        );
    };
    (@again $program:ident) => {
        crate::tests!(@rules $program:
            forked::second_fork_goes_back_to_the_first;
        );
    };
    (@folder $program:ident) => {
        crate::tests!(@rules $program:
            forked::conversation_goes_back_in_a_folder;
        );
    };
    (@one $program:ident) => {
        crate::tests!(@rules $program:
            forked::one_of_two_conversations_goes_back;
        );
    };
    (@pictured $program:ident) => {
        crate::tests!(@rules $program:
            forked::message_with_a_picture_goes_back;
        );
    };
    (@compacted $program:ident) => {
        crate::tests!(@rules $program:
            forked::conversation_goes_back_after_a_compaction;
        );
    };
    (@summed_up $program:ident) => {
        crate::tests!(@rules $program:
            forked::compacted_conversation_goes_back;
        );
    };
    (@resumed $program:ident) => {
        crate::tests!(@rules $program:
            forked::conversation_goes_on_at_a_terminal;
            forked::conversation_goes_back_after_its_own_rewind;
        );
    };
    (@anew $program:ident) => {
        crate::tests!(@rules $program:
            story::new_and_resumed_sessions_go_back_by_message;
        );
    };
    (@next_day $program:ident) => {
        crate::tests!(@rules $program:
            story::session_resumed_next_day_goes_back_by_message;
        );
    };
    (@background $program:ident) => {
        crate::tests!(@rules $program:
            story::late_background_shells_work_is_offered;
        );
    };
    (@rewind $program:ident) => {
        crate::tests!(@rules $program:
            story::revert_takes_what_its_own_rewind_left;
        );
    };
    (@undo $program:ident) => {
        crate::tests!(@rules $program:
            story::message_goes_back_after_its_own_undo;
        );
    };
    (@alone $program:ident) => {
        crate::tests!(@rules $program:
            story::message_goes_back_after_a_rewind_alone;
        );
    };
    (@recover $program:ident) => {
        crate::tests!(@rules $program:
            story::what_its_own_undo_removed_is_recovered;
        );
    };
    (@at_once $program:ident) => {
        crate::tests!(@rules $program:
            story::queued_message_counts_from_the_steps_end;
        );
    };
    (@untold $program:ident) => {
        crate::tests!(@rules $program:
            story::unreported_message_counts_from_the_steps_end;
        );
    };
    (@left $program:ident) => {
        crate::tests!(@rules $program:
            headless::killed_agents_shells_late_work_stays;
        );
    };
    (@waits $program:ident) => {
        crate::tests!(@rules $program:
            network::start_waits_for_plugins_packages_only;
        );
    };
    (@bad $program:ident) => {
        crate::tests!(@rules $program:
            manners::bad_hook_does_what_the_table_says;
        );
    };
    (@named $program:ident) => {
        crate::tests!(@rules $program:
            story::screen_shows_the_hooks_name;
        );
    };
    (@shows $program:ident) => {
        crate::tests!(@rules $program:
            story::screen_shows_what_went_back;
        );
    };
    (@commands $program:ident) => {
        crate::tests!(@rules $program:
            story::commands_after_esc_leave_the_edit;
        );
    };
    (@queued $program:ident) => {
        crate::tests!(@rules $program:
            story::command_while_a_tool_runs_takes_all_or_nothing;
        );
    };
    (@models $program:ident) => {
        crate::tests!(@rules $program:
            models::the_model_reads_the_history_through_our_server;
            models::model_takes_a_message_back;
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
    claude_code: CLAUDE_CODE, bad, shows, commands, queued, package, both, terminal, anew, next_day, beside, work_trees, background, rewind, alone, models, forked, again, folder, one, pictured, compacted, resumed;
    codex: CODEX, bad, shows, commands, cut, package, both, terminal, anew, next_day, beside, work_trees, background, undo, forked, again, folder, one, pictured, compacted, resumed;
    gemini_cli: GEMINI_CLI, bad, shows, commands, queued, package, both, terminal, anew, next_day, beside, work_trees, background, rewind, alone, named, left, forked, again, folder, one, pictured, compacted, resumed;
    qwen_code: QWEN_CODE, bad, shows, commands, queued, package, both, terminal, anew, next_day, beside, work_trees, background, rewind, alone, forked, again, folder, one, pictured, compacted, resumed;
    copilot_cli: COPILOT_CLI, bad, package, both, beside_claude, stories, untold, anew, next_day, beside, work_trees, background, undo, alone, forked, again, folder, one, pictured, compacted, resumed;
    opencode: OPENCODE, bad, commands, queued, package, both, terminal, anew, next_day, beside, work_trees, background, undo, alone, waits, forked, again, folder, one, pictured, compacted, resumed;
    kilo: KILO, bad, commands, queued, package, both, terminal, anew, next_day, beside, work_trees, background, undo, alone, forked, again, folder, one, pictured, compacted, resumed;
    cline: CLINE, bad, terminal, at_once, anew, next_day, beside, work_trees, background, undo, recover;
    pi: PI, bad, commands, queued, terminal, anew, next_day, beside, work_trees, background, undo, forked, again, folder, one, pictured, compacted, resumed;
    grok: GROK, bad, stories, anew, next_day, beside, work_trees;
    grok_beside_claude: GROK_BESIDE_CLAUDE_CODE, beside;
    kimi_code: KIMI_CODE, bad, stories, anew, next_day, beside, work_trees;
    codebuddy: CODEBUDDY, bad, beside, work_trees, forked, again, folder, one, pictured, summed_up;
}
