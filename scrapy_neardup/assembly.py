"""Make the parts of a detector from the settings."""

from scrapy_neardup.content.embedding import Embedding, shared_embedding
from scrapy_neardup.evidence.sources import source_of
from scrapy_neardup.rules.decision import Judge
from scrapy_neardup.rules.policy import Policy
from scrapy_neardup.rules.systems import NEWS, PUBLISHED
from scrapy_neardup.settings import NearDupSettings
from scrapy_neardup.sketch.fingerprint import Sketcher


def embedding_of(settings: NearDupSettings) -> Embedding | None:
    """Return the user's language model, or None. Raise SettingsError if it does not work."""
    if settings.embedder is None or not settings.resolved_preset().topic_terms:
        return None
    return shared_embedding(settings.embedder)


def sketcher_of(settings: NearDupSettings) -> Sketcher:
    """Return a new sketcher, which has learned nothing yet."""
    is_by_source = settings.scope == "same-source"
    return Sketcher(settings.resolved_preset(), min_words=settings.min_words, by_source=is_by_source)


def judge_of(settings: NearDupSettings) -> Judge:
    """Return the judge of an index, with the policy by which it finds and judges candidates."""
    preset = settings.resolved_preset()
    policy = Policy(
        settings.window,
        preset.threshold,
        preset.related_threshold,
        preset.topic_threshold,
        scope=settings.scope,
        drop_share=settings.drop_share,
        drops=settings.action == "drop",
        keep_texts=settings.keep_texts,
        keep_sources=settings.keep_sources,
        keep_updates=settings.keep_updates,
        vector_middle=preset.vector_middle,
        vector_bar=preset.vector_bar,
        measure=preset.measure,
        collisions=preset.collisions,
    )
    system = NEWS if preset.guarded else PUBLISHED
    return Judge(policy, system, settings.owner_of, source_of)
