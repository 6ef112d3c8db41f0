#!/bin/sh
# Puts ckpt-hook into the image of a dev container, which calls this as root. A new volume takes over whose folder it stands in for.
#
# CKPT_PREFIX and CKPT_VOLUME set other folders than /usr/local and /ckpt-hook.
set -eu
CKPT_PREFIX=${CKPT_PREFIX:-/usr/local}
export CKPT_PREFIX
volume=${CKPT_VOLUME:-/ckpt-hook}
sh "$(dirname "$0")/installer.sh"
mkdir -p -m 700 "$volume"
chown "${_REMOTE_USER:-root}" "$volume"
