"""Serves the packages of a release to npm, and its files as they are, on this machine: for the trials of `packaging/try`.

    python3 packaging/registry.py FOLDER PORT

`/npm/` is a registry of the folder's npm packages, `/files/` the folder.
"""

import hashlib
import http.server
import json
import sys
import tarfile
from base64 import b64encode
from pathlib import Path
from urllib.parse import unquote


def packages(folder: Path, address: str) -> dict[str, dict[str, object]]:
    """Returns what npm asks of each package, by its name."""
    found = {}
    for file in folder.glob("*.tgz"):
        with tarfile.open(file) as archive:
            # A dev container feature is a .tgz as well.
            if "package/package.json" not in archive.getnames():
                continue
            member = archive.extractfile("package/package.json")
            assert member is not None, f"{file} has a package.json"
            manifest = json.load(member)
        integrity = "sha512-" + b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
        version = manifest["version"]
        manifest["dist"] = {"tarball": f"{address}/files/{file.name}", "integrity": integrity}
        entry = found.setdefault(manifest["name"], {"name": manifest["name"], "dist-tags": {}, "versions": {}})
        entry["versions"][version] = manifest
        entry["dist-tags"]["latest"] = max(entry["versions"], key=lambda each: [int(part) for part in each.split(".")])
    return found


def main() -> None:
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    known = packages(folder, f"http://127.0.0.1:{port}")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            name = path.rpartition("/")[2]
            if path.startswith("/npm/") and path[5:] in known:
                self.answer(json.dumps(known[path[5:]]).encode(), "application/json")
            elif path == f"/files/{name}" and (folder / name).is_file():
                self.answer((folder / name).read_bytes(), "application/octet-stream")
            else:
                self.send_error(404)

        def answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


main()
