"""Nearest flags and choices: what a mistyped word probably meant. Bounded work, whatever the word is."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

from configurator.core.flag import FlagTable

_MAX_WORD = 48
_MAX_SHORTLIST = 8
_MAX_TABLES = 64
_NEAR = 0.72
_NUMERALS = ("one", "two", "four", "eight", "sixteen", "thirty-two", "sixty-four")
_NUMBER_IN = re.compile(r"[^\w.+-]*(\d{1,9})(?:\.0*)?(?:\s*(?:x|gpus?|ranks?))?[^\w.+-]*")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d"

# What other engines call the same thing; people move commands between engines.
_ELSEWHERE = {
    "--max-model-len": "context_length",
    "--gpu-memory-utilization": "mem_fraction_static",
    "--max-num-seqs": "max_running_requests",
    "--max-num-batched-tokens": "chunked_prefill_size",
    "--data-parallel-size-local": "dp_size",
    "--enable-expert-parallel": "ep_size",
    "--prefill-context-parallel-size": "attn_cp_size",
    "--kv-cache-memory-bytes": "mem_fraction_static",
    "--tokenizer": "tokenizer_path",
    "--seed": "random_seed",
    "--enforce-eager": "disable_cuda_graph",
}


class TableIndex:
    """The option strings of one release, sorted for abbreviations and indexed by pairs of letters for near misses."""

    def __init__(self, table: FlagTable) -> None:
        """Index the option strings of *table*."""
        self.table = table
        self.spellings = dict(table.spellings)
        self.sorted = sorted(self.spellings)
        self._pairs: dict[str, list[str]] | None = None

    def completions(self, prefix: str) -> list[str]:
        """Return the option strings that start with *prefix* (two dashes first), sorted."""
        at = bisect_left(self.sorted, prefix)
        found = []
        while at < len(self.sorted) and self.sorted[at].startswith(prefix):
            found.append(self.sorted[at])
            at += 1
        return found

    def nearest(self, word: str) -> str | None:
        """Return the option string *word* was probably meant to be, or ``None`` when none is near."""
        name = word.partition("=")[0]
        bare = name.lstrip(f"-{_DASHES}").replace("_", "-").lower()
        if not bare or len(bare) > _MAX_WORD:
            return None
        wanted = f"--{bare}"
        if wanted in self.spellings:
            return wanted
        if len(completed := self.completions(wanted)) == 1:
            return completed[0]
        elsewhere = _ELSEWHERE.get(wanted)
        if elsewhere is not None and elsewhere in self.table:
            return self.table[elsewhere].primary
        if self._pairs is None:
            self._pairs = defaultdict(list)
            for spelling in self.spellings:
                for pair in _pairs(spelling):
                    self._pairs[pair].append(spelling)
        shared = Counter(s for pair in _pairs(wanted) for s in self._pairs.get(pair, ()))
        shortlist = sorted(shared, key=lambda s: (len(s) - 2 * shared[s], s))[:_MAX_SHORTLIST]
        rated = [(SequenceMatcher(None, wanted, s).ratio(), s) for s in shortlist]
        best = max(rated, key=lambda r: (r[0], r[1]), default=(0.0, ""))
        return best[1] if best[0] >= _NEAR else None


def _pairs(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(2, len(text) - 1)}


_indices: dict[int, TableIndex] = {}


def index_of(table: FlagTable) -> TableIndex:
    """Return the index of *table*, made once; the table is kept alive by it, so that its identity stays its own."""
    index = _indices.get(id(table))
    if index is None:
        if len(_indices) >= _MAX_TABLES:
            _indices.clear()
        index = _indices[id(table)] = TableIndex(table)
    return index


def nearest_choice(text: str, choices: Sequence[object]) -> str | None:
    """Return the choice *text* was probably meant to be, or ``None``."""
    if len(text) > _MAX_WORD:
        return None
    names = [str(choice) for choice in choices]
    folded = {name.lower().replace("-", "_"): name for name in names}
    wanted = text.lower().replace("-", "_")
    if wanted in folded:
        return folded[wanted]
    near = get_close_matches(wanted, list(folded), n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def nearest_number(text: str) -> str | None:
    """Return the whole number *text* was probably meant to be: a numeral, a number with a unit or quotes; or ``None``."""
    wanted = text.strip().lower()
    if wanted in _NUMERALS:
        return str(2 ** _NUMERALS.index(wanted))
    match = _NUMBER_IN.fullmatch(wanted)
    return str(int(match[1])) if match is not None else None


def dashes_for(word: str) -> bool:
    """Tell whether *word* begins with a dash that is no hyphen, as word processors and chats make of two hyphens."""
    return word[:1] in _DASHES and word[:1] != ""
