"""Reading numbers out of a config mapping, with the sense checks a hand-edited file needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown

_MISSING = object()
_LIMITS = {
    "layers": 10_000,
    "heads": 65_536,
    "experts": 1_000_000,
    "dim": 10_000_000,
    "tokens": 1_000_000_000_000,
}


def shown(value: object) -> str:
    """Return *value* for a message: short, one line."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


class Fields:
    """A config mapping with its origin, read key by key; keys left out fall back to *defaults*.

    Attributes:
        mapping: The keys, as parsed from JSON.
        part: What messages call the mapping, for example ``config.json`` or ``config.json, text_config``.
        defaults: Values of keys that *mapping* does not hold at all.
    """

    def __init__(self, mapping: Mapping[str, object], part: str, defaults: Mapping[str, object] | None = None) -> None:
        """Keep the three; nothing is read yet."""
        self.mapping = mapping
        self.part = part
        self.defaults = defaults or {}

    def get(self, *keys: str) -> object:
        """Return the first of *keys* that holds something, ``None`` where none does."""
        found = self._find(keys)
        return None if found is _MISSING else found

    def has(self, *keys: str) -> bool:
        """Tell whether any of *keys* is there, ``null`` included."""
        return any(key in self.mapping or key in self.defaults for key in keys)

    def count(self, *keys: str, limit: str, zero: bool = False) -> int | Unknown | None:
        """Return a whole number, ``None`` for ``null``, Unknown where no key is there or layers differ.

        Args:
            *keys: Spellings of the same number, first wins.
            limit: Which bound applies: ``layers``, ``heads``, ``experts``, ``dim`` or ``tokens``.
            zero: Whether 0 is a number of this kind (0 draft layers) rather than nonsense (0 heads).

        Raises:
            InputError: The value is no whole number, not positive, or beyond anything a model has.
        """
        found = self._find(keys)
        if found is _MISSING:
            if self.has(*keys):
                return None
            return Unknown(f'{self.part} has no "{keys[0]}"')
        if isinstance(found, (list, tuple)):
            return Unknown(f'"{self._key(keys)}" in {self.part} differs from layer to layer')
        lowest, highest = (0 if zero else 1), _LIMITS[limit]
        if isinstance(found, bool) or not isinstance(found, int) or not lowest <= found <= highest:
            raise self._bad(keys, found, f"a whole number from {lowest} to {highest:,} belongs there")
        return found

    def text(self, *keys: str) -> str | None:
        """Return a non-empty string, or ``None`` where there is none.

        Raises:
            InputError: The value is something else than a string.
        """
        found = self._find(keys)
        if found is _MISSING or found == "":
            return None
        if not isinstance(found, str):
            raise self._bad(keys, found, "a string belongs there")
        return found

    def flag(self, key: str) -> bool:
        """Return a boolean; a key that is absent or ``null`` counts as false, as in the server.

        Raises:
            InputError: The value is neither ``true`` nor ``false``.
        """
        found = self._find((key,))
        if found is _MISSING:
            return False
        if not isinstance(found, bool):
            raise self._bad((key,), found, "true or false belongs there")
        return found

    def section(self, key: str) -> Mapping[str, object] | None:
        """Return a nested object, or ``None`` where there is none or it is empty.

        Raises:
            InputError: The value is something else than an object.
        """
        found = self._find((key,))
        if found is _MISSING:
            return None
        if not isinstance(found, Mapping):
            raise self._bad((key,), found, "an object belongs there")
        return found or None

    def items(self, key: str) -> Sequence[object] | None:
        """Return a list, or ``None`` where there is none.

        Raises:
            InputError: The value is something else than a list.
        """
        found = self._find((key,))
        if found is _MISSING:
            return None
        if not isinstance(found, (list, tuple)):
            raise self._bad((key,), found, "a list belongs there")
        return found

    def _find(self, keys: Sequence[str]) -> object:
        for source in (self.mapping, self.defaults):
            for key in keys:
                value = source.get(key)
                if value is not None:
                    return value
            if any(key in source for key in keys):
                return _MISSING
        return _MISSING

    def _key(self, keys: Sequence[str]) -> str:
        return next((key for key in keys if self.mapping.get(key) is not None), keys[0])

    def _bad(self, keys: Sequence[str], value: object, wanted: str) -> InputError:
        key = self._key(keys)
        return InputError(
            f'"{key}" in {self.part} is {shown(value)}; {wanted}. Correct the file, or name a model of the catalogue.',
            part=key,
        )
