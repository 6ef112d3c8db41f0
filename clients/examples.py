"""Writes the examples of docs/embedding.md as files that the compilers of their languages can check.

examples.py OUT: each example, with declarations of what its reader brings along, goes to `OUT/typescript/example/embedding.ts` and
`OUT/python/tests/embedding_example.py`.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/embedding.md"

TYPESCRIPT = """
declare const lastSeq: number;
declare function showButton(id: string | null, revertable: boolean, why: string | null): void;
declare function showMessage(message: MessageReport): void;
declare function confirmed(files: FileReport[]): Promise<boolean>;
declare function showProgress(progress: Progress): void;
export { onRevert };
"""

PYTHON = """from ckpt_hook.documents import FileReport, MessageReport
from ckpt_hook.protocol import Progress

last_seq = 0


def show_button(id: str | None, revertable: bool, why: str | None) -> None: ...


def show_message(message: MessageReport) -> None: ...


def confirmed(files: list[FileReport]) -> bool:
    return bool(files)


def show_progress(progress: Progress) -> None: ...


"""


def example(page: str, language: str) -> str:
    """Returns the one example of a language."""
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    return str(text)


def main(out: Path) -> None:
    page = PAGE.read_text()
    imports = 'import type { FileReport, MessageReport, Progress } from "ckpt-hook";\n'
    (out / "typescript/example/embedding.ts").write_text(imports + example(page, "typescript") + TYPESCRIPT)
    (out / "python/tests/embedding_example.py").write_text(PYTHON + example(page, "python"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
