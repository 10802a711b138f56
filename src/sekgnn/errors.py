"""Errors and warnings that name cause and cure."""


class GraphInputError(ValueError):
    """A graph, or a file that should hold graphs, is invalid."""


class ConfigError(ValueError):
    """A parameter has a value that cannot work."""


class MissingExtraError(ImportError):
    """An optional dependency is needed and not installed."""


class DataNotFoundError(FileNotFoundError):
    """Benchmark data is missing; the message names the files and their folder."""


class GraphInputWarning(UserWarning):
    """Input is usable, but was changed, or has an effect that users should know."""


class ModelFileError(ValueError):
    """A file that should hold a model is damaged, or holds another one."""


class OutputError(OSError):
    """A file could not be written; an earlier file there is unchanged."""


class ResumeWarning(UserWarning):
    """A run continues under other conditions, which may change its numbers."""


class CacheWarning(UserWarning):
    """A cache could not be used or written; results are right, but take longer."""
