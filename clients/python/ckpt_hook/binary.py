"""Where the binary is."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ckpt_hook.errors import BinaryNotFoundError

#: The package that brings the binary for a platform, below `bin`.
PACKAGE = "ckpt_hook_binary"


def find_binary(environment: Mapping[str, str] = os.environ) -> str:
    """Returns the path of the binary: $CKPT_HOOK_BINARY, else that of the package `ckpt-hook-binary`, else of the PATH.

    Raises BinaryNotFoundError if there is none.
    """
    found = (
        environment.get("CKPT_HOOK_BINARY")
        or _from_package()
        or shutil.which("ckpt-hook", path=environment.get("PATH", ""))
    )
    if not found:
        raise BinaryNotFoundError(
            "there is no ckpt-hook in $CKPT_HOOK_BINARY, in the package ckpt-hook-binary or on the PATH"
        )
    return found


def _from_package() -> str | None:
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec and spec.submodule_search_locations) or []:
        binary = Path(location, "bin", "ckpt-hook")
        if binary.is_file():
            return str(binary)
    return None
