"""Errors that a user of the package may meet. Each names what is wrong, the value, and what would be right."""


class NearDupError(Exception):
    """Base class of all errors of this package."""


class SettingsError(NearDupError, ValueError):
    """A ``NEARDUP_*`` setting has a value that is not allowed."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(f"{name} = {value!r}: {allowed}")
        self.name = name
        self.value = value


class StoreError(NearDupError):
    """The store cannot be used as configured, or its data are damaged. Examples: a wrong address, a refused login."""


class NoWindowError(StoreError):
    """There is no window yet: no crawl has made one at this place."""


class StoreUnavailable(StoreError):
    """The store did not answer in time, or not at all. It may be back later."""


class ExtractionError(NearDupError):
    """A page's main content could not be extracted: too large, too slow, or the extractor raised."""


class InputError(NearDupError, ValueError):
    """A line or file that was given to a command cannot be used. The message names the file and the line."""


def explain_failure(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
