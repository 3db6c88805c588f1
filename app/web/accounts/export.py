"""All that is stored about an account, as one JSON document."""

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

from fastapi import Response
from fastapi.responses import StreamingResponse

from app.clock import utc_now
from app.services.personal_data import export_account
from app.web.http.site import Site

_IN_MEMORY = 1024 * 1024  # bytes; what is longer waits on disk
_PIECE = 64 * 1024  # bytes


def download(site: Site, account_id: str) -> Response:
    """
    Answer with the document.

    It is written down first and sent then: a slow reader keeps no transaction open.
    """
    file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  closed when it is sent
    with site.database.read() as session:
        for table, rows in export_account(session, account_id):
            file.write(f'{"," if file.tell() else "{"}\n"{table}": ['.encode())
            for number, row in enumerate(rows):
                file.write(f"{',' if number else ''}\n{json.dumps(row, ensure_ascii=True)}".encode("ascii"))
            file.write(b"]")
    file.write(b"}\n")
    file.seek(0)
    name = f"kelolo-{utc_now():%Y-%m-%d}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(_pieces(file), media_type="application/json", headers=headers)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece
