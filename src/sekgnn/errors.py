"""Errors and warnings that name cause and cure."""


class GraphInputError(ValueError):
    """A graph, or a file that should hold graphs, is not what it must be."""


class ConfigError(ValueError):
    """A parameter has a value that cannot work."""


class MissingExtraError(ImportError):
    """An optional dependency is needed and not installed."""


class DataNotFoundError(FileNotFoundError):
    """Benchmark data is missing; the message says what to place where."""


class GraphInputWarning(UserWarning):
    """Input is usable, after a change or with an effect that users should know."""


class ModelFileError(ValueError):
    """A file that should hold a model is damaged, or holds another one."""


class OutputError(OSError):
    """A file could not be written; whatever was there before is unchanged."""


class ResumeWarning(UserWarning):
    """A run goes on in another way than it began; its numbers may show it."""


class CacheWarning(UserWarning):
    """A cache could not be used or written; results are right, but slower to get."""
