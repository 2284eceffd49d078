"""Replay an archive on a Dask cluster: more documents than one machine can hold.

A *task* writes one SQLite file, which gets its name when it is whole: then the task is done. The files are below the
output, in a folder that all workers see. So a worker that is killed costs the tasks that it was doing: another one does
them again. A replay that is started again goes on where it was. The tasks of a *step* read the files of those before:

``read_file`` reads a file, extracts its pages, and sketches its texts. ``fingerprint`` learns the boilerplate of some
sources in the order of time, as a crawl does. It stores fingerprints and texts, and posts each document under its
look-up keys. ``find_pairs`` pairs each document with the newest ones of a look-up key that came before it in the
window. ``decide`` reads what is stored of these candidates. ``write_part`` follows each copy to the match of its match,
until the original is found.

The *line* of a document is the number of its file, and its line there. Its *address* is the number of the task that
stored it, and its number there. Its *key* is as in a window: the second, then its number among all lines of all files.
So keys sort by time, then in the order of the input. Rows go to the task that has their *place*: the hash of a source,
a look-up key, an address or a line.
"""

import json
import os
import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, partial, reduce
from hashlib import sha256
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import msgpack
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, as_completed

from scrapy_neardup import Document, NearDupDetector, NearDupSettings, Verdict
from scrapy_neardup.detector import judge_of, sketcher_of
from scrapy_neardup.document import WHOLE_TEXT, counted_names
from scrapy_neardup.exceptions import InputError, NearDupError, explain_failure
from scrapy_neardup.index.postings import MOST_POSTINGS, Keys, choose_candidates
from scrapy_neardup.records.documents import Record, StoredText, new_record
from scrapy_neardup.records.learned import NOTHING, add_counts
from scrapy_neardup.rules.decision import Decision, Judge, chosen_for_second_look
from scrapy_neardup.rules.match import any_applies
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.systems import NOT_DROPPED
from scrapy_neardup.sketch.origin import Origin, source_hash
from scrapy_neardup.sketch.text_sketch import pack_sketch
from scrapy_neardup.text.words import has_words
from scrapy_neardup.tools.lab.feed import RecordedDocument, read_documents, take
from scrapy_neardup.tools.lab.replay import VERDICT_FIELDS, Judged, OutputFormat, PageReader, documents_of

_WAIT_SECONDS = 60  # for the first worker
_TOGETHER = 256  # documents that are sketched together
_MOST_ROWS = 16_384  # that are in memory: records, originals of copies, and rows of Parquet
_UNFINISHED = "unfinished"  # a folder of the output

# In the file of each task. Of a copy, ``verdicts`` has what share of its text the match has if it may be dropped, and
# whether it is kept if its match is dropped.
TABLES = """
PRAGMA page_size = 16384;  -- of several documents
PRAGMA journal_mode = OFF;  -- nobody reads a file that is not whole
PRAGMA synchronous = OFF;
PRAGMA cache_size = -32000;  -- kB
CREATE TABLE counts (name TEXT, number INTEGER);
CREATE TABLE terms (packed BLOB);
CREATE TABLE documents (place INTEGER, second INTEGER, line INTEGER, document BLOB, sketch BLOB);
CREATE INDEX documents_by_place ON documents (place);
CREATE TABLE stored (address INTEGER PRIMARY KEY, line INTEGER, record BLOB, document BLOB);
CREATE TABLE postings (place INTEGER, second INTEGER, key_and_address BLOB, address INTEGER, weight INTEGER,
    PRIMARY KEY (place, key_and_address)) WITHOUT ROWID;
CREATE TABLE pairs (place INTEGER, candidate BLOB, weight INTEGER, PRIMARY KEY (place, candidate)) WITHOUT ROWID;
CREATE TABLE verdicts (place INTEGER PRIMARY KEY, address INTEGER, match INTEGER, is_copy INTEGER, share REAL,
    is_guarded INTEGER, verdict BLOB);
CREATE INDEX verdicts_by_address ON verdicts (address);
"""
# The plus sign keeps SQLite from looking up all documents of a key, which may be thousands.
PAIRS = """
INSERT INTO pairs SELECT later.address, earlier.key_and_address, sum(later.weight)
FROM sorted AS later CROSS JOIN sorted AS earlier ON earlier.rowid BETWEEN later.rowid - :most AND later.rowid - 1
WHERE +earlier.place = later.place AND earlier.second >= later.second - :window GROUP BY 1, 2
"""
_CROWDED = """
SELECT count(*) FROM sorted AS later CROSS JOIN sorted AS earlier ON earlier.rowid = later.rowid - :most - 1
WHERE earlier.place = later.place AND earlier.second >= later.second - :window
"""
_COLUMNS = pa.schema(
    {
        **dict.fromkeys(("id", *VERDICT_FIELDS, "error"), pa.string()),
        **dict.fromkeys(("similarity", "containment", "share"), pa.float64()),
        **dict.fromkeys(("changes", "news"), pa.list_(pa.string())),
        "would_drop": pa.bool_(),
    }
)


@dataclass(frozen=True, eq=False)
class Job:
    """What all tasks of a replay know. The last two are known when all files are read."""

    settings: NearDupSettings
    work: Path  # the folder of what is not finished
    files: Sequence[tuple[Path, Path]]  # of the input, each with its part of the output
    now: float  # of documents that give no time
    lines_before: Sequence[int] = ()  # of each file
    terms: bytes = b""  # in how many documents each term is, packed

    def file(self, step: str, number: int) -> Path:
        return self.work / f"{step}-{number:09}"

    def row_at(self, step: str, columns: str, address: int) -> Any:
        """Return columns of a table of a step, of the document that a task has stored at this address."""
        return (
            opened(self.file(step, address >> 32)).execute(f"SELECT {columns} WHERE address = ?", (address,)).fetchone()
        )


# The run


def connected(address: str, workers: int) -> Client:
    """Connect to a scheduler, or to one that is started here with so many workers."""
    options: dict[str, Any] = {"address": address, "timeout": _WAIT_SECONDS}
    if address == "local":
        options = {
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": ":0",  # any port that is free
            "preload": ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],  # Ctrl-C is for the command
            "silence_logs": "CRITICAL",
        }
    try:
        client = Client(**options)
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        client.get_versions(check=True, packages=["scrapy_neardup"])  # warns if they differ
    except (OSError, ValueError, ImportError) as error:  # a TimeoutError is an OSError
        raise InputError(f"--cluster {address}: no scheduler with workers: {error}") from error
    return client


def job_of(settings: NearDupSettings, inputs: Sequence[Path], out: Path, suffix: str = "jsonl") -> Job:
    """Return the job that goes on with what its output has, if that is not finished, and else a new one."""
    files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in inputs]
    work = out / _UNFINISHED / sha256(repr((files, settings, suffix)).encode()).hexdigest()
    if out.exists() and any(out.iterdir()) and not work.exists():
        raise InputError(f"{out}: has other files, or unfinished ones of another replay; name another folder")
    work.mkdir(0o700, parents=True, exist_ok=True)
    parts = [out / f"{number:05}-{path.name.partition('.')[0]}.{suffix}" for number, path in enumerate(inputs)]
    return Job(settings, work, [*zip(inputs, parts, strict=True)], now=max(modified for *_, modified in files) / 1e9)


def replay_archive(client: Client, job: Job, tell: Callable[[str], None]) -> Counter[str]:
    """Write all parts, and return what was counted. What is made is kept until all parts are written."""
    counted = _do_tasks(client, tell, job, read_file, job.files)
    terms = (
        packed for path in job.work.glob("read_file-*") for (packed,) in opened(path).execute("SELECT * FROM terms")
    )
    job = replace(
        job,
        lines_before=[*accumulate((counts["lines"] for counts in counted), initial=0)],
        terms=reduce(add_counts, terms, NOTHING),
    )
    tasks = sum(counts["done"] for counts in counted) // 20_000 + 16  # of so many documents, about
    ranges = [*pairwise((number << 32) // tasks for number in range(tasks + 1))]
    for step in (fingerprint, find_pairs, decide):
        counted += _do_tasks(client, tell, job, step, ranges)
    _do_tasks(client, tell, job, write_part, job.files)
    opened.cache_clear()  # so that the files can be removed
    # Renamed, because a worker that was thought lost may still be at a task: now it finds no folder to write to.
    shutil.rmtree(job.work.parent.rename(job.work.parent.with_name(f".{_UNFINISHED}")))
    return sum(counted, Counter())


def _do_tasks(
    client: Client,
    tell: Callable[[str], None],
    job: Job,
    step: Callable[[Job, sqlite3.Connection, int, Any], Counter[str]],
    tasks: Sequence[object],
) -> list[Counter[str]]:
    """Do what is not done yet of the tasks of a step. Return what each has counted, "done" documents among it."""
    paths = [job.file(step.__name__, number) for number in range(len(tasks))]
    # What the tasks share is a task of its own: the scheduler would keep it for each of them.
    common = client.submit(partial, step, job, pure=False)
    waiting = [
        client.submit(_task, common, path, number, task, key=str(path))
        for number, (path, task) in enumerate(zip(paths, tasks, strict=True))
        if not path.exists()
    ]
    for done, future in enumerate(as_completed(waiting), len(paths) - len(waiting) + 1):
        if error := future.exception():
            raise NearDupError(
                f"{Path(future.key).name}: {explain_failure(error)}; give the command again to go on"
            ) from error
        if done == len(paths) or done % (len(paths) // 4 + 1) == 0:
            tell(f"{step.__name__}: {done} of {len(paths)} tasks are done")
    return [Counter(dict(opened(path).execute("SELECT * FROM counts"))) for path in paths]


def _task(
    step: Callable[[sqlite3.Connection, int, object], Counter[str]], path: Path, number: int, task: object
) -> None:
    """Do a task in a worker. It is done when its file has its name."""
    draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    # A shared folder may have no locks.
    with closing(sqlite3.connect(f"{draft.as_uri()}?nolock=1", uri=True)) as rows, rows:
        rows.executescript(TABLES)
        rows.executemany("INSERT INTO counts VALUES (?, ?)", step(rows, number, task).items())
    draft.replace(path)
    opened.cache_clear()


# Files


@lru_cache(128)  # files, of which SQLite keeps at most 2 MB each
def opened(path: Path) -> sqlite3.Connection:
    """Open the file of a task that is done."""
    return sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, check_same_thread=False)


def _gather(rows: sqlite3.Connection, files: Iterable[Path], table: str, least: int, most: int) -> None:
    """Copy the rows of a table whose place is from ``least`` to below ``most`` into the temporary table ``found``.

    What does not fit into the memory of SQLite is in a file on this machine.
    """
    rows.execute(f"CREATE TEMP TABLE found AS SELECT * FROM {table}")  # the columns: it is empty
    for path in files:
        rows.execute("ATTACH ? AS other", (f"{path.as_uri()}?immutable=1",))
        rows.execute(f"INSERT INTO found SELECT * FROM other.{table} WHERE place >= ? AND place < ?", (least, most))
        rows.commit()
        rows.execute("DETACH other")
    rows.execute("CREATE INDEX temp.found_by_place ON found (place)")


def _pack(value: Any) -> bytes:
    return zlib.compress(
        msgpack.packb(
            value,
            unicode_errors="surrogatepass",  # half characters in texts
            default=lambda each: msgpack.ExtType(0, str(each).encode()),  # an id of more than 64 bits
        ),
        level=1,
    )


def _unpack(packed: bytes) -> Any:
    return msgpack.unpackb(
        zlib.decompress(packed),
        unicode_errors="surrogatepass",
        ext_hook=lambda _, each: int(each),
        use_list=False,
    )


# The steps


def read_file(job: Job, rows: sqlite3.Connection, number: int, files: tuple[Path, Path]) -> Counter[str]:
    detector = NearDupDetector(job.settings, run="")
    counts = Counter[str]()
    with PageReader(job.settings, 1) as reader:
        pages = documents_of(reader.read(_documents(files[0])), detector, job.now)
        while batch := take(pages, _TOGETHER):
            found = []
            for page, document in batch:
                counts["lines"] = page.recorded.line
                line = number << 32 | page.recorded.line
                if document is not None and has_words(document.text):
                    found.append((line, page.recorded.id, document))
                else:
                    judged = Judged(page, Verdict("unchecked", reason=page.reason if page.error else "no-text"))
                    rows.execute(
                        "INSERT INTO verdicts (place, verdict) VALUES (?, ?)",
                        (line, _pack(OutputFormat().row(judged))),
                    )
                    counts.update(judged.counted)
            counts["done"] += len(found)
            sketches = [*_sketches(detector, [each[-1] for each in found])] or [b""] * len(found)
            for (line, given, document), packed in zip(found, sketches, strict=True):
                source = int.from_bytes(source_hash(document.source or repr(given)), "big")
                rows.execute(
                    "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                    (source, int(document.seen_at), line, _pack((given, astuple(document))), packed),
                )
    rows.executemany(
        "INSERT INTO terms VALUES (?)", ((each.take_pending(),) for each in detector.sketcher.all_frequencies.values())
    )
    return counts


def _sketches(detector: NearDupDetector, documents: Sequence[Document]) -> Iterator[bytes]:
    """Yield the packed sketches of documents, whose terms are counted.

    Presets without topics sketch the title too, when the fingerprint is made: for these there is nothing.
    """
    sketcher = detector.sketcher
    if sketcher.topics:
        for document, sketch in zip(documents, sketcher.whole(*(each.text for each in documents)), strict=True):
            sketcher.topics.topic(sketch.lead, Origin.of(document).terms)  # counts them
            yield pack_sketch(sketch)


def _documents(path: Path) -> Iterator[RecordedDocument]:
    """Yield the documents of a file. For one that cannot be read, yield one that says why."""
    try:
        yield from read_documents(path)
    except InputError as error:
        yield RecordedDocument(1, str(path), None, error=str(error))


def fingerprint(job: Job, rows: sqlite3.Connection, number: int, sources: tuple[int, int]) -> Counter[str]:
    sketcher = sketcher_of(job.settings)
    for each in sketcher.all_frequencies.values():
        each.replace(job.terms)
    _gather(rows, job.work.glob("read_file-*"), "documents", *sources)
    found = rows.execute("SELECT second, line, document, sketch FROM found ORDER BY place, second, line")
    address = start = number << 32
    while batch := [(*where, *_unpack(packed), sketch) for *where, packed, sketch in found.fetchmany(_TOGETHER)]:
        documents = [replace(Document(*values), sketch=sketch) for *_, values, sketch in batch]
        for (second, line, given, *_), document, made in zip(
            batch, documents, sketcher.fingerprints(documents), strict=True
        ):
            key = second << 32 | (job.lines_before[line >> 32] + line) % (1 << 32)
            document = replace(document, id=f"{key:016x}", sketch=b"")
            record = new_record(made, document, keep_text=job.settings.keep_texts)
            rows.execute(
                "INSERT INTO stored VALUES (?, ?, ?, ?)",
                (address, line, _pack((given, astuple(record))), _pack(astuple(document))),
            )
            keys = Keys(made)
            posted = record.original + address.to_bytes(8, "big")
            rows.executemany(
                "INSERT INTO postings VALUES (?, ?, ?, ?, ?)",
                (
                    (each, second, posted, address, weight)
                    for each, weight in zip(keys.numbers, keys.weights, strict=True)
                ),
            )
            address += 1
    return Counter(done=address - start)


def find_pairs(job: Job, rows: sqlite3.Connection, number: int, keys: tuple[int, int]) -> Counter[str]:
    _gather(rows, job.work.glob("fingerprint-*"), "postings", *keys)
    rows.execute("CREATE TEMP TABLE sorted AS SELECT * FROM found ORDER BY place, key_and_address")
    bounds = {"window": job.settings.window, "most": MOST_POSTINGS}
    rows.execute(PAIRS, bounds)
    return Counter(crowded=rows.execute(_CROWDED, bounds).fetchone()[0])


def decide(job: Job, rows: sqlite3.Connection, number: int, _: object) -> Counter[str]:
    judge = judge_of(job.settings)
    counts = Counter[str]()
    _gather(rows, job.work.glob("find_pairs-*"), "pairs", number << 32, (number + 1) << 32)
    stored = opened(job.file("fingerprint", number)).execute("SELECT address, line, document FROM stored")
    for address, line, document in stored:
        votes = rows.execute(
            "SELECT sum(weight), candidate FROM found WHERE place = ? GROUP BY candidate", (address,)
        ).fetchall()
        candidates = {each[:8]: int.from_bytes(each[8:], "big") for each in choose_candidates(votes)}
        given, record = _record_at(job, address)
        pairs = [
            pair
            for key, other in candidates.items()
            if judge.system.may_match(pair := Pair(key, record, _record_at(job, other)[1], judge.policy))
        ]
        texts = dict[bytes, StoredText]()
        for pair in chosen_for_second_look(pairs).values() if job.settings.keep_texts else ():
            old = Document(*_unpack(*job.row_at("fingerprint", "document FROM stored", candidates[pair.key])))
            texts[pair.key] = StoredText.of(old.title, old.text)
        decision = judge.decide(Document(*_unpack(document)), record, pairs, texts)
        row = {"id": given, **{name: getattr(decision.verdict, name) for name in VERDICT_FIELDS}, "story": None}
        rows.execute(
            "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?)",
            (line, address, *_link(decision, candidates), _pack(row)),
        )
        counts.update(["done", "documents", *counted_names(decision.verdict)])
    return counts


@lru_cache(_MOST_ROWS)
def _record_at(job: Job, address: int) -> tuple[Any, Record]:
    """Return the id that a document has in the input, and its record as an original."""
    given, values = _unpack(*job.row_at("fingerprint", "record FROM stored", address))
    return given, Record(*values)


def _link(decision: Decision, candidates: dict[bytes, int]) -> tuple[int | None, bool, float | None, bool]:
    """Return the address of the match, whether it is a copy of it, and two values for a match that is dropped."""
    if decision.match is None or decision.verdict.match is None:  # what is boilerplate is no copy of its match
        return None, False, None, False
    pair = copy(decision.match.pair)
    pair.old = replace(pair.old, kept_share_parts=WHOLE_TEXT - 1)  # as if it were dropped
    share = pair.share if decision.verdict.would_drop else None
    is_guarded = decision.verdict.would_drop and any_applies(NOT_DROPPED, pair)
    return candidates[pair.key], decision.record.original != pair.new.original, share, is_guarded


def write_part(job: Job, rows: sqlite3.Connection, number: int, files: tuple[Path, Path]) -> Counter[str]:
    _gather(
        rows,
        [job.file("read_file", number), *job.work.glob("decide-*")],
        "verdicts",
        number << 32,
        (number + 1) << 32,
    )
    completed = _completed(job, rows)
    _, part = files
    draft = job.work / f".{part.name}.{os.urandom(6).hex()}"
    if part.suffix == ".parquet":
        with pq.ParquetWriter(draft, _COLUMNS) as table:
            while some := [*islice(completed, _MOST_ROWS)]:
                table.write_table(pa.Table.from_pylist(some, _COLUMNS))
    else:
        with draft.open("wb") as file:
            file.writelines(json.dumps(row).encode() + b"\n" for row in completed)
    draft.replace(part)
    return Counter()


def _completed(job: Job, rows: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield verdicts with their matches and originals, to which copies of copies are followed."""
    judge = judge_of(job.settings)
    known = dict[int, tuple[int, int]]()
    for match, share, is_guarded, packed in rows.execute(
        "SELECT match, share, is_guarded, verdict FROM found ORDER BY place"
    ):
        row = _unpack(packed)
        if match is not None:
            address, parts = _original(job, judge, known, match)
            original, record = _record_at(job, address)
            row |= {
                "match": _record_at(job, match)[0],
                "original": original,
                "original_url": record.url.decode("utf-8", "replace") or None,
                "would_drop": _parts_if_dropped(judge, parts, share, is_guarded) is not None,
            }
        if job.files[0][1].suffix == ".parquet":
            row |= {name: str(row[name]) for name in ("id", "match", "original") if row[name] is not None}
        yield row


def _original(job: Job, judge: Judge, known: dict[int, tuple[int, int]], address: int) -> tuple[int, int]:
    """Return the address of the original of a document, and how much of its text is kept, as a record has it.

    ``known`` has what was found before.
    """
    copies = []
    columns = "is_copy, match, share, is_guarded FROM verdicts"
    while address not in known and (link := job.row_at("decide", columns, address))[0]:
        copies.append((address, *link[2:]))
        address = link[1]
    original, parts = known.get(address, (address, WHOLE_TEXT))
    if len(known) > _MOST_ROWS:
        known.clear()
    for address, share, is_guarded in reversed(copies):
        held = _parts_if_dropped(judge, parts, share, is_guarded)
        parts = WHOLE_TEXT if held is None else held
        known[address] = original, parts
    return original, parts


def _parts_if_dropped(judge: Judge, parts: int, share: float | None, is_guarded: int) -> int | None:
    """Return how much is kept of the text of a document that is dropped, None if it is kept.

    ``parts`` says how much is kept of its match.
    """
    if share is None or (is_guarded and parts < WHOLE_TEXT) or share * (parts / WHOLE_TEXT) < judge.policy.drop_share:
        return None
    return judge.policy.held_parts(share * (parts / WHOLE_TEXT))
