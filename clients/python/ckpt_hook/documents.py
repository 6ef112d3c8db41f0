# Generated from schema/json/ckpt-hook.schema.json by `just clients --write`. Do not edit.

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired
else:
    # A type with a field that is a keyword is not written as a class, and its types are evaluated.
    NotRequired = list


class AgentSettings(TypedDict):
    """
    Settings of an agent that the hook can be put into.
    """

    file: str
    """
    The file.
    """
    notes: list[str]
    """
    Why it may not work although it is installed.
    """
    scope: str
    """
    `user` or `project`.
    """
    state: str
    """
    `absent`, `installed`, `outdated`, `hurried` (the timeout is shorter than the hook may take), `elsewhere`
    (another binary is called), `doubled`, `moved` (the binary does not exist or cannot be executed), `blocked` (the
    agent does not call it: the notes say why) or `broken`.
    """


AuthorKind: TypeAlias = Literal['agent', 'user', 'unrecorded']
"""
The kinds of authors.
"""


class AuthorReport(TypedDict):
    """
    Who made a change that keeps a file from going back.
    """

    agent: str | None
    """
    The agent's name.
    """
    kind: AuthorKind
    """
    Who it is.
    """
    message: str | None
    """
    The user message.
    """
    session: str | None
    """
    The session; null if it was no agent.
    """
    step: str | None
    """
    The step.
    """


class BisectStep(TypedDict):
    """
    A step that may be why a command fails.
    """

    message: str
    """
    The message that it belongs to.
    """
    prompt: str | None
    """
    The user's prompt in that message, as far as the settings allow it to be stored.
    """
    step: str
    """
    The step.
    """


class CandidateReport(TypedDict):
    """
    A possible meaning of an ambiguous id.
    """

    id: str
    """
    Our id, in full.
    """
    kind: str
    """
    `message`, `step`, `session`, `operation` or `snapshot`.
    """
    name: str
    """
    The id that matches what was given: ours, the agent's, or a label.
    """
    title: str | None
    """
    For a message, the first line of its prompt.
    """


class CatReport(TypedDict):
    """
    `cat`: a file in a captured state.
    """

    blob: str
    """
    The blob.
    """
    content: str | None
    """
    The content; null if its bytes are not UTF-8.
    """
    content_hex: str | None
    """
    The bytes in hex if they are not UTF-8.
    """
    link: bool
    """
    Whether it is a symbolic link; the content is then its target.
    """
    mode: str
    """
    The octal mode.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    size: int
    """
    Its size in bytes.
    """
    snapshot: str
    """
    The tree of the snapshot that holds it.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


ChangeKind: TypeAlias = Literal['added', 'modified', 'deleted', 'mode', 'type']
"""
How a path differs between two states.
"""


class ConfigChange(TypedDict):
    """
    `config set` and `config unset`.
    """

    file: str
    """
    The settings file.
    """
    former: str | None
    """
    The former value in the file, as TOML; null if there was none.
    """
    key: str
    """
    The setting.
    """
    value: str | None
    """
    The new value in the file, as TOML; null if there is none.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str | None
    """
    The directory that it is for; null for every workspace.
    """


ConversationKind: TypeAlias = Literal['forked', 'cut', 'back', 'manual', 'none']
"""
What is done to a conversation.
"""


ConversationReason: TypeAlias = Literal['not_asked', 'part', 'unsupported', 'no_transcript', 'unknown_format', 'not_found', 'no_program', 'failed', 'no_answer']
"""
Why a conversation stays as it is.
"""


class ConversationReport(TypedDict):
    """
    What an operation does to the conversation of its session.
    """

    argv: list[str]
    """
    The command that goes on in it, to be run in `directory`; empty if there is none.
    """
    directory: str | None
    """
    The directory in which the command runs.
    """
    interface: str | None
    """
    The interface by which it is done, in words.
    """
    kind: ConversationKind
    """
    What is done to it.
    """
    note: str | None
    """
    What else the user should know.
    """
    prefill: list[str]
    """
    The arguments after `argv` that put it into the agent's input box at a terminal; empty if the agent has none.
    """
    prompt: str | None
    """
    What the user wrote in the message, for an input box; null if it is not known.
    """
    reason: ConversationReason | None
    """
    Why nothing is done; null if something is.
    """
    session: str | None
    """
    The agent's id of the conversation that goes on; null while the agent has not named it.
    """


class DiagnosticReport(TypedDict):
    """
    Something that went wrong in a hook.
    """

    agent: str | None
    """
    The agent, if known.
    """
    detail: str | None
    """
    The causes.
    """
    event: str | None
    """
    The event, if known.
    """
    level: str
    """
    `error`, `warning` or `info`.
    """
    message: str
    """
    The message.
    """
    time: int
    """
    The time at which it happened.
    """


DifferenceDetail: TypeAlias = Literal['forgotten', 'different']
"""
What is known of a path that differs, beyond the reason.
"""


DifferenceReason: TypeAlias = Literal['yours', 'unclear', 'shared', 'other_session', 'not_asked', 'unrecorded', 'operation', 'ignored', 'not_captured', 'failed', 'unexplained']
"""
Why a path differs: exactly one reason for each.
"""


class DoctorParameters(TypedDict):
    """
    The parameters of `doctor`.
    """

    all: NotRequired[bool]
    """
    Whether every object of every snapshot is read, however long that takes.
    """


class DuRow(TypedDict):
    """
    The bytes of one workspace, session or message, or of snapshots of one age.
    """

    bytes: int
    """
    The bytes of objects that it was the first to need.
    """
    name: str | None
    """
    The workspace's directory, our id, the age, or the machine; null for what belongs to no session.
    """
    snapshots: int
    """
    How many snapshots it has that were not pruned.
    """


class DuUnmeasured(TypedDict):
    """
    A workspace whose objects could not be measured.
    """

    reason: str
    """
    Why.
    """
    workspace: str
    """
    The workspace's directory.
    """


Encoding: TypeAlias = Literal['utf-8', 'base64']
"""
How bytes are encoded.
"""


EventKind: TypeAlias = Literal['session_start', 'user_message', 'step_start', 'tool_start', 'tool_wait', 'tool_finish', 'step_finish', 'turn_end', 'session_end']
"""
The kinds of event.
"""


FailureKind: TypeAlias = Literal['failed', 'usage', 'unknown', 'ambiguous', 'unavailable', 'busy', 'stale', 'unfinished', 'late', 'cancelled']
"""
The kind of a failure. Kinds may be added: treat an unknown one as `failed`, and go by the exit code.
"""


class FetchedMachine(TypedDict):
    """
    The history of a machine.
    """

    adopted: bool
    """
    Whether a directory here goes on with this history. What came later is then left out.
    """
    id: str
    """
    The id of its history here, for `workspace adopt`.
    """
    machine: str
    """
    The machine.
    """
    messages: int
    """
    How many messages it has.
    """
    pushes: int
    """
    How many pushes came now.
    """


FileAction: TypeAlias = Literal['write', 'delete', 'merge', 'keep', 'none']
"""
What an operation does to a path.
"""


FileResult: TypeAlias = Literal['done', 'planned', 'conflict', 'gap', 'failed']
"""
The result for a path.
"""


class Finding(TypedDict):
    """
    A finding of `doctor`.
    """

    hint: str | None
    """
    What the user can do.
    """
    level: str
    """
    `ok`, `note`, `warning` or `error`.
    """
    message: str
    """
    The finding.
    """
    repaired: bool
    """
    Whether `--repair` repaired it.
    """
    subject: str
    """
    The subject of the check.
    """


class ForgetRemote(TypedDict):
    """
    A repository that still has what is forgotten.
    """

    address: str
    """
    Its address, without a password.
    """
    name: str
    """
    What the workspace is called there.
    """


class GapReport(TypedDict):
    """
    A path that a snapshot could not hold.
    """

    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    reason: str
    """
    Why the snapshot does not hold it.
    """


class GcSession(TypedDict):
    """
    What happens to a session.
    """

    agent: str
    """
    The agent.
    """
    bytes: int | None
    """
    The bytes that are freed by pruning it and every session used before it; null if they were not measured.
    """
    goes: bool
    """
    Whether its snapshots go.
    """
    reason: str
    """
    Why it goes (`unused`, `size`), or stays (`recent`, `open`, `reverted`, `operation`, `label`, `young`, `clock`).
    """
    session: str
    """
    Our id.
    """
    used_at: int
    """
    The time of its last use.
    """
    workspace: str
    """
    The workspace's directory.
    """


class GcWorkspace(TypedDict):
    """
    What happened to the objects of a workspace.
    """

    bytes_after: int
    """
    The bytes of its packs after.
    """
    bytes_before: int
    """
    The bytes of its packs before.
    """
    packs_after: int
    """
    How many packs there are.
    """
    packs_before: int
    """
    How many packs there were.
    """
    pruned: int
    """
    How many snapshots were pruned, or would be.
    """
    removed: bool
    """
    Whether all of it was removed, or would be, because its directory is gone.
    """
    skipped: str | None
    """
    Why its packs were left as they are.
    """
    workspace: str
    """
    Its directory.
    """


GitPart: TypeAlias = Literal['branch', 'head', 'index']
"""
A part of git's own state.
"""


GitReport = TypedDict(
    'GitReport',
    {
        'from': str | None,
        'name': str,
        'part': GitPart,
        'reason': str | None,
        'result': FileResult,
        'to': str | None,
        'unclear': bool,
        'way': str | None,
    },
)


class Hunk(TypedDict):
    """
    Lines that differ, as in a unified diff.
    """

    lines: list[str]
    """
    The lines, each after ` `, `-` or `+`, with its line end.
    """
    new_lines: int
    """
    How many lines after.
    """
    new_start: int
    """
    The first line after, from 1; if there is none, the line that precedes the hunk.
    """
    old_lines: int
    """
    How many lines before.
    """
    old_start: int
    """
    The first line before, from 1; if there is none, the line that precedes the hunk.
    """


class HunkParameter(TypedDict):
    """
    A hunk, by its place in the file as it is now. A hunk of a plan's report may be passed as it is.
    """

    old_lines: int
    """
    How many lines it has.
    """
    old_start: int
    """
    Its first line, from 1; if it has none, the line that precedes it.
    """


class InitializeParameters(TypedDict):
    """
    The parameters of `initialize`. Others are ignored: a client may introduce itself.
    """

    protocol: NotRequired[int | None]
    """
    The highest version of the protocol that the client speaks.
    """


class InstallParameters(TypedDict):
    """
    The parameters of `install`: some `agents`, or `all`.
    """

    agents: NotRequired[list[str]]
    """
    The agents, by name.
    """
    all: NotRequired[bool]
    """
    Every agent on this machine.
    """
    dry_run: NotRequired[bool]
    """
    Whether the report only says what would change.
    """
    project: NotRequired[bool]
    """
    Whether it goes into the project's settings, and not into the user's.
    """


KeptKind: TypeAlias = Literal['yours', 'conflict', 'other_agent', 'shared', 'unclear', 'database', 'blocked', 'moved', 'not_captured', 'forgotten', 'other_message']
"""
Why files stay.
"""


LabelAction: TypeAlias = Literal['added', 'unchanged', 'deleted', 'listed']
"""
The actions of `label`.
"""


LabelledKind: TypeAlias = Literal['message', 'snapshot']
"""
The things that a label can name.
"""


LineAuthor: TypeAlias = Literal['agent', 'shared', 'unclear', 'outside', 'operation', 'unrecorded', 'unknown', 'uncaptured']
"""
Who wrote lines.
"""


Looked: TypeAlias = Literal['everywhere', 'around']
"""
Which part of a workspace was scanned.
"""


class MessageRoot(TypedDict):
    """
    What a message did in another root of its session.
    """

    additions: int
    """
    Lines added.
    """
    deletions: int
    """
    Lines removed.
    """
    files: int
    """
    How many files its steps changed there.
    """
    message: str
    """
    The message's id there.
    """
    unclear: int
    """
    How many files they or another author may have changed.
    """
    workspace: str
    """
    The root.
    """


MessageState: TypeAlias = Literal['live', 'hidden', 'discarded']
"""
The state of a message.
"""


class MessagesParameters(TypedDict):
    """
    The parameters of `messages`.
    """

    everywhere: NotRequired[bool]
    """
    Those of every workspace.
    """
    exact: NotRequired[bool]
    """
    Whether ids have to be full ones: no prefix, no label, no `last`.
    """
    limit: NotRequired[int | None]
    """
    How many at most.
    """
    session: NotRequired[str | None]
    """
    Those of one session, by any id.
    """
    since: NotRequired[int | None]
    """
    Only those after this position in the order of messages, their `seq`.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


NoteCode: TypeAlias = Literal['borrowed', 'finished', 'open', 'step_not_recorded', 'message_not_captured', 'no_step', 'not_compared', 'unread', 'not_captured', 'directory_permissions', 'unknown_path', 'version_control', 'commits', 'head', 'staged', 'branch_moved', 'branch_made', 'branch_gone', 'tags', 'tags_gone', 'stashed', 'stash_dropped', 'pushed', 'repository_removed', 'repository_made', 'repositories_below', 'git_under_way', 'submodules', 'no_repository', 'other_directories', 'outside', 'moved_in', 'ignored_removed', 'ignored_made', 'ignored_changed', 'folders_stay', 'discarded', 'nothing_reverted', 'other_sessions', 'at_work', 'differs']
"""
The kinds of note.
"""


class NoteReport(TypedDict):
    """
    A note of an operation: the sentence of `notes`, and the same for programs.
    """

    about: list[str]
    """
    The paths, branches, directories or ids that it is about: all of them, even if the sentence names only the first
    ones.
    """
    code: NoteCode
    """
    The kind of note.
    """
    text: str
    """
    The sentence.
    """


class GapNotification(TypedDict):
    """
    A snapshot could not hold paths that the one before it could.
    """

    gaps: list[GapReport]
    """
    The paths, and why.
    """
    seq: int
    """
    Its position in the order of everything that happened in this store.
    """
    step: str
    """
    The step that ended with it.
    """
    type: Literal['gap']
    workspace: str | None
    """
    The workspace's directory.
    """


class FailedNotification(TypedDict):
    """
    Something went wrong in a hook.
    """

    diagnostic: DiagnosticReport
    """
    The diagnostic.
    """
    seq: int
    """
    Its position in the order of everything that happened in this store.
    """
    type: Literal['failed']
    workspace: str | None
    """
    The workspace's directory.
    """


class BusyNotification(TypedDict):
    """
    The sessions at work in a workspace have changed.
    """

    agents_at_work: list[str]
    """
    Sessions with a running tool, by agent and session; empty if there are none.
    """
    seq: int
    """
    The event before it.
    """
    type: Literal['busy']
    workspace: str | None
    """
    The workspace's directory.
    """


class RewoundNotification(TypedDict):
    """
    An agent's own rewind left messages of a session, or a fork of its conversation alone did: their files are still
    here. Like `busy`, it is a state.
    """

    messages: list[str]
    """
    All messages that are no longer in its conversation, oldest first; a revert to the first takes their files back.
    """
    seq: int
    """
    The event before it.
    """
    session: str
    """
    The session.
    """
    type: Literal['rewound']
    workspace: str | None
    """
    The workspace's directory.
    """


class ResetNotification(TypedDict):
    """
    The store is a different one, or was created again: discard what you know about it.
    """

    seq: int
    """
    The current position in the order of this store.
    """
    type: Literal['reset']


OperationKind: TypeAlias = Literal['revert', 'redo', 'unrevert', 'restore']
"""
The kinds of operation.
"""


OperationName: TypeAlias = Literal['revert', 'redo', 'unrevert', 'restore', 'undo']
"""
The operations of the server.
"""


Outcome: TypeAlias = Literal['restored', 'partial', 'nothing', 'unavailable']
"""
How an operation ended.
"""


class PageReport(TypedDict):
    """
    `page`: where it can be seen. The server goes on after this document.
    """

    address: str
    """
    The address. It contains the key: who has it can read the history, and revert.
    """
    port: int
    """
    The port on 127.0.0.1.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class PathText(TypedDict):
    """
    A path for people, with its bytes in hex if they are not UTF-8.
    """

    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """


PlanChoice: TypeAlias = Literal['take', 'overwrite', 'keep', 'again']
"""
How else one file of a plan can be planned.
"""


class Progress1(TypedDict):
    """
    It looks at the workspace.
    """

    bytes: int
    """
    Bytes read and stored.
    """
    files: int
    """
    Files looked at.
    """
    phase: Literal['looking']
    version: Literal[1]
    """
    The version of the document's format.
    """


class Progress2(TypedDict):
    """
    It puts files back.
    """

    done: int
    """
    Files that are done.
    """
    of: int
    """
    Files in all.
    """
    phase: Literal['applying']
    version: Literal[1]
    """
    The version of the document's format.
    """


Progress: TypeAlias = Progress1 | Progress2
"""
The progress of an operation: the parameters of the notification `progress` without the `id` of the request, and a
line of `--json-lines`.
"""


class PushReport(TypedDict):
    """
    What a push sends, or would send.
    """

    anew: bool
    """
    Whether everything was sent anew, without what was forgotten or pruned. The server may keep the old objects until it
    removes what nothing refers to.
    """
    bytes: int
    """
    How many bytes their objects have, before they are compressed.
    """
    changes: int
    """
    How many changes of files are sent.
    """
    former: str | None
    """
    What the workspace was called there before. What this machine has pushed by that name is removed.
    """
    ignored: list[PathText]
    """
    The ignored files: those that are not sent or, if it is encrypted, those that go along.
    """
    keys: list[str]
    """
    The public keys for which it is encrypted; none in the open.
    """
    machine: str
    """
    What this machine is called there.
    """
    messages: int
    """
    How many messages are sent.
    """
    name: str
    """
    What the workspace is called there.
    """
    pruned: int
    """
    How many snapshots that were pruned here are still there. They go with the next push once they are the larger part.
    """
    pushed: bool
    """
    Whether it was sent. False for a dry run, and if everything is there already.
    """
    remote: str
    """
    The repository that it goes to.
    """
    secret_prompts: int
    """
    How many messages are sent whose text looks as if it held a secret.
    """
    secrets: list[PathText]
    """
    The files that are sent and look as if they held a secret.
    """
    snapshots: int
    """
    How many snapshots are sent.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace.
    """


ReasonCode: TypeAlias = Literal['same_lines', 'binary', 'too_large', 'permissions', 'type', 'symlink', 'edited', 'deleted', 'recreated', 'changed', 'shared', 'unclear', 'not_captured', 'forgotten', 'blocked', 'database', 'moved', 'yours', 'failed', 'not_done', 'not_synced', 'not_kept']
"""
Why a file stays, completely or in part, or what went wrong with it: `reason` for programs.
"""


class Rename(TypedDict):
    """
    What an added file was before, as `git diff -M` detects it.
    """

    additions: int | None
    """
    Lines added to the content under the other name; null if there are no lines to count.
    """
    deletions: int | None
    """
    Lines removed from it.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    similarity: int
    """
    How much of the content is the same, as a percentage.
    """


class RevertedSession(TypedDict):
    """
    A session with something reverted.
    """

    agent: str
    """
    Its agent.
    """
    messages_hidden: int
    """
    How many messages are hidden.
    """
    revert_point: str | None
    """
    The message that it is reverted to; null if only a part is undone.
    """
    session: str
    """
    Its id.
    """


class ServerReport(TypedDict):
    """
    A program.
    """

    name: str
    """
    Its name.
    """
    version: str
    """
    Its version.
    """


class SessionReport(TypedDict):
    """
    A session.
    """

    agent: str
    """
    The agent.
    """
    agent_id: str
    """
    The agent's.
    """
    ended: bool
    """
    Whether it was closed.
    """
    files: int
    """
    How many files they changed.
    """
    forked_from: str | None
    """
    The session from whose conversation it was forked in the agent itself, if something was recorded of that one.
    """
    id: str
    """
    Our id.
    """
    last_event: int
    """
    The time of its last event.
    """
    messages: int
    """
    How many messages it has.
    """
    parent: str | None
    """
    The session that started it.
    """
    revert_point: str | None
    """
    The message that it is reverted to.
    """
    started: int
    """
    The time of its start.
    """
    steps: int
    """
    The number of steps.
    """
    unclear: int
    """
    How many files they or another author may have changed.
    """
    workspace: str
    """
    Its workspace's directory.
    """


class SessionsParameters(TypedDict):
    """
    The parameters of `sessions`.
    """

    everywhere: NotRequired[bool]
    """
    Those of every workspace.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class SessionsReport(TypedDict):
    """
    `sessions`.
    """

    sessions: list[SessionReport]
    """
    Newest first.
    """
    set_aside: str | None
    """
    Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    """
    unknown_workspaces: int
    """
    If the list is empty: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


SettingSource: TypeAlias = Literal['default', 'file', 'workspace', 'environment', 'flag']
"""
Where the value of a setting comes from.
"""


class SettingsChange(TypedDict):
    """
    A settings file of an agent.
    """

    action: str
    """
    `created`, `updated`, `unchanged` or `removed`.
    """
    agent: str
    """
    The agent.
    """
    diff: str | None
    """
    The change as a unified diff.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    file: str
    """
    The file.
    """
    notes: list[str]
    """
    What else the user should know.
    """


class ShowParameters(TypedDict):
    """
    The parameters of `show`.
    """

    exact: NotRequired[bool]
    """
    Whether the id has to be a full one: no prefix, no label, no `last`.
    """
    id: str
    """
    Any id.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class SkippedAgent(TypedDict):
    """
    An agent whose settings were left as they are.
    """

    agent: str
    """
    The agent.
    """
    failed: bool
    """
    Whether an attempt failed; otherwise there was nothing to do.
    """
    hint: str | None
    """
    What the user can do.
    """
    reason: str
    """
    Why it was not changed.
    """


class SnapshotEntry(TypedDict):
    """
    A snapshot in a list.
    """

    gaps: int
    """
    How many paths it does not hold.
    """
    label: str | None
    """
    Its label.
    """
    message: str | None
    """
    The newest message that it was taken just before, if any.
    """
    messages: list[str]
    """
    All messages before which nothing had changed since it was taken, newest first.
    """
    snapshot: str
    """
    The tree.
    """
    time: int
    """
    The time at which it was taken.
    """


class SnapshotsReport(TypedDict):
    """
    `log --snapshots`.
    """

    set_aside: str | None
    """
    Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    """
    snapshots: list[SnapshotEntry]
    """
    Newest first.
    """
    unknown_workspaces: int
    """
    If the list is empty: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class StatusParameters(TypedDict):
    """
    The parameters of `status`.
    """

    exact: NotRequired[bool]
    """
    Whether ids have to be full ones: no prefix, no label, no `last`.
    """
    session: NotRequired[str | None]
    """
    One session, by any id.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class StepSummary(TypedDict):
    """
    A step without its changes, which `show` lists.
    """

    files: int
    """
    How many files it changed.
    """
    finished: int | None
    """
    The time of its end.
    """
    id: str
    """
    Our id.
    """
    message: str
    """
    Its message.
    """
    open: bool
    """
    Whether it is still open.
    """
    recovered: bool
    """
    Whether it was closed without its own finish.
    """
    session: str
    """
    Its session.
    """
    started: int
    """
    The time of its start.
    """
    unprotected: str | None
    """
    Why its changes cannot be put back, if they cannot.
    """


class SubscribeParameters(TypedDict):
    """
    The parameters of `subscribe`.
    """

    events: NotRequired[list[str] | None]
    """
    The names of the notifications that are wanted; all of them without it.
    """
    everywhere: NotRequired[bool]
    """
    Notifications of every workspace.
    """
    since: NotRequired[int | None]
    """
    The last position that the client has handled; without it, from now on.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class SubscribeResult(TypedDict):
    """
    The result of `subscribe`.
    """

    seq: int
    """
    The position after which notifications begin.
    """


TakenBy: TypeAlias = Literal['agent', 'shared', 'unclear', 'outside', 'operation', 'uncaptured']
"""
Who removed a file.
"""


OutsideTimelineEntry = TypedDict(
    'OutsideTimelineEntry',
    {
        'additions': int,
        'deletions': int,
        'files': int,
        'from': str | None,
        'time': int,
        'to': str | None,
        'type': Literal['outside'],
    },
)


class TimelineParameters(TypedDict):
    """
    The parameters of `timeline`.
    """

    limit: NotRequired[int | None]
    """
    How many entries at most.
    """
    search: NotRequired[str | None]
    """
    Only messages whose prompt, or the path of a file that they changed, contains this, ignoring case.
    """
    text: NotRequired[str | None]
    """
    Only messages that added or removed this text in a file.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


ToolKind: TypeAlias = Literal['edit', 'read']
"""
What a tool may change.
"""


class ToolUse(TypedDict):
    """
    A tool that ran in a step, as the step's finish names it.
    """

    paths: NotRequired[list[str]]
    """
    The files that an edit tool names, absolute or relative to the event's `cwd`.
    """
    tool_command: NotRequired[str | None]
    """
    The command line that it ran, if it ran one.
    """
    tool_kind: NotRequired[ToolKind | None]
    """
    What it may have changed; anything by default.
    """
    tool_name: NotRequired[str | None]
    """
    The tool's name.
    """
    tool_use_id: str
    """
    The agent's id of this use of the tool.
    """


class UnclearReport(TypedDict):
    """
    A file with an unclear change.
    """

    message: str
    """
    The message that may have led to it.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    reason: str
    """
    Why it is unclear.
    """


class UnrecordedReport(TypedDict):
    """
    A conversation that an agent has on record, and of which no event came.
    """

    agent: str
    """
    The agent.
    """
    called: str
    """
    What people call it.
    """
    session: str
    """
    The agent's id of the session.
    """
    time: int
    """
    The time of its last entry.
    """


class WayParameters(TypedDict):
    """
    The parameters of an operation. Those that it does not need are left out.
    """

    alone: NotRequired[bool]
    """
    For a revert: only that message.
    """
    force: NotRequired[bool]
    """
    Whether to go ahead where it would refuse.
    """
    git: NotRequired[bool]
    """
    Whether git's own state moves, too.
    """
    id: NotRequired[str | None]
    """
    For a restore: the state.
    """
    message: NotRequired[str | None]
    """
    For a revert: the message.
    """
    on_conflict: NotRequired[str | None]
    """
    What to do with files that have changed since.
    """
    only: NotRequired[list[PathText]]
    """
    The files, and folders with all that is below them; all paths if empty.
    """
    operation: OperationKind
    """
    The operation.
    """
    step: NotRequired[str | None]
    """
    For a revert: only one step.
    """
    unclear: NotRequired[str | None]
    """
    What to do with changes that may be another author's.
    """
    workspace: NotRequired[str | None]
    """
    The workspace, if it is not the one of the report.
    """


class WorkspaceParameters(TypedDict):
    """
    The parameters of `operations` and `unsubscribe`.
    """

    workspace: NotRequired[str | None]
    """
    A directory of the workspace; the server's current directory if it is not given.
    """


WorkspaceState: TypeAlias = Literal['here', 'replaced', 'gone']
"""
Whether the directory of a history still exists.
"""


class AgentReport(TypedDict):
    """
    An agent.
    """

    agent: str
    """
    Its name.
    """
    found: bool | None
    """
    Whether it is on this machine; null if that is not known.
    """
    lowest_version: str | None
    """
    The lowest version with which anything is recorded; null if that is not known.
    """
    managed: str | None
    """
    The administrator's file that calls the hook; null if there is none.
    """
    notes: list[str]
    """
    What a user of this version should know: what is not recorded with it.
    """
    package: str | None
    """
    The file that shows that our package is installed in the agent; null if it is not.
    """
    proven_on: list[str]
    """
    The versions with which the hook was seen at work. If there are none, it was written from the agent's
    documentation.
    """
    reason: str | None
    """
    What was found of it, or what is missing.
    """
    settings: list[AgentSettings]
    """
    The settings that the hook can be put into. If there are none, it has to be put there by hand.
    """
    version: str | None
    """
    The version on this machine; null if it is not known.
    """
    works: bool
    """
    Whether an event would arrive, as far as the agent's settings and the administrators' tell.
    """


class AgentsReport(TypedDict):
    """
    `install --list`: the agents, and where the hook is installed.
    """

    agents: list[AgentReport]
    """
    Every agent whose hooks are understood.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class BisectFile(TypedDict):
    """
    A file that may be why a command fails.
    """

    kind: ChangeKind
    """
    How it changed.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    step: str | None
    """
    The step that changed it; null if no step did.
    """


class BisectReport(TypedDict):
    """
    Where a command began to fail.
    """

    changed: int
    """
    How many files differ between the two states.
    """
    fails: str
    """
    The tree of the first state with which it fails.
    """
    files: list[BisectFile]
    """
    The files with which it fails: each is needed for that. All that differ, if that was not found out.
    """
    runs: int
    """
    How often the command ran.
    """
    steps: list[BisectStep]
    """
    The steps that made what it fails with, in their order; none if only changes from outside did.
    """
    succeeds: str
    """
    The tree of the last state with which the command succeeds.
    """
    untested: int
    """
    How many states in between could not be tested: the command exited with 125.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace.
    """


class BlameParameters(TypedDict):
    """
    The parameters of `blame`.
    """

    contents: NotRequired[bool]
    """
    Whether the report gives the bytes of the file.
    """
    path: str | PathText
    """
    The file, below that directory.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class BlameStep(TypedDict):
    """
    A step that wrote lines.
    """

    agent: str
    """
    The agent.
    """
    message: str
    """
    The message that led to it.
    """
    prompt: str | None
    """
    The user's prompt, as far as the settings allow it to be stored.
    """
    session: str
    """
    Its session.
    """
    state: MessageState
    """
    The state of the message.
    """
    step: str
    """
    The step.
    """


class BranchReport(TypedDict):
    """
    A recorded state in a new directory.
    """

    branch: str | None
    """
    The new branch, where the directory is a git work tree.
    """
    commit: str | None
    """
    The commit at which the branch begins: the one that was checked out in that state.
    """
    conversation: ConversationReport | None
    """
    The conversation that ends just before the message, made to go on there; null where there is none.
    """
    directory: str
    """
    The new directory.
    """
    files: int
    """
    How many files and links are in it.
    """
    gaps: list[GapReport]
    """
    What that state had and no snapshot holds: it is missing.
    """
    snapshot: str
    """
    The tree of the snapshot that holds it.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace whose state it is.
    """


class ChangeReport(TypedDict):
    """
    One path that differs between two states.
    """

    additions: int | None
    """
    Lines added; null if there are no lines to count.
    """
    attribution: str | None
    """
    `agent`, `shared`, `outside` or `unclear`; null if the two states do not show who made the change.
    """
    binary: bool
    """
    Whether a side has bytes that are not text.
    """
    deletions: int | None
    """
    Lines removed.
    """
    kind: ChangeKind
    """
    The kind of change.
    """
    new_blob: str | None
    """
    The blob after.
    """
    new_mode: str | None
    """
    The octal mode after.
    """
    old_blob: str | None
    """
    The blob before.
    """
    old_mode: str | None
    """
    The octal mode before.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    reason: str | None
    """
    Why it is unclear whose it is.
    """
    renamed_from: Rename | None
    """
    For an added path: the deleted path of the same difference that it was before.
    """
    renamed_to: PathText | None
    """
    For a deleted path: the added path of the same difference that it became.
    """
    whitespace_only: bool
    """
    Whether only white space differs.
    """


class Content(TypedDict):
    """
    The bytes of a file.
    """

    bytes: int
    """
    How many bytes there are.
    """
    encoding: Encoding
    """
    How `text` is encoded: the bytes themselves, or base64 if they are not UTF-8.
    """
    text: str | None
    """
    The bytes; null if there are too many. Then the server's method `contents` reads them by their blob.
    """


class ContentsParameters(TypedDict):
    """
    The parameters of `contents`: a `blob`, or a `path` and an `id`.
    """

    blob: NotRequired[str | None]
    """
    The blob, as documents name it.
    """
    exact: NotRequired[bool]
    """
    Whether the id has to be a full one: no prefix, no label, no `last`.
    """
    id: NotRequired[str | None]
    """
    The state that has it, by any id: of a message, a step or an operation the one just before it.
    """
    offset: NotRequired[int]
    """
    The first byte that is wanted.
    """
    path: NotRequired[str | PathText | None]
    """
    A file, below that directory.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class ContentsResult(TypedDict):
    """
    The result of `contents`.
    """

    blob: str
    """
    The blob.
    """
    content: Content
    """
    The bytes, at most 8 MiB of them.
    """
    next_offset: int | None
    """
    Where to go on; null at the end.
    """
    offset: int
    """
    The position of the first byte below.
    """
    size: int
    """
    How many bytes it has.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class ConversationAbilities(TypedDict):
    """
    What can be done to the conversation of a session.
    """

    argv: list[str]
    """
    The command that goes on in the conversation that a revert made, until a message says which one goes on; else empty.
    """
    cut: bool
    """
    Whether `--conversation cut` can shorten it.
    """
    directory: str | None
    """
    The directory in which that command runs.
    """
    fork: bool
    """
    Whether `--conversation fork` can make a new one.
    """
    inside: bool
    """
    Whether a command inside the agent does both halves.
    """
    reason: ConversationReason | None
    """
    Why a fork cannot be made; null if it can.
    """


class ConversationPlace(TypedDict):
    """
    Where a message is in its agent's conversation.
    """

    entry: str | None
    """
    The entry of the record that holds the message.
    """
    left: bool
    """
    Whether the agent has left it: it is no longer in the conversation.
    """
    parent: str | None
    """
    The entry before it.
    """
    prompt_id: str | None
    """
    The agent's id of the prompt.
    """
    reason: ConversationReason | None
    """
    Why the entry is not known; null if it is.
    """
    session: str
    """
    The agent's id of the conversation.
    """
    transcript: str | None
    """
    The agent's record of it, if an event named one.
    """
    turn: str | None
    """
    The agent's id of the turn.
    """


DiffReport = TypedDict(
    'DiffReport',
    {
        'files': list[ChangeReport],
        'from': str,
        'from_name': str | None,
        'to': str,
        'to_name': str | None,
        'version': Literal[1],
    },
)


class Difference(TypedDict):
    """
    A path that differs.
    """

    by: list[AuthorReport]
    """
    Whose change it is, if the reason is another author's change.
    """
    detail: DifferenceDetail | None
    """
    What is known beyond the reason, if anything is.
    """
    moved_from: PathText | None
    """
    For a file that came: the one of the same list that went and has its bytes. Both are one rename.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    reason: DifferenceReason
    """
    Why it differs.
    """
    words: str
    """
    The same in words.
    """


class DoctorReport(TypedDict):
    """
    `doctor`.
    """

    findings: list[Finding]
    """
    The findings, in the order of the checks.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class DuReport(TypedDict):
    """
    `du`.
    """

    by: str
    """
    How the rows are grouped: by `workspace`, `session`, `message`, `age` or `machine`.
    """
    bytes: int
    """
    The bytes of all files of the store, without those that are shared.
    """
    caches: int
    """
    The bytes of the caches.
    """
    database: int
    """
    The bytes of the session store and its log.
    """
    files: int
    """
    The number of these files.
    """
    objects: int
    """
    The bytes of packs and their indexes.
    """
    other: int
    """
    The bytes of everything else.
    """
    reclaimable: int
    """
    The bytes of unneeded objects, and of those that `gc` would prune now.
    """
    rows: list[DuRow]
    """
    The largest first; by age, the newest first.
    """
    shared: int
    """
    The bytes that are shared with the user's repositories by links, and take no room.
    """
    unmeasured: list[DuUnmeasured]
    """
    The workspaces whose objects could not be measured. The totals count their files; the rows lack them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class EarlierVersion(TypedDict):
    """
    What would come in the place of a file in conflict.
    """

    blob: str | None
    """
    Its blob.
    """
    content: Content | None
    """
    The content; null if the file would go, or if it is a directory.
    """


class Event(TypedDict):
    """
    One event of one session.

    Ids are the agent's own: opaque text that is only stored and compared, and never becomes part of a path or a
    command.
    """

    agent: NotRequired[str]
    """
    The agent's name, as for `ckpt-hook install`; `generic` by default.
    """
    background: NotRequired[bool | None]
    """
    With a tool's finish: whether a command of it goes on in the background. With a turn's end: whether any does.
    """
    cwd: NotRequired[str | None]
    """
    The agent's working directory; by default that of the hook.
    """
    duration_ms: NotRequired[int | None]
    """
    With a tool's finish: how long it ran, in milliseconds, not counting the wait for permission.
    """
    event: EventKind
    """
    The kinds of event.
    """
    interrupted: NotRequired[bool]
    """
    With a tool's finish or a turn's end: whether the user interrupted the agent.
    """
    message_id: NotRequired[str | None]
    """
    The agent's id of the user message, unique for each; made up if it has none.
    """
    parent_session_id: NotRequired[str | None]
    """
    The session that started this one, if it is a sub-agent's.
    """
    paths: NotRequired[list[str]]
    """
    The files that an edit tool names, absolute or relative to `cwd`.
    """
    prompt: NotRequired[str | None]
    """
    The user's prompt.
    """
    roots: NotRequired[list[str]]
    """
    Further directories in which the session works, absolute or relative to `cwd`. Once named, they stay its roots.
    """
    session_id: str
    """
    The agent's id of the conversation.
    """
    step_id: NotRequired[str | None]
    """
    The agent's id of the step.
    """
    tells_of_tools: NotRequired[bool]
    """
    Whether the agent reports every tool that may change a file before it runs, so that it changes nothing while no
    tool runs. It is enough to say so once; the first event of a tool implies it.
    """
    tool_command: NotRequired[str | None]
    """
    The command line that the tool runs, if it runs one.
    """
    tool_kind: NotRequired[ToolKind | None]
    """
    What the tool may change; anything by default.
    """
    tool_name: NotRequired[str | None]
    """
    The tool's name.
    """
    tool_use_id: NotRequired[str | None]
    """
    The agent's id of this use of the tool.
    """
    tools: NotRequired[list[ToolUse]]
    """
    With a step's finish: the tools that ran in it. One of which neither start nor finish was reported is known by that.
    """
    transcript_path: NotRequired[str | None]
    """
    The agent's own record of the conversation.
    """
    turn_id: NotRequired[str | None]
    """
    The agent's id of the turn, which messages that are sent while the agent works share.
    """


class Failure(TypedDict):
    """
    A failure.
    """

    candidates: list[CandidateReport]
    """
    What an ambiguous id may mean; empty for every other kind.
    """
    causes: list[str]
    """
    The causes, outermost first.
    """
    code: int
    """
    The exit code.
    """
    hint: str | None
    """
    What the user can do.
    """
    kind: FailureKind
    """
    The kind of failure, for programs.
    """
    message: str
    """
    What failed, in a sentence.
    """
    notes: list[str]
    """
    What was done before it failed.
    """


class FetchReport(TypedDict):
    """
    What came from other machines.
    """

    machines: list[FetchedMachine]
    """
    The machines that pushed it, other than this one.
    """
    name: str
    """
    What the workspace is called there.
    """
    remote: str
    """
    The repository that it came from.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace.
    """


class FileContents(TypedDict):
    """
    The contents of a file before and after the operation.
    """

    after: Content | None
    """
    The content afterwards: for a merge, its result; for a file that stays, the one before.
    """
    before: Content | None
    """
    The content before; null if there is none, or if it is a directory.
    """
    earlier: EarlierVersion | None
    """
    For a file in conflict, what a plan with `on_conflict` `overwrite` would make of it. Null for all others, and if it
    would stay all the same.
    """
    hunks: list[Hunk] | None
    """
    The lines that differ, in order, with three lines around them; null if a side is not text or is left out, or if
    the two have little in common and many lines.
    """


class FileReport(TypedDict):
    """
    One path of an operation.
    """

    action: FileAction
    """
    The action.
    """
    additions: int | None
    """
    Lines that the operation adds to what is on disk; null if there are no lines to count.
    """
    by: list[AuthorReport]
    """
    Whose changes keep it from going back, if the reason names an author.
    """
    choices: list[PlanChoice]
    """
    How else it can be planned: `keep` with `on_conflict` `keep`, the others with the parameters that the way out in
    `kept` has, and `only` this file, or all files of a database.
    """
    contents: FileContents | None
    """
    With `--contents`, the bytes.
    """
    deletions: int | None
    """
    Lines that it removes.
    """
    moved_from: Rename | None
    """
    For a file that comes: the one of the same operation that goes and becomes it.
    """
    new_blob: str | None
    """
    The blob afterwards.
    """
    new_mode: str | None
    """
    The octal mode afterwards.
    """
    old_blob: str | None
    """
    The blob before; null if no snapshot holds it.
    """
    old_mode: str | None
    """
    The octal mode before; null if nothing is there.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    reason: str | None
    """
    The reason, if it is not obvious.
    """
    reason_code: ReasonCode | None
    """
    The same for programs; null without a reason, and in operations of older versions.
    """
    result: FileResult
    """
    The result.
    """
    unclear: bool
    """
    Whether it stays, completely or in part, because it is unclear whose change it is. `--unclear take` undoes it.
    """


class ForgetWorkspace(TypedDict):
    """
    What is forgotten of a workspace.
    """

    busy: bool
    """
    Whether a step or an operation is open there. Only a dry run answers then; nothing is forgotten before it has
    ended.
    """
    files: list[PathText]
    """
    The files, and the directories that go as a whole, by path.
    """
    machine: str | None
    """
    The machine from which its history was fetched; null if it was recorded here, or is adopted.
    """
    prompts: int
    """
    How many messages lose, or lost, their prompt.
    """
    remotes: list[ForgetRemote]
    """
    The repositories to which its history was pushed. They have it until the next push to each, or until its refs are
    removed there, if all of it is forgotten.
    """
    removed: bool
    """
    Whether all of it is forgotten.
    """
    snapshots: int
    """
    How many snapshots hold, or held, something of it.
    """
    workspace: str
    """
    Its directory.
    """


class GcReport(TypedDict):
    """
    `gc`.
    """

    bytes_after: int
    """
    The bytes after it; for a dry run, an estimate.
    """
    bytes_before: int
    """
    The bytes of the store before it.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    sessions: list[GcSession]
    """
    The sessions that still have snapshots, the longest unused first.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspaces: list[GcWorkspace]
    """
    A row per workspace.
    """


class GoneReport(TypedDict):
    """
    A file that is gone, in its last version.
    """

    agent: str | None
    """
    The agent.
    """
    blob: str | None
    """
    Its blob; null if its bytes are not stored.
    """
    by: TakenBy
    """
    Who removed it.
    """
    message: str | None
    """
    The message that led to it.
    """
    mode: str
    """
    The octal mode that it had.
    """
    operation: str | None
    """
    The operation that removed it, or removed it again.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    prompt: str | None
    """
    The user's prompt in that message, as far as the settings allow it to be stored.
    """
    renamed_to: PathText | None
    """
    The file that it became, if it was renamed.
    """
    time: int | None
    """
    When it was first seen to be gone; null if that is only noticed now.
    """


class InitializeResult(TypedDict):
    """
    The result of `initialize`.
    """

    conversation: dict[str, ConversationAbilities]
    """
    What can be done to the conversations of each agent, by its name.
    """
    documents: int
    """
    The version of the documents.
    """
    methods: list[str]
    """
    The methods.
    """
    notifications: list[str]
    """
    The notifications.
    """
    protocol: int
    """
    The version of the protocol.
    """
    seq: int | None
    """
    The newest position in the order of everything that happened; null if there is no store that can be read.
    """
    server: ServerReport
    """
    The program.
    """


class InstallReport(TypedDict):
    """
    `install` and `uninstall`: what was, or would be, done to one agent's settings.
    """

    changes: list[SettingsChange]
    """
    A row per agent and file.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    short_name: str | None
    """
    The link `ck` to this program that was made or removed, or is to be; null if there is none.
    """
    skipped: list[SkippedAgent]
    """
    The agents that were left out, and why.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class LabelEntry(TypedDict):
    """
    A label: a bookmark on a message or a snapshot, which works wherever an id does.
    """

    id: str
    """
    The message's id, or the snapshot's tree.
    """
    kind: LabelledKind
    """
    The kind of thing that it names.
    """
    label: str
    """
    Its text, unique in its workspace.
    """
    of: int
    """
    When the message was sent, or the snapshot taken.
    """
    prompt: str | None
    """
    The user's prompt in the message, as far as the settings allow it to be stored.
    """
    time: int
    """
    When the label was given.
    """


class LabelsReport(TypedDict):
    """
    `label`.
    """

    action: LabelAction
    """
    The action.
    """
    labels: list[LabelEntry]
    """
    The label that was added or deleted; those that are listed, newest first.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class MessageReport(TypedDict):
    """
    A user message.
    """

    additions: int
    """
    Lines added. In a list, the sum of what each step added: a line that a second step rewrote counts twice. In
    `show`, what the patch from before the message to after it adds.
    """
    agent: str
    """
    Its agent.
    """
    agent_id: str | None
    """
    The agent's.
    """
    agent_session: str
    """
    The agent's id of its session.
    """
    deletions: int
    """
    Lines removed, counted in the same way.
    """
    files: int
    """
    How many files they changed.
    """
    finished: int | None
    """
    When its last step ended; null if it has none, and while one is open.
    """
    id: str
    """
    Our id.
    """
    labels: list[str]
    """
    Its labels, the oldest first.
    """
    left: bool
    """
    Whether the agent left it by a rewind of its own: it is no longer in the conversation, and its files are here.
    """
    not_revertable: str | None
    """
    The reason, if it cannot.
    """
    prompt: str | None
    """
    The user's prompt, as far as the settings allow it to be stored.
    """
    revertable: bool
    """
    Whether `revert --message` can go back to it.
    """
    roots: list[MessageRoot]
    """
    What it did in the other roots of its session.
    """
    seq: int
    """
    Its place in the order of all messages in the store: `log --since SEQ` lists those after it.
    """
    session: str
    """
    Its session.
    """
    state: MessageState
    """
    Whether it is live, hidden or discarded.
    """
    steps: int
    """
    How many steps it took.
    """
    time: int
    """
    The time at which it was sent.
    """
    unclear: int
    """
    How many files they or another author may have changed.
    """
    undone_alone: bool
    """
    Whether it is undone alone, while later ones stay.
    """
    unprotected: str | None
    """
    Why the state just before it was not captured, if it was not.
    """
    workspace: str
    """
    Its workspace's directory.
    """


class MessageNotification(TypedDict):
    """
    A message was sent, or its state changed.
    """

    message: MessageReport
    """
    The message as it is now.
    """
    seq: int
    """
    Its position in the order of everything that happened in this store.
    """
    type: Literal['message']
    workspace: str | None
    """
    The workspace's directory.
    """


class StepNotification(TypedDict):
    """
    A step began or ended.
    """

    seq: int
    """
    Its position in the order of everything that happened in this store.
    """
    step: StepSummary
    """
    The step as it is now.
    """
    type: Literal['step']
    workspace: str | None
    """
    The workspace's directory.
    """


class OperationParameters(TypedDict):
    """
    The parameters of `plan`, `revert`, `redo`, `unrevert`, `restore` and `undo`. An operation refuses those that it has
    no use for.
    """

    alone: NotRequired[bool]
    """
    For a revert: only that message, while later ones stay.
    """
    contents: NotRequired[bool]
    """
    For a plan: whether the report includes the contents of the files before and after.
    """
    conversation: NotRequired[str | None]
    """
    For a revert: what to do with the agent's conversation: `fork`, `only`, `cut` or `no`.
    """
    exact: NotRequired[bool]
    """
    Whether `message`, `step`, `session` and `id` have to be full ids: no prefix, no label, no `last`.
    """
    force: NotRequired[bool]
    """
    Whether to go ahead even if an agent is at work.
    """
    git: NotRequired[bool]
    """
    Whether HEAD, branches and the index move, too.
    """
    id: NotRequired[str | None]
    """
    For a restore: the state.
    """
    message: NotRequired[str | None]
    """
    For a revert: the message.
    """
    on_conflict: NotRequired[str | None]
    """
    What to do with files that have changed since: `merge`, `keep` or `overwrite`.
    """
    only: NotRequired[list[str | PathText]]
    """
    For a revert or a restore: the paths; all of them if empty.
    """
    operation: NotRequired[OperationName]
    """
    For a plan: the operation.
    """
    session: NotRequired[str | None]
    """
    The session, by any id.
    """
    step: NotRequired[str | None]
    """
    For a revert: only one step.
    """
    unclear: NotRequired[str | None]
    """
    For a revert: what to do with changes that may be another author's: `keep` or `take`.
    """
    workspace: NotRequired[str | None]
    """
    A directory of the workspace.
    """


class OperationRoot(TypedDict):
    """
    What an operation did in another root of its session.
    """

    conflicts: int
    """
    How many conflicts it left there.
    """
    files: int
    """
    How many files it wrote, deleted or merged there.
    """
    operation: str
    """
    The operation's id there.
    """
    outcome: Outcome | None
    """
    How it ended there.
    """
    workspace: str
    """
    The root.
    """


class PartParameter(TypedDict):
    """
    A file of a plan that `apply` carries out.
    """

    hunks: NotRequired[list[HunkParameter] | None]
    """
    The hunks to which it is limited; all of the file without them.
    """
    path: str | PathText
    """
    Its path in its root.
    """
    plan: NotRequired[str | None]
    """
    The plan that it is of; by default the one that is applied. So a file may go back on other terms than the rest.
    """
    workspace: NotRequired[str | None]
    """
    The root that it is in, as `roots` of the plan's report has it; by default the workspace of the plan.
    """


PatchParameters = TypedDict(
    'PatchParameters',
    {
        'exact': NotRequired[bool],
        'from': NotRequired[str | None],
        'id': NotRequired[str | None],
        'names': NotRequired[bool],
        'paths': NotRequired[list[str | PathText]],
        'to': NotRequired[str | None],
        'workspace': NotRequired[str | None],
    },
)


class PatchResult(TypedDict):
    """
    The result of `patch`.
    """

    files: list[ChangeReport]
    """
    The files that differ.
    """
    patch: Content
    """
    The patch as `git apply` takes it; with `names`, it has no text.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class Receipt(TypedDict):
    """
    The workspace after an operation, compared with the state that it went to: the snapshot of the message, the one before the
    first revert for an unrevert, the one that a restore names.
    """

    differences: list[Difference]
    """
    Every path that differs, by name.
    """
    tree: str
    """
    The tree that it was compared with, in the workspace's repository of the store.
    """


class RecordParameters(TypedDict):
    """
    The parameters of `record`.
    """

    event: Event
    """
    The event.
    """


class RootChanges(TypedDict):
    """
    The files that a message changed in another root of its session.
    """

    changes: list[ChangeReport]
    """
    The total of what its steps did there, by path.
    """
    workspace: str
    """
    The root.
    """


class RootFiles(TypedDict):
    """
    What was done to files in another root of a session.
    """

    files: list[FileReport]
    """
    The files.
    """
    workspace: str
    """
    The root.
    """


class RootGone(TypedDict):
    """
    Files that are gone from another root.
    """

    files: list[GoneReport]
    """
    The files, most recently removed first.
    """
    workspace: str
    """
    The directory of the root.
    """


class SettingReport(TypedDict):
    """
    A setting.
    """

    default: str | None
    """
    Its default, as TOML; null if that depends on the machine.
    """
    key: str
    """
    Its name.
    """
    meaning: str
    """
    Its purpose.
    """
    place: str | None
    """
    The directory of the section, the variable or the option; null for a default or the file.
    """
    source: SettingSource
    """
    Where the value comes from.
    """
    value: str
    """
    Its value, as TOML.
    """


class SessionShowReport(TypedDict):
    """
    A session with its messages.
    """

    messages: list[MessageReport]
    """
    Its messages, newest first.
    """
    session: SessionReport
    """
    The session.
    """
    type: Literal['session']
    version: Literal[1]
    """
    The version of the document's format.
    """


class SnapshotShowReport(TypedDict):
    """
    A snapshot.
    """

    changes: list[ChangeReport]
    """
    What anybody changed since the snapshot before it, by path.
    """
    gaps: list[GapReport]
    """
    The paths that it does not hold.
    """
    label: str | None
    """
    Its label.
    """
    previous: str | None
    """
    The tree of the snapshot before it; null for the first of its workspace, and if one of the two cannot be
    read.
    """
    repository: str
    """
    The bare repository that holds it.
    """
    snapshot: str
    """
    The tree.
    """
    time: int
    """
    When it was first taken.
    """
    type: Literal['snapshot']
    version: Literal[1]
    """
    The version of the document's format.
    """


class StepReport(TypedDict):
    """
    A step.
    """

    agent_id: str | None
    """
    The agent's.
    """
    files: list[ChangeReport]
    """
    What it changed, by path.
    """
    finish: str | None
    """
    The tree at its finish.
    """
    finished: int | None
    """
    The time of its end.
    """
    id: str
    """
    Our id.
    """
    message: str
    """
    Its message.
    """
    open: bool
    """
    Whether it is still open.
    """
    recovered: bool
    """
    Whether it was closed without its own finish.
    """
    session: str
    """
    Its session.
    """
    start: str | None
    """
    The tree at its start.
    """
    started: int
    """
    The time of its start.
    """
    tools: list[str]
    """
    The tools that it ran, by name.
    """
    unprotected: str | None
    """
    Why its changes cannot be put back, if they cannot.
    """


class MessageTimelineEntry(MessageReport):
    """
    A message was sent.
    """

    type: Literal['message']


class WayOut(TypedDict):
    """
    A way to take kept files along.
    """

    does: str
    """
    What the operation does then, in words that continue its name.
    """
    first: str | None
    """
    What to do first, as a clause; null if nothing.
    """
    parameters: WayParameters
    """
    The operation, as parameters of `plan`.
    """


class WorkspaceReport(TypedDict):
    """
    The history of one directory.
    """

    id: str
    """
    Its id.
    """
    machine: str | None
    """
    The machine from which it was fetched; null if it was recorded here, or is adopted.
    """
    messages: int
    """
    How many messages they have.
    """
    path: str
    """
    Where the directory is, or was seen last.
    """
    sessions: int
    """
    How many sessions it has.
    """
    state: WorkspaceState
    """
    Whether the directory still exists.
    """
    used_at: int
    """
    The time of its last use.
    """


class WorkspacesReport(TypedDict):
    """
    `workspace list`: all workspaces that have a history, the most recently used first.
    """

    version: Literal[1]
    """
    The version of the document's format.
    """
    workspaces: list[WorkspaceReport]
    """
    The workspaces.
    """


class AdoptReport(TypedDict):
    """
    `workspace adopt`: which history the workspace has now.
    """

    adopted: WorkspaceReport
    """
    The history that was taken over, as it was before.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    set_aside: WorkspaceReport | None
    """
    The history that the directory had before; it can be taken over again.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace's directory.
    """


class ApplyParameters(TypedDict):
    """
    The parameters of `apply`.
    """

    force: NotRequired[bool]
    """
    Whether to go ahead even if an agent is at work.
    """
    key: NotRequired[str | None]
    """
    A name of the client's own for this request, unique for each. After a lost answer the client may send the request
    again: what was done for a key is not done twice, and its report is given once more.
    """
    parts: NotRequired[list[PartParameter] | None]
    """
    The files to which it is limited: then it is a part, and no message is hidden by it.
    """
    plan: str
    """
    The token of the plan.
    """


class BlameHunk(TypedDict):
    """
    Consecutive lines with the same author.
    """

    by: LineAuthor
    """
    Whose they are.
    """
    lines: int
    """
    The number of lines.
    """
    operation: str | None
    """
    The operation that merged them.
    """
    reason: str | None
    """
    Why it is unclear whose they are.
    """
    renamed_from: PathText | None
    """
    The path that the file had when they were written, if it was a different one.
    """
    start: int
    """
    The number of the first line, from 1.
    """
    steps: list[BlameStep]
    """
    The step that wrote them; several if they are shared, empty if no agent wrote them.
    """
    time: int | None
    """
    When they were first seen.
    """


class BlameReport(TypedDict):
    """
    `blame`.
    """

    contents: Content | None
    """
    The bytes of the file, if the server was asked for them.
    """
    hunks: list[BlameHunk]
    """
    The hunks of all lines, or of those that were asked for, in order.
    """
    lines: int
    """
    The number of its lines.
    """
    path: str
    """
    The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
    """
    path_hex: str | None
    """
    Its bytes, if they are not UTF-8.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class ConfigReport(TypedDict):
    """
    `config` and `config get`.
    """

    file: str | None
    """
    The settings file, whether it exists or not; null if no home directory is known.
    """
    is_there: bool
    """
    Whether it exists.
    """
    problems: list[str]
    """
    What is invalid or unknown in the file.
    """
    settings: list[SettingReport]
    """
    Every setting, or the one that was asked for.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The directory that the values are for.
    """


class ErrorReport(TypedDict):
    """
    What `--json` prints instead of a document when a command fails.
    """

    error: Failure
    """
    The failure.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class EventReport(TypedDict):
    """
    `event`, `step-start`, `step-finish`, `message`: what was recorded.
    """

    changes: int | None
    """
    How many paths the step that was closed changed.
    """
    event: str | None
    """
    The normalised event's name; null if the payload was skipped.
    """
    gaps: int | None
    """
    How many paths the snapshot could not hold.
    """
    looked: Looked | None
    """
    Which part of the workspace was scanned for it.
    """
    message: str | None
    """
    The message that the event belongs to.
    """
    session: str | None
    """
    The session.
    """
    snapshot: str | None
    """
    The tree of the snapshot that was taken.
    """
    step: str | None
    """
    The step that the event opened, closed or belongs to.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    went_back: list[FileReport]
    """
    What reverts and restores did to files since the session's last message. It is reported once, with the message
    that makes them permanent.
    """


class ExportedMessage(TypedDict):
    """
    A message of a session that is exported.
    """

    changes: list[ChangeReport]
    """
    What it changed, by path.
    """
    message: MessageReport
    """
    The message.
    """
    patch: Content
    """
    The patch as `git apply` takes it; without text if it is longer than 8 MiB.
    """


class FinishedReport(TypedDict):
    """
    An interrupted operation that was finished later.
    """

    conversation: ConversationReport | None
    """
    What became of the agent's conversation.
    """
    files: list[FileReport]
    """
    Its files, by name.
    """
    git: list[GitReport]
    """
    What it did to HEAD, branches and the index.
    """
    kind: OperationKind
    """
    The kind of operation.
    """
    message: str | None
    """
    The revert point after it.
    """
    operation: str
    """
    The operation.
    """
    outcome: Outcome
    """
    How it ended.
    """
    receipt: Receipt | None
    """
    What differs from the state that it went to, if its row says where that is.
    """
    session: str | None
    """
    Its session.
    """


class ForgetReport(TypedDict):
    """
    `forget`.
    """

    bytes_after: int
    """
    The bytes after it.
    """
    bytes_before: int
    """
    The bytes of the store before it.
    """
    copies: list[str]
    """
    Former session stores that are removed: copies that migrations kept, damaged ones that were set aside, and what
    a killed repair left.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    version: Literal[1]
    """
    The version of the document's shape.
    """
    workspaces: list[ForgetWorkspace]
    """
    The workspaces in which something is forgotten.
    """


class KeptReport(TypedDict):
    """
    Files that an operation leaves for one kind of reason, wholly or in part, and what to do about it.
    """

    kind: KeptKind
    """
    The kind of reason.
    """
    paths: list[PathText]
    """
    The files, by name.
    """
    way: WayOut | None
    """
    What takes them along; null if nothing does.
    """
    why: str
    """
    Why they stay, in words that follow a colon.
    """


class LogReport(TypedDict):
    """
    `log`.
    """

    messages: list[MessageReport]
    """
    Newest first.
    """
    set_aside: str | None
    """
    Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    """
    unknown_workspaces: int
    """
    If the list is empty: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class OperationEntry(TypedDict):
    """
    An operation, as `log --operations` lists it.
    """

    after: str | None
    """
    The tree after it.
    """
    alone: str | None
    """
    The only message that it undid, while later ones stayed.
    """
    before: str | None
    """
    The tree before it.
    """
    conflicts: int
    """
    How many conflicts it left.
    """
    conversation: bool
    """
    Whether the agent's conversation moved, alone or with the files.
    """
    files: int
    """
    How many files it wrote, deleted or merged.
    """
    git: bool
    """
    Whether git's own state moved, too.
    """
    id: str
    """
    Its id.
    """
    kind: OperationKind
    """
    The kind of operation.
    """
    message: str | None
    """
    The message that it went to.
    """
    outcome: Outcome | None
    """
    How it ended, in all roots of its session.
    """
    part: str | None
    """
    The message of which it undid a step, or from which on it undid the changes of some paths or chosen lines.
    """
    roots: list[OperationRoot]
    """
    What it did in the other roots of its session.
    """
    session: str | None
    """
    Its session.
    """
    state: str
    """
    `open`, `done` or `rolled_back`.
    """
    time: int
    """
    The time at which it began.
    """
    undoes: str | None
    """
    The operation that it took back, if it was an undo. Null for an undo that an older version recorded.
    """
    workspace: str
    """
    The path of its workspace.
    """


class OperationsReport(TypedDict):
    """
    `log --operations`.
    """

    operations: list[OperationEntry]
    """
    Newest first.
    """
    set_aside: str | None
    """
    Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    """
    unknown_workspaces: int
    """
    If the list is empty: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class MessageShowReport(TypedDict):
    """
    A message with its steps.
    """

    changes: list[ChangeReport]
    """
    The total of what its steps did, by path. A path occurs again for each time that another author changed it in
    between.
    """
    conversation: ConversationPlace | None
    """
    Where it is in the agent's conversation.
    """
    message: MessageReport
    """
    The message.
    """
    roots: list[RootChanges]
    """
    What its steps did in the other roots of its session.
    """
    snapshot: str | None
    """
    The tree just before it.
    """
    steps: list[StepReport]
    """
    Its steps, oldest first.
    """
    type: Literal['message']
    version: Literal[1]
    """
    The version of the document's format.
    """


class StepShowReport(TypedDict):
    """
    A step.
    """

    changes: list[ChangeReport]
    """
    What it did, by path, with renames.
    """
    step: StepReport
    """
    The step.
    """
    type: Literal['step']
    version: Literal[1]
    """
    The version of the document's format.
    """


class OperationShowReport(TypedDict):
    """
    An operation with its files.
    """

    changes: list[ChangeReport]
    """
    What it did to files, by path.
    """
    conversation: ConversationReport | None
    """
    The conversation that it made, until a message says which one goes on.
    """
    files: list[FileReport]
    """
    Its files.
    """
    git: list[GitReport]
    """
    What it did to HEAD, branches and the index.
    """
    notes: list[str]
    """
    Its notes.
    """
    operation: OperationEntry
    """
    The operation.
    """
    remarks: list[NoteReport]
    """
    The same for programs; empty for operations of older versions.
    """
    roots: list[RootFiles]
    """
    What it did in the other roots of its session.
    """
    type: Literal['operation']
    version: Literal[1]
    """
    The version of the document's format.
    """


ShowReport: TypeAlias = MessageShowReport | StepShowReport | SessionShowReport | OperationShowReport | SnapshotShowReport
"""
`show`: whatever has the id.
"""


class SnapshotReport(TypedDict):
    """
    `snapshot`.
    """

    finished: list[FinishedReport]
    """
    The interrupted operations that were finished first.
    """
    gaps: list[GapReport]
    """
    The paths that it does not hold.
    """
    label: str | None
    """
    The label that was given.
    """
    notes: list[str]
    """
    What else the user should know, such as which operation was finished first.
    """
    repository: str
    """
    The bare repository that holds it.
    """
    snapshot: str
    """
    The tree.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class StatusReport(TypedDict):
    """
    `status`: the revert banner and the state of the recording.
    """

    adoptable: list[WorkspaceReport]
    """
    The histories of other directories that were at this path, or of some that are gone and may have been this one:
    `workspace adopt` takes one over by its `id`.
    """
    agent: str | None
    """
    Its agent.
    """
    agents_at_work: list[str]
    """
    Sessions of the workspace with a tool at work, by agent and session.
    """
    also_reverted: list[RevertedSession]
    """
    The other sessions of the workspace in which something is reverted, the one reverted last first.
    """
    conversation: ConversationAbilities | None
    """
    What can be done to the conversation of the session.
    """
    diagnostics: int
    """
    How many diagnostics the store holds.
    """
    files: list[FileReport]
    """
    What the reverts so far did to each file.
    """
    first_snapshot_goes_on: bool
    """
    Whether the first snapshot of the workspace is being taken, by a hook or in the background. No step is protected
    until it is done.
    """
    gaps: list[GapReport]
    """
    What the newest snapshot does not hold.
    """
    interrupted: list[str]
    """
    Operations that a crash left, and what to do.
    """
    latest_diagnostics: list[DiagnosticReport]
    """
    The newest of them.
    """
    left: list[str]
    """
    The messages that the agent left by a rewind of its own, oldest first: they are no longer in the conversation, and
    their files are here.
    """
    messages_hidden: list[str]
    """
    The messages after the revert point, oldest first.
    """
    open_steps: int
    """
    Steps that have started and not finished, of all sessions of the workspace.
    """
    redo: bool
    """
    Whether there is something to redo.
    """
    revert_point: str | None
    """
    The message that it is reverted to.
    """
    roots: list[RootFiles]
    """
    What they did in the other roots of the session.
    """
    session: str | None
    """
    The session that the rest is about: the newest, or the one asked for.
    """
    unclear: list[UnclearReport]
    """
    Files that the session's live messages, or another author, may have changed, by path, with what is known.
    """
    undone_alone: list[str]
    """
    The messages that are undone while later ones stay, in the order in which that was asked for.
    """
    unknown_workspaces: int
    """
    If no session is known: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    unprotected: list[str]
    """
    Steps that cannot be put back, and why.
    """
    unrecorded: list[UnrecordedReport]
    """
    The newest conversation of each agent in this workspace, by the agent's own records, if no event of it came.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """
    workspace: str
    """
    The workspace's directory.
    """


class OperationTimelineEntry(OperationEntry):
    """
    Something was reverted, redone or restored.
    """

    type: Literal['operation']


TimelineEntry: TypeAlias = MessageTimelineEntry | OperationTimelineEntry | OutsideTimelineEntry
"""
What happened in a workspace, of whatever kind.
"""


class TimelineReport(TypedDict):
    """
    `log --graph`.
    """

    entries: list[TimelineEntry]
    """
    Newest first.
    """
    set_aside: str | None
    """
    Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
    `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
    """
    unknown_workspaces: int
    """
    If the list is empty: how many workspaces have snapshots here whose session store is gone.
    `ckpt-hook doctor --repair` builds a new one from them.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class ExportReport(TypedDict):
    """
    `export`: a session with everything that its messages did.
    """

    messages: list[ExportedMessage]
    """
    Its messages, oldest first.
    """
    session: SessionReport
    """
    The session.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class OperationNotification(TypedDict):
    """
    A revert, redo, unrevert or restore began or ended.
    """

    operation: OperationEntry
    """
    The operation as it is now.
    """
    seq: int
    """
    Its position in the order of everything that happened in this store.
    """
    type: Literal['operation']
    workspace: str | None
    """
    The workspace's directory.
    """


Notification: TypeAlias = MessageNotification | StepNotification | OperationNotification | GapNotification | FailedNotification | BusyNotification | RewoundNotification | ResetNotification
"""
Something that happened. Continue from the `seq` of the last one that you have handled. `busy` is a state, not an
event, and has the `seq` of the last event before it. Types may be added, each with a `seq`: ignore one that you do
not know.
"""

class OperationReport(TypedDict):
    """
    `revert`, `redo`, `unrevert`, `restore`.
    """

    alone: str | None
    """
    The only message that it undoes, while later ones stay.
    """
    also_reverted: list[RevertedSession]
    """
    If nothing of its session stays reverted: the other sessions of the workspace that are reverted.
    """
    busy: bool
    """
    Whether an agent is working, so that the real call would be refused without `--force`.
    """
    conversation: ConversationReport | None
    """
    What becomes of the agent's conversation; null for a restore, and where nothing was reverted.
    """
    dry_run: bool
    """
    Whether it was only planned.
    """
    files: list[FileReport]
    """
    Every path that it looked at, by name.
    """
    finished: list[FinishedReport]
    """
    The interrupted operations that were finished first.
    """
    git: list[GitReport]
    """
    What it does to HEAD, branches and the index, with `--git`.
    """
    kept: list[KeptReport]
    """
    What it leaves as it is, by kind of reason, and the way out of each.
    """
    kind: OperationKind
    """
    The kind of operation.
    """
    message: str | None
    """
    The revert point after it; null if nothing is reverted any more.
    """
    messages_hidden: list[str]
    """
    The messages that are hidden after it, oldest first.
    """
    notes: list[str]
    """
    What else the user should know.
    """
    operation: str | None
    """
    The operation; null if nothing was done.
    """
    outcome: Outcome
    """
    How it ended; for a dry run, how it would.
    """
    part: str | None
    """
    The message of which it undoes a step, from which on it undoes the changes of some paths or chosen lines, or just
    before which a restore goes.
    """
    plan: str | None
    """
    For a dry run: the plan, as a token. `apply` carries out exactly this plan, or fails with `stale`.
    """
    receipt: Receipt | None
    """
    What differs from the state that it went to, with a reason for every path; null for a single message or step,
    and if that state could not be captured.
    """
    remarks: list[NoteReport]
    """
    The same for programs, in the same order.
    """
    roots: list[RootOperation]
    """
    The same operation in the other roots of its session. Its outcome above is that of them all.
    """
    session: str | None
    """
    The session whose revert point it moves.
    """
    undoes: str | None
    """
    The operation that it takes back, if it is an undo.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class PlanResult(TypedDict):
    """
    The result of `plan`.
    """

    plan: str | None
    """
    The token; null if there is nothing to carry out.
    """
    report: OperationReport
    """
    What would be done.
    """


class RecoverReport(TypedDict):
    """
    `recover`.
    """

    away: list[str]
    """
    Those of the other roots that are not there now, of which nothing is listed.
    """
    files: list[GoneReport]
    """
    The files that are gone and were asked for, most recently removed first.
    """
    operation: OperationReport | None
    """
    What putting them back did, or would do; null if they were only listed.
    """
    roots: list[RootGone]
    """
    Those in the other roots of the workspace's sessions.
    """
    version: Literal[1]
    """
    The version of the document's format.
    """


class RootOperation(TypedDict):
    """
    An operation in another root of its session.
    """

    report: OperationReport
    """
    What the operation does there.
    """
    workspace: str
    """
    The root.
    """
