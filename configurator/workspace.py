"""One command on one release, machine and model, with everything the front ends ask about it.

A workspace is frozen; every change returns another one. The page, the command line and the Python functions all work
through it, so that they cannot disagree. It knows no widget and prints nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

from configurator import catalog
from configurator.catalog.command_line import BY_FLAG, BY_KIND
from configurator.core.availability import AUTO, Auto, Availability, Choice, change_to, options
from configurator.core.configuration import Change, Configuration
from configurator.core.engine import Case, Finding, Report, engine_for
from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.core.release import Release
from configurator.core.repair import Repair, fixes, repairs, way_out
from configurator.core.unknown import Unknown
from configurator.hardware import HardwareSnapshot, list_presets, load_hardware
from configurator.launch.command import Command
from configurator.launch.corrections import corrections, unknown_words
from configurator.launch.parse import parse
from configurator.launch.problem import Problem, shown
from configurator.model_choice import ModelChoice, model_of, named_model, repository_of
from configurator.models import find_model

DEFAULT_HARDWARE = "h200x8"
"""Assumed where no machine is named and none is probed: fp8 DeepSeek-V3.1 fits it, eight 80 GB GPUs do not hold it."""

DEFAULT_COMMAND = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
    "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
)

_NOTES = frozenset({"not-a-command", "quote", "left-out", "substitution", "joined"})
"""Problems of a text that are no rule's business: the server never sees them."""
_TEXT = frozenset({"not-a-command", "quote", "left-out"})
"""Problems that no change of flags answers."""
_WORDS = frozenset({"unknown-flag", "positional", "ambiguous"})
_MOST_FIXES = 6
_MOST_ROUNDS = 6


@dataclass(frozen=True, repr=False)
class Workspace:
    """A command, the release it is for, and what is known of machine and model.

    Attributes:
        release: The release's catalogue.
        hardware: The machine, probed or assumed.
        model: The model.
        command: The command as written.
    """

    release: Release
    hardware: HardwareSnapshot
    model: ModelChoice
    command: Command

    def __repr__(self) -> str:
        """Return what it is about in one line; the catalogue behind it is long."""
        command = shown(self.command.render("single-line"), 200)
        return f"<Workspace SGLang {self.release.version}, {self.hardware.name}, {self.model.name}: {command}>"

    @classmethod
    def start(
        cls,
        command: str | Sequence[str] | None = None,
        *,
        release: str | None = None,
        hardware: str | HardwareSnapshot | None = None,
        model: str | Mapping[str, object] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Workspace:
        """Return a workspace for *command*, or for one to begin with.

        Args:
            command: Pasted text, or argv words with or without the launcher.
            release: Version, or ``installed`` for the one in this Python; the newest known by default.
            hardware: Preset name, snapshot file, ``local``, or a snapshot; an assumed preset by default.
            model: Sheet name, repository, folder, ``config.json`` or its contents; by default what the command names.
            env: Environment variables that come with the command.

        Raises:
            InputError: A name means nothing here, or a file cannot be read.
        """
        catalogue = release_named(release)
        snapshot = (
            hardware
            if isinstance(hardware, HardwareSnapshot)
            else load_hardware(DEFAULT_HARDWARE if hardware is None else hardware)
        )
        parsed = _read(DEFAULT_COMMAND if command is None else command, catalogue)
        if env:
            parsed = parsed.apply(Change(env=dict(env)), catalogue.table)
        choice = model_of(parsed) if model is None else named_model(model)
        return cls(catalogue, snapshot, choice, parsed)

    # --- what holds -------------------------------------------------------------------------------------------------

    @cached_property
    def case(self) -> Case:
        """The question to the engine."""
        facts = {**self.hardware.to_facts(), **self.model.facts}
        unread = {
            dest: Unknown(f"{text} stands for a value that only the shell knows", has_value=True)
            for dest, text in self.command.references.items()
            if not dest.startswith("env.")
        }
        return Case(self.release, self.command.configuration, facts, unread)

    @cached_property
    def report(self) -> Report:
        """All findings: what the parser refuses, and what the engine finds, in order of harm."""
        report = engine_for(self.release).check(self.case)
        parsed = tuple(self._finding(problem) for problem in self.command.problems if problem.kind not in _NOTES)
        if not parsed:
            return report
        refused = tuple(f for f in parsed if f.rule.effect.breaks)
        noted = tuple(f for f in parsed if not f.rule.effect.breaks)
        breaking = tuple(f for f in report.findings if f.rule.effect.breaks)
        rest = tuple(sorted((*noted, *(f for f in report.findings if not f.rule.effect.breaks)), key=_by_harm))
        return replace(report, findings=(*refused, *breaking, *rest))

    def _finding(self, problem: Problem) -> Finding:
        code = BY_FLAG.get((problem.kind, problem.dest or ""), "")
        if code not in self.release.rules:
            code = BY_KIND[problem.kind]
        return Finding(self.release.rules[code], certain=True, message=problem.message)

    @property
    def configuration(self) -> Configuration:
        """What the command asks for."""
        return self.command.configuration

    @property
    def table(self) -> FlagTable:
        """The flags of the release."""
        return self.release.table

    @property
    def notes(self) -> tuple[Problem, ...]:
        """What was wrong with the text itself, before any server would see it."""
        return tuple(problem for problem in self.command.problems if problem.kind in _NOTES)

    def options(self, *dests: str) -> Mapping[str, tuple[Availability, ...]]:
        """Return every choice of every modelled flag, or of *dests*, with state and reason."""
        return options(self.case, dests or None)

    # --- ways out ---------------------------------------------------------------------------------------------------

    def fixes(self, finding: Finding) -> tuple[Change, ...]:
        """Return the changes that remove *finding* and add none as bad, the mildest first."""
        problem = self._problem_of(finding)
        if problem is None:
            return fixes(self.case, finding)
        meant, others = corrections(self.command, problem, self.case)
        sure = (self._without_harm(finding, problem, change) for change in meant)
        rest = (change for change in others if self._answers(finding, problem, change))
        return tuple(islice(dict.fromkeys(change for change in chain(sure, rest) if change), _MOST_FIXES))

    def repairs(self) -> tuple[Repair, ...]:
        """Return the changes after which nothing refuses, crashes or corrupts, cheapest first."""
        return self._repairs

    @cached_property
    def _repairs(self) -> tuple[Repair, ...]:
        if not self.command.problems:
            return repairs(self.case)
        if not self.command.refused:
            return self._repairs_after(Change())
        for pick in (0, -1):
            first = self._corrected(pick)
            found = () if first is None else self._repairs_after(first)
            if found:
                return found
        return ()

    def _repairs_after(self, first: Change) -> tuple[Repair, ...]:
        """Return the repairs that begin with *first*; their verdicts count what the parser says, too."""
        at = self.apply(first) if first else self
        found = repairs(at.case)
        if not found and first and at.report.verdict != "error":
            return (Repair(first, float(len(first)), at.report.verdict),)
        changes = [(first.then(repair.change), repair.cost + len(first)) for repair in found]
        return tuple(Repair(change, cost, self.apply(change).report.verdict) for change, cost in changes)

    def _corrected(self, pick: int) -> Change | None:
        """Return a change after which the parser refuses nothing: of each problem the first or the last correction."""
        first, at = Change(), self
        for _ in range(_MOST_ROUNDS):
            wrong = [problem for problem in at.command.problems if problem.refuses]
            if not wrong:
                return first
            step = unknown_words(at.command) if any(p.kind == "left-out" for p in wrong) else Change()
            for problem in wrong:
                if problem.kind in _TEXT or (step.unset and problem.kind in _WORDS):
                    continue
                able = [c for c in chain(*corrections(at.command, problem, at.case)) if at._clears(problem, c)]
                step = step.then(able[pick]) if able else step
            if not step:
                return None
            first, at = first.then(step), at.apply(step)
        return None

    def way_out(self, dest: str, choice: Choice) -> Change | None:
        """Return the smallest change of other flags that frees *choice* of *dest*, or ``None``."""
        return way_out(self.case, dest, choice)

    def hardware_that_frees(self, dest: str, choice: Choice) -> HardwareSnapshot | None:
        """Return the first preset on which *choice* of *dest* is not blocked; ``None`` on a probed machine."""
        if not self.hardware.assumed:
            return None
        for preset in list_presets():
            other = replace(self, hardware=preset)
            for option in other.options(dest).get(dest, ()):
                if option.choice == choice and option.state != "blocked" and not option.conflict:
                    return other.hardware
        return None

    def _problem_of(self, finding: Finding) -> Problem | None:
        for problem in self.command.problems:
            if problem.kind not in _NOTES and problem.message == finding.message:
                return problem
        return None

    def _clears(self, problem: Problem, change: Change) -> bool:
        """Tell whether *problem* is gone after *change*, and the parser refuses nothing that it did not before."""
        try:
            after = self.apply(change)
        except InputError:
            return False
        known = {_key(p) for p in self.command.problems}
        left = [p for p in after.command.problems if p.kind not in _NOTES]
        return all(_key(p) != _key(problem) and (not p.refuses or _key(p) in known) for p in left)

    def _answers(self, finding: Finding, problem: Problem, change: Change) -> bool:
        """Tell whether *change* removes *problem* and surely adds no finding that breaks or is as bad as *finding*."""
        if not self._clears(problem, change):
            return False
        known = {f.rule.code for f in self.report.findings if f.certain}
        worst = finding.rule.effect.rank
        return not any(
            f.certain and f.rule.code not in known and (f.breaks or f.rule.effect.rank <= worst)
            for f in self.apply(change).report.findings
        )

    def _without_harm(self, finding: Finding, problem: Problem, change: Change) -> Change | None:
        """Return *change*; where it adds something bad, with the smallest change of other flags that prevents it."""
        if self._answers(finding, problem, change):
            return change
        if len(change.set) != 1 or not self._clears(problem, change):
            return None
        ((dest, value),) = change.set.items()
        if dest not in self.release.modelled:
            return None
        more = way_out(self.apply(change).case, dest, value)
        whole = None if more is None else change.then(more)
        return whole if whole is not None and self._answers(finding, problem, whole) else None

    # --- changes ----------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Workspace:
        """Return the workspace with *change* made in the command, where the flags stand."""
        return self._with_command(self.command.apply(change, self.table))

    def choose(self, dest: str, choice: Choice) -> Workspace:
        """Return the workspace with *choice* made for *dest*; ``AUTO`` leaves the flag out."""
        return self.apply(change_to(engine_for(self.release), dest, choice))

    def load(self, text: str) -> Workspace:
        """Return a workspace for the pasted *text*; release, machine and a model named apart stay."""
        return self._with_command(_read(text, self.release))

    def with_release(self, version: str) -> Workspace:
        """Return the same command on another release; wishes that it does not know stay in the text."""
        catalogue = release_named(version)
        return replace(self, release=catalogue, command=_read(self.command.render("as-written"), catalogue))

    def with_hardware(self, hardware: str | HardwareSnapshot) -> Workspace:
        """Return the same command on another machine."""
        return replace(self, hardware=hardware if isinstance(hardware, HardwareSnapshot) else load_hardware(hardware))

    def with_model(self, model: str | Mapping[str, object]) -> Workspace:
        """Return the command for another model.

        Where the command names a model of the catalogue, its path is changed too; a path of the user's own stays.
        """
        choice = named_model(model)
        path = self.command.model_path
        repository = repository_of(model) if isinstance(model, str) else None
        if repository is not None and (path is None or find_model(path) is not None):
            after = self.command.apply(Change({"model_path": repository}), self.table)
            return replace(self, command=after, model=model_of(after))
        return replace(self, model=choice)

    def _with_command(self, command: Command) -> Workspace:
        if self.model.chosen or command.model_path == self.command.model_path:
            return replace(self, command=command)
        return replace(self, command=command, model=model_of(command))


def release_named(version: str | None) -> Release:
    """Return the catalogue of *version*, of the SGLang installed in this Python for ``installed``, by default the newest.

    Raises:
        InputError: The catalogue does not know it, or none is installed.
    """
    if version != "installed":
        return catalog.release(catalog.NEWEST if version is None else version)
    from importlib import metadata  # noqa: PLC0415 - only for those who ask for it

    try:
        return catalog.release(metadata.version("sglang"))
    except metadata.PackageNotFoundError:
        raise InputError(
            "The installed release was asked for, and this Python has no sglang; name a release.", part="installed"
        ) from None


def _read(source: str | Sequence[str], release: Release) -> Command:
    from configurator.catalog.flag_table import flag_history  # noqa: PLC0415 - read only when a flag is unknown

    return parse(source, release.table, history=flag_history)


def _key(problem: Problem) -> tuple[str, str | None, str]:
    return problem.kind, problem.dest, problem.word


def _by_harm(finding: Finding) -> tuple[int, int]:
    return finding.rule.effect.rank, finding.rule.order


__all__ = ["AUTO", "Auto", "ModelChoice", "Workspace"]
