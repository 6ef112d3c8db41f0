"""Writes the types of the clients anew from schema/json/ckpt-hook.schema.json, with the generators of the field.

generate.py TOOLS OUT: `TOOLS/node_modules/.bin/json2ts` and `TOOLS/python/bin/datamodel-codegen` write `OUT/typescript/src/documents.ts`
and `OUT/python/ckpt_hook/documents.py`. `OUT/python/ckpt_hook/client.py`, the client that waits, is made of the one for asyncio.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).resolve().parent.parent / "schema/json/ckpt-hook.schema.json"
ASYNCIO = Path(__file__).resolve().parent / "python/ckpt_hook/aio.py"


def prepared(schema: Any) -> Any:
    """Returns a schema that both generators read as it is meant.

    A `$ref` with a description beside it is a type of its own for json2ts: it goes into `allOf`. The variants of a union are named
    after their `type` or `kind`, where the generators would number them.
    """
    if isinstance(schema, list):
        return [prepared(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: prepared(value) for key, value in schema.items()}
    if "$ref" in schema and len(schema) > 1:
        schema["allOf"] = [{"$ref": schema.pop("$ref")}]
    return schema


def name_variants(definitions: dict[str, Any]) -> None:
    """Gives each variant of a union of objects a title."""
    for name, definition in definitions.items():
        for variant in definition.get("oneOf", []):
            for tag in ("type", "kind"):
                value = variant.get("properties", {}).get(tag, {}).get("const")
                if value is not None:
                    variant["title"] = value.title().replace("_", "") + name


def typescript(text: str) -> str:
    """Returns what json2ts wrote without its remarks on where a type came from."""
    text = re.sub(r" \*\n \* This interface was referenced by .*\n \* via the `definition` .*\n", "", text)
    text = re.sub(r"/\*\*\n \* This interface was referenced by .*\n \* via the `definition` .*\n \*/\n", "", text)
    return HEADER.format(comment="//") + text.partition("regenerate this file.\n */\n")[2]


def python(text: str) -> str:
    """Returns what datamodel-codegen wrote, so that it needs the standard library alone.

    Annotations are not evaluated, so `NotRequired`, which Python 3.10 does not have, is for type checkers. The root, which no
    document is, goes.
    """
    _, imports, types = text.partition("from __future__ import annotations\n")
    types, _, root = types.partition("\n\n\nDocuments = TypedDict(")
    # A type that has one of its own kind in it stands below the root.
    types = types + root.partition("\n)\n")[2].rstrip()
    types = types.replace(
        "from typing import Literal, TypeAlias\n\nfrom typing_extensions import NotRequired, TypedDict\n",
        "from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict\n\n"
        "if TYPE_CHECKING:\n    from typing_extensions import NotRequired\nelse:\n"
        "    # A type with a field that is a keyword is not written as a class, and its types are evaluated.\n"
        "    NotRequired = list\n",
    )
    # What no reader of Python 3.10 to 3.14 knows.
    types = types.replace(", closed=True)", ")").replace("    closed=True,\n", "")
    return HEADER.format(comment="#") + "\n" + imports + types + "\n"


#: What is different in the client that waits: each text is in the one for asyncio.
WAITING = [
    ("for asyncio: `ckpt_hook.client` is made of it, with the same names.", "that waits for its answers."),
    (
        """with this process.

    Listeners may be coroutine functions; each is waited for before the next thing is told. A call whose task is cancelled is
    cancelled in the server as well: what has already begun to change files is carried out all the same.
    \"""",
        'with this process."',
    ),
    ("ckpt_hook.aio_connection", "ckpt_hook.connection"),
    (
        "    async def plan(",
        """    def cancel(self) -> None:
        \"""Cancels what other threads have asked for and wait for. Each of them gets the error of a cancelled request.\"""
        self._connection.cancel()

    async def plan(""",
    ),
    ("async def ", "def "),
    ("await ", ""),
    ("async with", "with"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
]


def waiting(text: str) -> str:
    """Returns the client that waits, of the one for asyncio."""
    for asynchronous, blocking in WAITING:
        if asynchronous not in text:
            raise SystemExit(f"the client for asyncio has no {asynchronous!r}")
        text = text.replace(asynchronous, blocking)
    lines = text.split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("from ckpt_hook"))
    last = lines.index("", first)
    start = "\n".join(lines[:first])
    imports = re.split(r"\n(?=from )", "\n".join(lines[first:last]))
    header = "# Generated from ckpt_hook/aio.py by `just clients --write`. Do not edit.\n"
    return header + start + "\n" + "\n".join(sorted(imports)) + "\n" + "\n".join(lines[last:])


HEADER = "{comment} Generated from schema/json/ckpt-hook.schema.json by `just clients --write`. Do not edit.\n"


def main(tools: Path, out: Path) -> None:
    schema = prepared(json.loads(SCHEMA.read_text()))
    schema["$id"] = schema["title"]
    name_variants(schema["$defs"])
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, SCHEMA.name)
        source.write_text(json.dumps(schema))
        json2ts = [tools / "node_modules/.bin/json2ts", "--no-additionalProperties", "--unreachableDefinitions"]
        target = out / "typescript/src/documents.ts"
        target.write_text(typescript(run([*json2ts, "--input", source])))
        codegen = [tools / "python/bin/datamodel-codegen", "--input-file-type", "jsonschema", "--disable-timestamp"]
        codegen += ["--output-model-type", "typing.TypedDict", "--target-python-version", "3.10"]
        codegen += ["--use-schema-description", "--use-field-description", "--use-title-as-name"]
        codegen += ["--formatters", "builtin"]
        target = out / "python/ckpt_hook/documents.py"
        target.write_text(python(run([*codegen, "--input", source])))
    (out / "python/ckpt_hook/client.py").write_text(waiting(ASYNCIO.read_text()))


def run(command: list[Any]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
