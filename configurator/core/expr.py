"""Predicates as data: one tree, several interpreters (evaluate, reads, describe).

A predicate is a frozen value built from terms: ``flag.dcp_size.at_least(2) & model.is_mla.holds()``.
It is never a Python function, so it can be compared, printed, asked what it reads, and compiled.
Truth has three values: ``True``, ``False`` and :class:`~configurator.core.unknown.Unknown`, which wins over
``True`` in a conjunction and over ``False`` in a disjunction (Kleene's strong logic).

Terms name values in an *environment*, a flat mapping with dotted keys:
``asked.X`` (what the user gave, else the parser's default), ``resolved.X`` (what the server makes of it),
``given.X`` (whether the user wrote the flag), ``model.X``, ``hardware.X``, ``software.X`` (facts), ``env.X``
(environment variables) and ``step.X`` (what resolutions leave for later ones and for rules; nobody is shown it).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from configurator.core.unknown import Unknown

Env = Mapping[str, object]
Truth = bool | Unknown
Evaluator = Callable[[Env], Truth]
Getter = Callable[[Env], object]


class Expr(ABC):
    """A predicate. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Expr) -> Expr:
        return And((self, other))

    def __or__(self, other: Expr) -> Expr:
        return Or((self, other))

    def __invert__(self) -> Expr:
        return self.child if isinstance(self, Not) else Not(self)

    @abstractmethod
    def compile(self) -> Evaluator:
        """Return a function from an environment to a truth value; faster than walking the tree each time."""

    @abstractmethod
    def reads(self) -> frozenset[str]:
        """Return the environment keys that the predicate depends on."""

    @abstractmethod
    def describe(self) -> str:
        """Return the predicate in words, with flags as they are written."""

    def evaluate(self, env: Env) -> Truth:
        """Return the truth of the predicate in *env*. Compiles on every call: meant for tests and one-offs."""
        return self.compile()(env)


@dataclass(frozen=True, slots=True)
class Term:
    """A named value of the environment; its methods build predicates about it.

    Attributes:
        key: Dotted key, for example ``asked.dcp_size``.
    """

    key: str

    def get(self) -> Getter:
        """Return a function that reads the value from an environment."""
        key = self.key
        return lambda env: env[key]

    def reads(self) -> frozenset[str]:
        """Return the keys the term depends on."""
        return frozenset({self.key})

    def describe(self) -> str:
        """Return the term in words."""
        return spell(self.key)

    def equals(self, value: object) -> Expr:
        """True where the term has exactly *value* (a constant or another term)."""
        return Compare(self, "is", value)

    def differs(self, value: object) -> Expr:
        """True where the term has any other value than *value*."""
        return Compare(self, "is not", value)

    def is_in(self, *values: object) -> Expr:
        """True where the term is one of *values*."""
        return In(self, values)

    def at_least(self, value: object) -> Expr:
        """True where the term is a number of *value* or more."""
        return Compare(self, "at least", value)

    def less_than(self, value: object) -> Expr:
        """True where the term is a number below *value*."""
        return Compare(self, "less than", value)

    def more_than(self, value: object) -> Expr:
        """True where the term is a number above *value*."""
        return Compare(self, "more than", value)

    def divides(self, dividend: Term | Derived) -> Expr:
        """True where *dividend* is a multiple of the term; a divisor of 0 divides nothing."""
        return Compare(self, "divides", dividend)

    def holds(self) -> Expr:
        """True where the term is true."""
        return Compare(self, "is", True)

    def is_set(self) -> Expr:
        """True where the term has a value."""
        return Compare(self, "is not", None)

    def is_unset(self) -> Expr:
        """True where the term has no value."""
        return Compare(self, "is", None)


@dataclass(frozen=True, slots=True)
class Derived(Term):
    """A value computed from other terms by a named pure function.

    Attributes:
        key: Name, shown in messages.
        function: Pure function of the values of *of*, in order; not called while one of them is unknown.
        of: The terms it is computed from.
        takes_unknown: Whether the function is called all the same, because it may not need the one that is unknown.
    """

    function: Callable[..., object]
    of: tuple[Term, ...]
    takes_unknown: bool = False

    def get(self) -> Getter:
        """Return a function that computes the value from an environment."""
        function = self.function
        getters = tuple(term.get() for term in self.of)
        if self.takes_unknown:
            return lambda env: function(*(getter(env) for getter in getters))

        def compute(env: Env) -> object:
            values = []
            for getter in getters:
                value = getter(env)
                if type(value) is Unknown:
                    return value
                values.append(value)
            return function(*values)

        return compute

    def reads(self) -> frozenset[str]:
        """Return the keys of all terms it is computed from."""
        return frozenset().union(*(term.reads() for term in self.of))


def spell(key: str) -> str:
    """Return an environment key as the user knows it: ``asked.dcp_size`` is ``--dcp-size``."""
    space, _, name = key.partition(".")
    if space in ("asked", "resolved"):
        return "--" + name.replace("_", "-")
    if space == "env":
        return name
    return f"{space} {name}".replace("_", " ") if name else space.replace("_", " ")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ORDER: Mapping[str, Callable[[object, object], bool]] = {
    "is": lambda a, b: a is b or (a == b and type(a) is not bool and type(b) is not bool),
    "is not": lambda a, b: not (a is b or (a == b and type(a) is not bool and type(b) is not bool)),
    "at least": lambda a, b: _number(a) and _number(b) and a >= b,  # type: ignore[operator]  # both are numbers
    "less than": lambda a, b: _number(a) and _number(b) and a < b,  # type: ignore[operator]  # both are numbers
    "more than": lambda a, b: _number(a) and _number(b) and a > b,  # type: ignore[operator]  # both are numbers
    "divides": lambda a, b: _number(a) and _number(b) and a != 0 and b % a == 0,  # type: ignore[operator]
}


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """A comparison of a term with a constant or another term; ``None`` compares as false with numbers."""

    left: Term
    operator: str
    right: object

    def compile(self) -> Evaluator:
        """Return the evaluator; comparisons with a constant skip the second look-up."""
        order = _ORDER[self.operator]
        left = self.left.get()
        if isinstance(self.right, Term):
            right = self.right.get()

            def two(env: Env) -> Truth:
                a, b = left(env), right(env)
                if type(a) is Unknown:
                    return a
                if type(b) is Unknown:
                    return b
                return order(a, b)

            return two
        constant = self.right
        if constant is None and self.operator in ("is", "is not"):
            unset = self.operator == "is"

            def empty(env: Env) -> Truth:
                a = left(env)
                if type(a) is Unknown:
                    return not unset if a.has_value else a
                return (a is None) is unset

            return empty

        def one(env: Env) -> Truth:
            a = left(env)
            if type(a) is Unknown:
                return a
            return order(a, constant)

        return one

    def reads(self) -> frozenset[str]:
        """Return the keys of both sides."""
        right = self.right.reads() if isinstance(self.right, Term) else frozenset[str]()
        return self.left.reads() | right

    def describe(self) -> str:
        """Return for example ``--dcp-size at least 2``."""
        left = self.left.describe()
        if self.right is None:
            return f"{left} {'unset' if self.operator == 'is' else 'set'}"
        if isinstance(self.right, bool):
            return f"{left} {'on' if self.right == (self.operator == 'is') else 'off'}"
        right = self.right.describe() if isinstance(self.right, Term) else str(self.right)
        return f"{left} {self.operator} {right}"


@dataclass(frozen=True, slots=True)
class In(Expr):
    """Membership of a term in a fixed set of values."""

    term: Term
    values: tuple[object, ...]

    def compile(self) -> Evaluator:
        """Return the evaluator over a frozen set; as in :meth:`Term.equals`, ``True`` is not 1."""
        get = self.term.get()
        values = frozenset((type(value) is bool, value) for value in self.values)

        def member(env: Env) -> Truth:
            value = get(env)
            if type(value) is Unknown:
                return value
            return (type(value) is bool, value) in values

        return member

    def reads(self) -> frozenset[str]:
        """Return the keys of the term."""
        return self.term.reads()

    def describe(self) -> str:
        """Return for example ``--dcp-comm-backend one of a2a, fi_a2a``."""
        return f"{self.term.describe()} one of {', '.join(_word(value) for value in self.values)}"


def _word(value: object) -> str:
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


@dataclass(frozen=True, slots=True)
class Given(Expr):
    """True where the user wrote the flag, whatever its value."""

    dest: str

    def compile(self) -> Evaluator:
        """Return the evaluator; ``given.X`` is true of a flag that was written, false of any other."""
        key = f"given.{self.dest}"

        def given(env: Env) -> Truth:
            truth = env[key]
            return truth if type(truth) is Unknown else truth is True

        return given

    def reads(self) -> frozenset[str]:
        """Return the flag's key."""
        return frozenset({f"asked.{self.dest}"})

    def describe(self) -> str:
        """Return for example ``--dcp-size given``."""
        return f"{spell('asked.' + self.dest)} given"


@dataclass(frozen=True, slots=True)
class Constant(Expr):
    """Always or never."""

    truth: bool

    def compile(self) -> Evaluator:
        """Return the constant function."""
        truth = self.truth
        return lambda _env: truth

    def reads(self) -> frozenset[str]:
        """Return nothing."""
        return frozenset()

    def describe(self) -> str:
        """Return ``always`` or ``never``."""
        return "always" if self.truth else "never"


ALWAYS: Expr = Constant(truth=True)
NEVER: Expr = Constant(truth=False)


@dataclass(frozen=True, slots=True)
class Not(Expr):
    """Negation; an unknown stays unknown."""

    child: Expr

    def compile(self) -> Evaluator:
        """Return the evaluator."""
        child = self.child.compile()

        def negate(env: Env) -> Truth:
            truth = child(env)
            return truth if type(truth) is Unknown else not truth

        return negate

    def reads(self) -> frozenset[str]:
        """Return what the child reads."""
        return self.child.reads()

    def describe(self) -> str:
        """Return ``not (...)``."""
        return f"not ({self.child.describe()})"


def _flatten(kind: type[And | Or], children: tuple[Expr, ...]) -> Iterator[Expr]:
    for child in children:
        if isinstance(child, kind):
            yield from _flatten(kind, child.children)
        else:
            yield child


@dataclass(frozen=True, slots=True)
class And(Expr):
    """Conjunction: false wins over unknown."""

    children: tuple[Expr, ...]

    def compile(self) -> Evaluator:
        """Return an evaluator that stops at the first false child."""
        evaluators = tuple(child.compile() for child in _flatten(And, self.children))

        def every(env: Env) -> Truth:
            result: Truth = True
            for evaluator in evaluators:
                truth = evaluator(env)
                if truth is False:
                    return False
                if truth is not True:
                    result = truth
            return result

        return every

    def reads(self) -> frozenset[str]:
        """Return what any child reads."""
        return frozenset().union(*(child.reads() for child in self.children))

    def describe(self) -> str:
        """Return the children joined by ``and``."""
        return " and ".join(_bracket(child) for child in _flatten(And, self.children))


@dataclass(frozen=True, slots=True)
class Or(Expr):
    """Disjunction: true wins over unknown."""

    children: tuple[Expr, ...]

    def compile(self) -> Evaluator:
        """Return an evaluator that stops at the first true child."""
        evaluators = tuple(child.compile() for child in _flatten(Or, self.children))

        def any_(env: Env) -> Truth:
            result: Truth = False
            for evaluator in evaluators:
                truth = evaluator(env)
                if truth is True:
                    return True
                if truth is not False:
                    result = truth
            return result

        return any_

    def reads(self) -> frozenset[str]:
        """Return what any child reads."""
        return frozenset().union(*(child.reads() for child in self.children))

    def describe(self) -> str:
        """Return the children joined by ``or``."""
        return " or ".join(_bracket(child) for child in _flatten(Or, self.children))


def _bracket(child: Expr) -> str:
    return f"({child.describe()})" if isinstance(child, And | Or) else child.describe()


class _Space:
    """A name space of terms: ``flag.dcp_size`` is ``Term("asked.dcp_size")``."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):
            raise AttributeError(name)
        return Term(f"{self._prefix}.{name}")


flag = _Space("asked")
resolved = _Space("resolved")
model = _Space("model")
hardware = _Space("hardware")
software = _Space("software")
environment = _Space("env")
step = _Space("step")
