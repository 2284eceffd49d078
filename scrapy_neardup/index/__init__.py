"""The index of the window, which finds the match of a fingerprint, and the stores that keep it (store.py)."""

from functools import partial

from scrapy_neardup.index.documents import Documents
from scrapy_neardup.index.events import Events
from scrapy_neardup.index.layout import Layout, Partition
from scrapy_neardup.index.learned import Learned
from scrapy_neardup.index.runs import Runs
from scrapy_neardup.index.store import Breaker, Store, answers
from scrapy_neardup.index.stories import Changes, Stories
from scrapy_neardup.index.upkeep import Selection, StoreSummary, survey, to_purge
from scrapy_neardup.records.documents import KEY_BYTES
from scrapy_neardup.records.documents import VERSION as DOCUMENT_VERSION
from scrapy_neardup.records.stories import VERSION as MEMBER_VERSION
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.settings import NearDupSettings

__all__ = ["RECORD_VERSIONS", "Breaker", "Index", "Judge", "Policy", "index_from_url"]

# Increase one of these versions with every change to the data that a store keeps.
#
# A store does not read windows of other versions.
RECORD_VERSIONS = DOCUMENT_VERSION, MEMBER_VERSION

_PURGED_AT_ONCE = 500  # calls; in between others may write


class Index:
    """The window. Its ``documents`` finds the candidates of a document, decides, and commits in one atomic step.

    1. If documents are alike enough to match each other, exactly one of them is the original, whatever the number of
       tasks, threads and processes that check at the same time.
    2. Time is the documents' own ``seen_at``: two documents at most ``window`` seconds apart are compared.
    3. Memory is bounded by what the window holds; an idle namespace vanishes by itself.
    4. Checking a document again gives the same status again, and registers nothing. It is the same document if id,
       text and url are the same. If another document has its id, the document gets the next id that is free.
    5. A match names the original, never another duplicate, even if the original's own slice is over.
    6. Data that is read back is length-checked and never evaluated.
    7. Documents in the same order get the same answers, whatever the store, if the same ones wait together: a group is
       checked at once, and may be cut in another way. In a crowd, a check does not look at every document: see
       ``choose_candidates`` in postings.py.
    8. A document joins its story in the same atomic step that registers it, and only once, however often it is checked.
       The second document of a story also adds the first one. A story lives for a window after its last member. A level
       of an event is granted to one claim, and to that claim as often as it asks.
    9. A document that a run registered counts as seen if it is delivered or the run lives. A document that the run
       drops as a copy counts if its match counts. A page that is registered again after its run died rejoins its old
       story.
    """

    def __init__(self, store: Store, namespace: str, config: str, judge: Judge) -> None:
        self.store = store
        self.layout = Layout(namespace, config, judge.policy.window)
        self.partition = Partition(store, self.layout, judge)
        self.stories = Stories(self.partition)
        self.documents = Documents(self.partition)
        self.runs = Runs(self.partition)
        self.events = Events(self.partition, self.stories)
        self.changes = Changes(self.partition)
        self.learned = Learned(self.partition)

    async def open(self) -> None:
        """Connect, inside the running loop. Opening twice does no harm.

        Raise StoreError if the store cannot be used as configured.
        """
        try:
            await self.store.open(self.layout.records(bytes(KEY_BYTES)))
        except BaseException:  # also if the task is cancelled
            await self.store.close()
            raise

    async def close(self) -> None:
        """Finish the calls under way and release every resource. Closing twice does no harm."""
        await self.store.close()

    async def summary(self) -> StoreSummary:
        return await self.store.ask(lambda client: survey(client, self.partition, self.stories), reads=True)

    async def purge(self, selection: Selection, *, dry_run: bool = False) -> int:
        """Remove the selected documents of this namespace, whatever their configuration.

        Also remove the copies whose original is removed. Return their number. They are removed from the members of
        stories too, but the counters of these stories stay. A selection of all leaves nothing of the namespace. With
        ``dry_run`` only count the documents. This is not one atomic step: documents that are registered meanwhile may
        stay.
        """
        count, calls = await self.store.ask(lambda client: to_purge(client, self.layout, selection), reads=True)
        if not dry_run:
            for first in range(0, len(calls), _PURGED_AT_ONCE):
                await self.store.ask(partial(answers, calls=calls[first : first + _PURGED_AT_ONCE]))
        return count


def index_from_url(url: str, *, namespace: str, config: str, judge: Judge, timeout: float = 2.0) -> Index:
    """Return the index that a url names, not opened yet. Raise SettingsError if the url names none."""
    NearDupSettings.from_mapping({"NEARDUP_STORE": url})  # the constructor of settings checks nothing
    scheme, _, rest = url.partition("://")
    if scheme in ("memory", "sqlite"):
        from scrapy_neardup.index.sqlite import SQLiteStore

        # ``sqlite:///relative/file`` and ``sqlite:////absolute/file``, as SQLAlchemy reads them.
        return Index(SQLiteStore(rest[1:], timeout), namespace, config, judge)
    from scrapy_neardup.index.redis.store import RedisStore

    return Index(RedisStore(url, timeout), namespace, config, judge)
