"""Looking rules up: by code, by name, or by the message that a server's log shows."""

from __future__ import annotations

import re

from configurator import catalog
from configurator.answers import Explained, Span
from configurator.arguments import the_text
from configurator.core.errors import InputError
from configurator.core.rule import Resolution, Rule
from configurator.launch.command import Command


def explain(name: str) -> Explained:
    """Return the rule or resolution with this code or slug, as the newest release that has it states it.

    A rule that changes its words from one release to another changes its code and keeps its slug: by code you get those
    words and the releases that have them, by slug the newest words and all releases.

    Raises:
        InputError: There is none; the message names the nearest.
    """
    wanted = the_text(name, "name", "a rule's code or name, such as 'DCP204'").strip()
    for version in reversed(catalog.VERSIONS):
        release = catalog.release(version)
        items: list[Rule | Resolution] = [*release.rules.values(), *release.resolutions.values()]
        for item in items:
            if wanted.upper() == item.code or wanted.lower() == item.slug:
                spans = _spans(item.slug)
                span = next(s for s in spans if s.code == item.code)
                since, until = (span.since, span.until) if wanted.upper() == item.code else catalog.lifetime(item.slug)
                return Explained(item, since, until, others=tuple(s for s in spans if s is not span))
    from difflib import get_close_matches  # noqa: PLC0415 - needed for this message only

    near = get_close_matches(wanted.lower(), sorted(_all_slugs()), n=3, cutoff=0.4)
    hint = f" Near it: {', '.join(near)}." if near else ""
    raise InputError(f"No rule is called {wanted}.{hint}", part=wanted)


def explain_error(text: str) -> tuple[Explained, ...]:
    """Return the rules whose message occurs in *text*: an error, a traceback or a server's log.

    Matching is loose about case and white space. Each rule is returned once, with the first line that shows it, in the
    words of the release that the text names, else of the newest that has it.
    """
    lines = the_text(text, "text", "an error or a log as text")[:_MAX_LOG].splitlines()
    squeezed = [_squeeze(line) for line in lines]
    found: dict[str, Explained] = {}
    named = _release_named_in(text)
    for version in sorted(catalog.VERSIONS, key=lambda v: (v == named, catalog.VERSIONS.index(v)), reverse=True):
        for rule in catalog.release(version).rules.values():
            if rule.upstream_signature is None or rule.slug in found:
                continue
            wanted = _squeeze(rule.upstream_signature)
            for number, line in enumerate(squeezed, start=1):
                if wanted in line:
                    spans = _spans(rule.slug)
                    span = next(s for s in spans if s.code == rule.code)
                    others = tuple(s for s in spans if s is not span)
                    said = lines[number - 1].strip()[:300]
                    found[rule.slug] = Explained(rule, span.since, span.until, number, said, others)
                    break
    specific = [e for e in found.values() if not e.rule.code.startswith("REL")]
    return tuple(sorted(specific or found.values(), key=lambda e: e.line or 0))


def command_of_log(text: str) -> tuple[Command | None, str | None]:
    """Return the command that a pasted log shows, and the version of SGLang it names; ``None`` for what it does not.

    The command is read for the release the log names where the catalogue knows it, else for the newest.
    """
    from configurator.launch.log import command_in, release_in  # noqa: PLC0415 - only for pasted logs

    text = the_text(text, "text", "a log as text")[:_MAX_LOG]
    named = release_in(text)
    release = catalog.release(named if named in catalog.VERSIONS else catalog.NEWEST)
    return command_in(text, release.table, release.modelled), named


_MAX_LOG = 2_000_000


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()


def _spans(slug: str) -> tuple[Span, ...]:
    """Return the codes that state the rule *slug*, oldest first, each with the releases that have it."""
    having: dict[str, list[str]] = {}
    for version in catalog.VERSIONS:
        release = catalog.release(version)
        items: list[Rule | Resolution] = [*release.rules.values(), *release.resolutions.values()]
        for item in items:
            if item.slug == slug:
                having.setdefault(item.code, []).append(version)
    return tuple(Span(code, v[0], None if v[-1] == catalog.NEWEST else v[-1]) for code, v in having.items())


def _release_named_in(text: str) -> str | None:
    from configurator.launch.log import release_in  # noqa: PLC0415 - only for pasted logs

    return release_in(text[:_MAX_LOG])


def _all_slugs() -> set[str]:
    slugs: set[str] = set()
    for version in catalog.VERSIONS:
        release = catalog.release(version)
        slugs.update(rule.slug for rule in release.rules.values())
        slugs.update(resolution.slug for resolution in release.resolutions.values())
    return slugs
