#!/bin/sh
# Runs the program that came along with this plugin for this machine. Where none did, and none is on the PATH, the first message
# says once that nothing is recorded.
here=${0%/*}/..
case "$(uname -sm)" in
    'Linux x86_64') platform=linux-x64 ;;
    'Linux aarch64' | 'Linux arm64') platform=linux-arm64 ;;
    'Darwin x86_64') platform=darwin-x64 ;;
    'Darwin arm64') platform=darwin-arm64 ;;
    *) platform=none ;;
esac
program=$here/platforms/$platform/ckpt-hook
[ ! -x "$program" ] || exec "$program" "$@"

if [ "${1-}" != event ]; then
    echo "error: the program ckpt-hook is not installed" >&2
    echo "hint: \`npm install --global ckpt-hook\`, \`uv tool install ckpt-hook\` or \`cargo install ckpt-hook\`" >&2
    exit 4
fi
case " $* " in
    *" --event UserPromptSubmit "* | *" --event BeforeAgent "*)
        said=${XDG_CACHE_HOME:-$HOME/.cache}/ckpt-hook-is-missing
        mkdir -p "${said%/*}" || exit 0
        # Made only where it is not there yet: two agents that begin at once say it once.
        set -C
        : >"$said" || exit 0
        echo '{"systemMessage": "ckpt-hook: the program is not installed, so nothing is recorded and nothing can be taken back. Install it with `npm install --global ckpt-hook`, `uv tool install ckpt-hook` or `cargo install ckpt-hook`, or remove the plugin."}'
        ;;
esac
