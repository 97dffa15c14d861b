"""A file of finished resamples: appended to one by one, read again by a run that goes on."""

import json
import os
from pathlib import Path


class Checkpoint:
    """Numbered results in a file of JSON lines, under a first line that says what they belong to.

    Parameters
    ----------
    path : str, Path or None
        The file; None keeps nothing.
    fingerprint : str
        Identifies data, parameters and seeds.
    """

    def __init__(self, path: str | Path | None, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.header = {"format": "icdh resamples", "version": 1, "fingerprint": fingerprint}

    def read(self) -> list[tuple[int, object]]:
        """Return all results in the file, and make it ready for more.

        A last line that a killed process left half-written is cut off.

        Raises
        ------
        ValueError
            If the file belongs to another run, or is no checkpoint at all.
        """
        if self.path is None:
            return []
        with self.path.open("ab+") as stream:
            stream.seek(0)
            content = stream.read()
            whole = content[: content.rfind(b"\n") + 1]
            stream.truncate(len(whole))
        if not whole:
            self._write(self.header)
            return []
        try:
            header, *records = [json.loads(line) for line in whole.splitlines()]
            results = [(record["index"], record["result"]) for record in records]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{self.path} is no checkpoint of resamples; choose another file") from error
        if header != self.header:
            raise ValueError(
                f"{self.path} is a checkpoint of other data, parameters or seeds; choose another file or delete it"
            )
        return results

    def append(self, index: int, result: object) -> None:
        """Write one result; once this returns, no crash loses it."""
        self._write({"index": index, "result": result})

    def _write(self, record: dict[str, object]) -> None:
        if self.path is None:
            return
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
