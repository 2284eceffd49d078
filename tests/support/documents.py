"""Make documents, fingerprints, members and joins for the tests of the index, and look into what a store keeps."""

import hashlib
import itertools
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

from scrapy_neardup.detector import NearDupDetector
from scrapy_neardup.document import Document, Fingerprint, Kind, Status
from scrapy_neardup.evidence.topic import KEYS, TITLE_BIT
from scrapy_neardup.exceptions import StoreError
from scrapy_neardup.index import Index, Judge
from scrapy_neardup.index.batch import CheckedDocument
from scrapy_neardup.index.store import Call, Client, answers
from scrapy_neardup.records.documents import Record
from scrapy_neardup.records.stored_stories import members_of
from scrapy_neardup.records.stories import read_members
from scrapy_neardup.rules.decision import Decision, Texts
from scrapy_neardup.rules.match import Match
from scrapy_neardup.rules.pair import Pair
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.settings.presets import PRESETS
from scrapy_neardup.story import Claim, Join, Member, Story

MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR
START = 472_222 * HOUR  # a full hour in November 2023

LANES = 128
BANDS = 42
ROWS = 3

WIRE = "https://wire.example/a"

FIGURE_LINES = [f"The {column} column of the register shows" for column in ("first", "next", "far", "near", "last")]

_serial = itertools.count()


def policy_with(**parameters: Any) -> Policy:
    """The policy of the preset ``news`` with these parameters."""
    return Policy(replace(PRESETS["news"], **parameters))


def digest(text: str, size: int = 8) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def key_of(*parts: object) -> int:
    return int.from_bytes(digest(repr(parts), 4), "big")


@lru_cache(maxsize=2000)
def lanes(seed: object, equal: int = LANES, other: object = None) -> bytes:
    """A signature: the first ``equal`` lanes are those of ``seed``, the rest those of ``other``."""
    first, rest = (random.Random(repr(each)).randbytes(LANES) for each in (seed, (seed, other)))
    # Never equal by chance: the highest bit tells the two apart. The lowest says that no lane is of the opening.
    mine = bytes(byte & 0x7E for byte in first[:equal])
    return mine + bytes(byte & 0x7E | 0x80 for byte in rest[equal:])


@lru_cache(maxsize=2000)
def band_keys(signature: bytes) -> tuple[int, ...]:
    width = ROWS
    return (
        tuple(key_of(band, signature[band * width : (band + 1) * width]) for band in range(BANDS)) if signature else ()
    )


def topic(terms: str) -> bytes:
    """One letter a term, the heaviest first; a capital letter is a term of the title."""
    return b"".join(struct.pack(">H", ord(term.lower()) + TITLE_BIT * term.isupper()) for term in terms)


def headline(terms: str) -> bytes:
    """One letter a term of a title."""
    return b"".join(struct.pack(">H", ord(term)) for term in sorted(set(terms)))


@lru_cache(maxsize=20_000)
def sentence(seed: object, number: int) -> str:
    """A sentence of invented words."""
    generator = random.Random(repr((seed, number)))
    return " ".join("".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(5)) + "."


@dataclass(frozen=True)
class Article:
    """What a test says of a document. ``text`` names the text; ``equal`` of its lanes are those of ``like``."""

    text: str = "wire"
    at: float = 0.0  # seconds after START
    url: str = ""
    source: str = ""
    title: str = ""
    like: str = ""
    equal: int = LANES
    size: int = 300
    short: bool = False
    topic: str = ""  # one letter a term, a capital letter if it is in the title; two in common make a candidate
    headline: str = ""  # one letter a term of the title
    figures: str = ""  # numbers with blanks between them
    number: str = ""  # of the article, in its source
    language: str = ""
    names: str = ""  # one letter a name in one alphabet
    vector: tuple[int, ...] = ()  # packed as signed bytes
    serial: int = -1

    def __post_init__(self) -> None:
        if self.serial < 0:
            object.__setattr__(self, "serial", next(_serial))

    @property
    def id(self) -> str:
        return (struct.pack(">I", int(START + self.at)) + digest(str(self.serial), 4)).hex()

    @property
    def document(self) -> Document:
        return Document(self.id, self.url, self.source, self.title, self.prose, START + self.at, self.url)

    @property
    def member(self) -> Member:
        return Member(self.id, "https://wire.example/a", "A title", "wire.example", "wire", "duplicate")

    @property
    def prose(self) -> str:
        """Sentences, of which the match has the same share as of the lanes, and one for each figure."""
        if self.short:
            return self.text
        shared = self.equal // 2 if self.like else 0
        sentences = [sentence(self.like, number) for number in range(shared)]
        sentences += [sentence(self.text, number) for number in range(shared, LANES // 2)]
        columns = enumerate(self.figures.split())
        return "\n".join([*sentences, *(f"{FIGURE_LINES[place]} {value} units today." for place, value in columns)])

    @property
    def fingerprint(self) -> Fingerprint:
        signature = lanes(self.like, self.equal, self.text) if self.like else lanes(self.text)
        signature = b"" if self.short else signature
        identities = [key_of("text", self.text)] + ([key_of("url", self.url)] if self.url else [])
        identities += [key_of("number", self.source, self.number)] if self.number else []
        return Fingerprint(
            signature=signature,
            size=0 if self.short else self.size,
            text_hash=digest(self.text),
            content_hash=digest(f"{self.title}\n{self.text}"),
            url_hash=digest(self.url) if self.url else bytes(8),
            source_hash=digest(self.source, 4) if self.source else bytes(4),
            identity_keys=tuple(identities),
            band_keys=band_keys(signature),
            topic_keys=tuple(key_of("term", term) for term in self.topic.lower()[:KEYS]),
            topic=topic(self.topic),
            name_keys=tuple(key_of("name", name) for name in self.names[:4]),
            names=headline(self.names),
            vector=struct.pack(f"{len(self.vector)}b", *self.vector),
            titles=headline(self.headline),
            article_hash=digest(f"{self.source} {self.number}", 4) if self.number else bytes(4),
            language=self.language.encode() or bytes(2),
        )

    def copy(self, **changes: object) -> "Article":
        """Another document, alike but for the changes."""
        return replace(self, **{"serial": -1, **changes})  # type: ignore[arg-type]


JOINS: dict[str, Join] = {}
"""How the documents with these ids join a story."""


DECISIONS: dict[str, Decision] = {}
"""What the rules decided on the documents with these ids."""


class ScriptedJudge(Judge):
    """Decides by the rules, and lets documents join stories as the test says, not as they are alike."""

    def decide(
        self, document: Document, new: Record, candidates: Sequence[Pair], texts: Texts | None = None
    ) -> Decision:
        decision = Judge.decide(self, document, new, candidates, texts)
        DECISIONS[document.id] = decision
        return replace(decision, join=JOINS.get(document.id))


async def check(index: Index, article: Article) -> Match | None:
    return (await checked(index, article.fingerprint, article.document)).decision.match


async def checked(index: Index, fingerprint: Fingerprint, document: Document) -> CheckedDocument:
    """Check a document alone. Raise the error if the answer is one."""
    (answer,) = await index.documents.check([(fingerprint, document)])
    if isinstance(answer, StoreError):
        raise answer
    return answer


async def story_of(index: Index, article: Article) -> tuple[str, str | None]:
    """Check a document. Return the story of its match, and the story that proves to be the same one, if any."""
    join = (await decision_on(index, article)).join
    return join.story, join.also and join.also.id


async def decision_on(index: Index, article: Article) -> Decision:
    return DECISIONS[(await checked(index, article.fingerprint, article.document)).key.hex()]


# Members of stories and the joins that bring them


def member(
    name: str, at: float = 0, source: str = "", owner: str = "", status: Status = "duplicate", kind: Kind | None = None
) -> Member:
    key = struct.pack(">I", int(START + at)) + digest(name, 4)
    return Member(key.hex(), f"https://{source}/{name}", name, source, owner or source, status, kind)


FIRST = member("first", source="wire.example", status="original")


def join(name: str, at: float = 0, source: str = "", **more: str) -> Join:
    return Join(FIRST, member(name, at, source, **more))  # type: ignore[arg-type]


def changed(name: str, source: str, dead: int, at: float = 60, first: Member | None = None) -> Join:
    """A document that says how many are dead."""
    found = replace(member(name, at, source, status="update"), changes=(f"dead: 4 -> {dead}",))
    text = f"{dead} people died in the fire."
    return Join(
        first or FIRST, found, document=Document(found.id, found.url, source, "", text, START + at, language="en")
    )


def beginning(name: str, at: float = 0, source: str = "", **more: str) -> Member:
    """The first document of another story than that of ``FIRST``."""
    return replace(member(name, at, source or f"{name}.example", status="original"), **more)  # type: ignore[arg-type]


def joining(first: Member, name: str, at: float = 0, source: str = "", **more: str) -> Join:
    return Join(first, member(name, at, source or f"{name}.example", **more))  # type: ignore[arg-type]


async def end_event(detector: NearDupDetector, name: str, at: float, sources: int) -> None:
    """Let an event of so many sources of its own run and end, all at one time."""
    index, judge = detector.index, detector.index.partition.judge
    index = Index(index.store, index.layout.namespace, index.layout.config, ScriptedJudge(judge.policy, judge.system))
    first = beginning(name, at, f"{name}.example")
    for number in range(1, sources):
        await joined(index, joining(first, f"{name} {number}", at, f"{name}-{number}.example"))
    assert await index.events.claim(Claim(first.id, "watch")) is not None
    assert await index.events.claim(Claim(first.id, "ended", last_source=first.seen_at)) is not None


async def joined(index: Index, *joins: Join) -> Story:
    """Let documents join stories, as checks do. Return the story after the last. Raise the error if it is one."""
    asked = []
    for join in joins:
        member = join.member
        key = bytes.fromhex(member.id)
        identity = int.from_bytes(digest(member.id, 4), "big")
        fingerprint = Fingerprint(1, digest(member.id), digest(member.url), bytes(4), identity_keys=(identity,))
        document = Document(member.id, member.url, member.source, member.title, "", int.from_bytes(key[:4], "big"))
        JOINS[document.id] = join
        asked.append((fingerprint, document))
    answers = await index.documents.check(asked)
    for answer in answers:
        error = answer if isinstance(answer, StoreError) else answer.story
        if isinstance(error, StoreError):
            raise error
        assert error is not None
    return error


# What a store keeps, and how it is changed, in the same way for every store


async def stored(index: Index, kind: str) -> dict[str, dict[bytes, bytes]]:
    """Return the fields of all hashes of a kind, such as ``records`` or ``story``, by key."""

    async def read(client: Client) -> dict[str, dict[bytes, bytes]]:
        names = await client.names(f"{index.layout.prefix}:{kind}")
        return {name: dict(await client.fields(name)) for name in names}

    return await index.store.ask(read)


async def members_in(index: Index, story: str) -> tuple[Member, ...]:
    """Return the members of a story that are kept, in the order they joined. A story that is gone has none."""
    key = index.layout.story(bytes.fromhex(story))
    (fields,) = await index.store.ask(lambda client: answers(client, [Call("HGETALL", key)]), reads=True)
    return read_members(members_of(cast("dict[bytes, bytes]", fields)).items())


async def overwrite(index: Index, key: str, fields: dict[bytes, bytes]) -> None:
    pairs = [each for pair in fields.items() for each in pair]
    await index.store.ask(lambda client: answers(client, [Call("HSET", key, pairs)]))


async def silence(index: Index, run_number: int, seconds: float, *, beat_alone: bool = False) -> None:
    """Make the last heartbeat of a run so many seconds older, by the clock of the store; the first one as well."""
    name = index.layout.name("runs")
    field = str(run_number)

    async def change(client: Client) -> None:
        (kept,) = await answers(client, [Call("HGET", name, (field,))])
        first, last = map(int, cast("bytes", kept).split())
        age = int(seconds * 1000)
        await answers(client, [Call("HSET", name, (field, f"{first if beat_alone else first - age} {last - age}"))])

    await index.store.ask(change)
