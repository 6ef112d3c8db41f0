#!/bin/sh
# Installs ckpt-hook for this user: the program, its manual pages and its completions below ~/.local. It changes no settings, and
# needs no root.
#
#   sh install.sh                installs it, or another version over the one that is there
#   sh install.sh --uninstall    removes what it installed; the store of snapshots stays (`ckpt-hook uninstall --purge` removes it)
#
# CKPT_PREFIX sets another folder than ~/.local, CKPT_DOWNLOADS another address for the archive.
set -eu

main() {
    downloads=${CKPT_DOWNLOADS:-@DOWNLOADS@}
    version=@VERSION@
    prefix=${CKPT_PREFIX:-$HOME/.local}
    # What is installed is noted by its path, and removed from any folder.
    case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
    list=$prefix/share/ckpt-hook-installed
    case ${1-} in
        '') install_it ;;
        --uninstall) remove_it ;;
        *) fail "unknown option: $1" ;;
    esac
}

fail() {
    echo "error: $1" >&2
    [ -z "${2-}" ] || echo "hint: $2" >&2
    exit 1
}

target() {
    case "$(uname -s) $(uname -m)" in
        'Linux x86_64') echo x86_64-unknown-linux-gnu ;;
        'Linux aarch64' | 'Linux arm64') echo aarch64-unknown-linux-gnu ;;
        'Darwin arm64') echo aarch64-apple-darwin ;;
        'Darwin x86_64') echo x86_64-apple-darwin ;;
        MINGW* | MSYS* | CYGWIN*) fail "ckpt-hook does not run on Windows natively" "run this in WSL" ;;
        *) fail "there is no program for $(uname -s) on $(uname -m)" "\`cargo install ckpt-hook\` builds one" ;;
    esac
}

# Fetches over HTTPS alone, wherever it is sent on to; only an address that was given as another one may be another one.
fetch() {
    case $1 in https://*) protocol='=https' ;; *) protocol="=${1%%:*}" ;; esac
    if command -v curl >/dev/null; then
        curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then
        # It has no option for that. What is asked of a proxy that cannot be reached fails.
        case $protocol in =https) http_proxy=http://0.0.0.0:0 && export http_proxy ;; esac
        wget --quiet --output-document="$2" "$1"
    else
        fail "neither curl nor wget is here"
    fi || fail "cannot fetch $1"
}

checksum() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# Installs a file. It is written beside its place and renamed, so that a running program is never overwritten.
put() {
    mkdir -p "${2%/*}"
    cp "$1" "$2.new"
    chmod "$3" "$2.new"
    mv -f "$2.new" "$2"
}

# Notes which files are installed: all those on stdin, or nothing new.
note() {
    mkdir -p "${list%/*}"
    cat >"$list.new"
    mv -f "$list.new" "$list"
}

# Calls a function for each file of the archive, with its place and its mode.
each() {
    for page in "$from"/man/*.1; do "$1" "$page" "$prefix/share/man/man1/${page##*/}" 644; done
    "$1" "$from/completions/ckpt-hook.bash" "$prefix/share/bash-completion/completions/ckpt-hook" 644
    "$1" "$from/completions/ckpt-hook.fish" "$prefix/share/fish/vendor_completions.d/ckpt-hook.fish" 644
    "$1" "$from/completions/ckpt-hook.zsh" "$prefix/share/zsh/site-functions/_ckpt-hook" 644
    "$1" "$from/ckpt-hook" "$prefix/bin/ckpt-hook" 755
}

place() {
    echo "$2"
}

install_it() {
    target=$(target)
    name=ckpt-hook-$version-$target
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    fetch "$downloads/SHA256SUMS" "$scratch/sums"
    expected=$(grep " $name.tar.gz\$" "$scratch/sums" | cut -d ' ' -f 1)
    case $target in *-darwin) system=macOS ;; *) system=$target ;; esac
    [ -n "$expected" ] || fail "there is no program for $system yet" "\`cargo install ckpt-hook\` builds one"
    fetch "$downloads/$name.tar.gz" "$scratch/archive"
    [ "$(checksum "$scratch/archive")" = "$expected" ] || fail "$name.tar.gz is not what its checksum says" "fetch it again"
    tar -xzf "$scratch/archive" -C "$scratch"
    from=$scratch/$name
    "$from/ckpt-hook" --version >"$scratch/version" || fail "the program does not run here"

    each place >"$scratch/list"
    # First those of the older version and of this one: wherever this is cut off, everything that is there is noted.
    touch "$scratch/old"
    [ ! -e "$list" ] || cp "$list" "$scratch/old"
    sort -u "$scratch/old" "$scratch/list" | note
    each put
    # What an older version had and this one has not.
    while IFS= read -r file; do grep -qxF "$file" "$scratch/list" || rm -f "$file"; done <"$scratch/old"
    note <"$scratch/list"

    echo "installed: $prefix/bin/ckpt-hook ($(head -n 1 "$scratch/version"))"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) echo "note: $prefix/bin is not on your PATH" ;;
    esac
    echo "next: ckpt-hook install --all    # puts the hook into the settings of your agents; --dry-run shows what would change"
}

remove_it() {
    [ -e "$list" ] || fail "$list is not there: nothing was installed by this script"
    echo "note: \`ckpt-hook uninstall --all\` takes the hook out of your agents' settings; without the program it does nothing"
    # An installation that was cut off may have left a file beside its place.
    while IFS= read -r file; do rm -f "$file" "$file.new"; done <"$list"
    rm -f "$list" "$list.new"
    # Folders that it may have made are left only where something else is in them.
    for folder in share/man/man1 share/man share/bash-completion/completions share/bash-completion share/fish/vendor_completions.d \
        share/fish share/zsh/site-functions share/zsh bin; do
        rmdir "$prefix/$folder" 2>/dev/null || true
    done
    echo "removed; the store of snapshots is still there"
}

main "$@"
