import dataclasses
import functools
import os
import re
import subprocess
import sys
import threading
import types
import weakref
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.identity.digest import digest_of, text_of
from opsdk.define.identity.sameness import Reads, changed
from opsdk.define.infer import InferFunction, broadcast, like, reduce
from opsdk.define.schema.parse import parse_schema

SCHEMA = parse_schema("f(Tensor x) -> Tensor y", "ns")


def compiled(text, **scope):
    exec(compile(text, "somewhere.py", "exec"), scope)
    return scope["f"]


def scaled(factor):
    def f(x):
        return factor * x

    return f


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


def test_the_same_text_in_another_place_has_the_same_digest():
    assert digest_of(compiled("def f(x):\n    return 2 * x")) == digest_of(compiled("\n\ndef f(x):\n    return 2 * x"))


def within(text, **scope):
    """Returns the function f of a text, which reads the names given."""
    return compiled(text, np=np, **scope)


class Config:
    def __init__(self, k):
        self.k = k


class Shy:
    def __getattribute__(self, name):
        raise ValueError(name)


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k


class Counted(dict):
    pass


def module(**held):
    made = types.ModuleType("settings")
    vars(made).update(held)
    return made


def class_with(k):
    class Made:
        factor = k

        def scaled(self, x):
            return self.factor * x

    return Made


USES = "def f(x):\n    return {} * x"
HELPS = "def helper(x):\n    return {} * x\ndef f(x):\n    return helper(x)"
LOOPS = (
    "def even(n):\n    return {} if n == 0 else odd(n - 1)\ndef odd(n):\n    return even(n - 1)\n"
    "def f(x):\n    return even(x)"
)


def pair(text, first, second):
    return within(text, **first), within(text, **second)


DIFFERENT = {
    "global": pair(USES.format("K"), {"K": 2.0}, {"K": 3.0}),
    "global's type": pair(USES.format("K"), {"K": 1}, {"K": 1.0}),
    "global's sign": pair(USES.format("K"), {"K": 0.0}, {"K": -0.0}),
    "global list": pair(USES.format("K[0]"), {"K": [2.0]}, {"K": [3.0]}),
    "global dict": pair(USES.format("K['a']"), {"K": {"a": 2.0}}, {"K": {"a": 3.0}}),
    "global array": pair(USES.format("K"), {"K": np.ones(3)}, {"K": np.ones(3, "float32")}),
    "global set": pair(USES.format("len(K)"), {"K": {"a"}}, {"K": {"b"}}),
    "global in a comprehension": pair("def f(x): return [K * v for v in x]", {"K": 2.0}, {"K": 3.0}),
    "global in an inner function": pair("def f(x): return (lambda v: K * v)(x)", {"K": 2.0}, {"K": 3.0}),
    "global in an inner class": pair("def f(x):\n    class A:\n        k = K\n    return x * A.k", {"K": 2}, {"K": 3}),
    "attribute of a module": pair(USES.format("m.k"), {"m": module(k=2.0)}, {"m": module(k=3.0)}),
    "attribute of a module in a module": pair(
        USES.format("m.n.k"), {"m": module(n=module(k=2.0))}, {"m": module(n=module(k=3.0))}
    ),
    "helper": (within(HELPS.format(2)), within(HELPS.format(3))),
    "helper of a module": pair(USES.format("m.h(1)"), {"m": module(h=lambda x: x)}, {"m": module(h=lambda x: -x)}),
    "what a helper reads": pair(HELPS.format("K"), {"K": 2.0}, {"K": 3.0}),
    "what one of two that call each other reads": pair(LOOPS.format("K"), {"K": 2.0}, {"K": 3.0}),
    "what a default holds": pair("def f(x, k=K): return k", {"K": Config(2)}, {"K": Config(3)}),
    "what a keyword default holds": pair("def f(x, *, k=K): return k[0]", {"K": [np.ones(2)]}, {"K": [np.zeros(2)]}),
    "attribute of an object": pair(USES.format("c.k"), {"c": Config(2)}, {"c": Config(3)}),
    "slot of an object": pair(USES.format("c.k"), {"c": Slotted(2)}, {"c": Slotted(3)}),
    "item of an object": pair(USES.format("c['k']"), {"c": Counted(k=2)}, {"c": Counted(k=3)}),
    "object within objects": pair(USES.format("c.k.k"), {"c": Config(Config(2))}, {"c": Config(Config(3))}),
    "class": pair(USES.format("C().scaled(1)"), {"C": class_with(2)}, {"C": class_with(3)}),
    "bound method": (Scale(2).__call__, Scale(3).__call__),
    "bound method in a closure": (scaled(Scale(2).__call__), scaled(Scale(3).__call__)),
    "partial in a global": pair(
        USES.format("p(1)"), {"p": functools.partial(pow, 2)}, {"p": functools.partial(pow, 3)}
    ),
    "what a partial's function reads": tuple(
        functools.partial(within(USES.format("K"), K=k), x=1) for k in (2.0, 3.0)
    ),
    "what a closure's function reads": tuple(scaled(within(USES.format("K"), K=k)) for k in (2.0, 3.0)),
    "builtin that a global hides": pair(USES.format("abs(2)"), {}, {"abs": lambda x: x}),
    "function of a library that was replaced": pair(USES.format("n.sin(1)"), {"n": np}, {"n": module(sin=np.cos)}),
    "type of an array": pair(
        USES.format("K"), {"K": np.zeros(2, ml_dtypes.float8_e4m3fn)}, {"K": np.zeros(2, ml_dtypes.float8_e5m2)}
    ),
    "fields of an array": pair(USES.format("K"), {"K": np.zeros(2, [("a", "i4")])}, {"K": np.zeros(2, [("b", "i4")])}),
    "masked array": pair(USES.format("K"), {"K": np.ma.array([1, 2], mask=[0, 1])}, {"K": np.ma.array([1, 2])}),
    "array of objects": pair(USES.format("K"), {"K": np.array([2, "a"], object)}, {"K": np.array([3, "a"], object)}),
    "number of a library": pair(USES.format("K"), {"K": Fraction(1, 2)}, {"K": Fraction(1, 3)}),
    "state of a generator": pair(
        USES.format("r.normal()"), {"r": np.random.default_rng(1)}, {"r": np.random.default_rng(2)}
    ),
    "generator's method": pair(
        USES.format("draw()"), {"draw": np.random.default_rng(1).normal}, {"draw": np.random.default_rng(2).normal}
    ),
    "pattern": pair(USES.format("p.match('a')"), {"p": re.compile("a")}, {"p": re.compile("b")}),
    "handler": (
        compiled("def f(x):\n    try:\n        return x\n    except KeyError:\n        pass"),
        compiled("def f(x):\n    try:\n        return x\n    except ValueError:\n        pass"),
    ),
    "constant": (compiled("def f(x): return 2 * x"), compiled("def f(x): return 3 * x")),
    "operator": (compiled("def f(x): return 2 * x"), compiled("def f(x): return 2 + x")),
    "name": (compiled("def f(x): return np.sin(x)"), compiled("def f(x): return np.cos(x)")),
    "default": (compiled("def f(x, k=1): return k"), compiled("def f(x, k=2): return k")),
    "keyword default": (compiled("def f(x, *, k=1): return k"), compiled("def f(x, *, k=2): return k")),
    "inner": (compiled("def f(x): return [2 for _ in x]"), compiled("def f(x): return [3 for _ in x]")),
    "closure": (scaled(2), scaled(3)),
    "closure over arrays": (scaled(np.arange(9000)), scaled(np.arange(9000) + (np.arange(9000) == 4000))),
    "closure over functions": (scaled(lambda x: x), scaled(lambda x: -x)),
    "partial": (functools.partial(pow, 2), functools.partial(pow, 3)),
    "partial keywords": (functools.partial(max, default=[1]), functools.partial(max, default=[2])),
    "ufunc": (np.sin, np.cos),
    "builtin": (min, max),
    "instance": (Scale(2), Scale(3)),
    "rule": (broadcast, reduce),
    "rule's field": (like("x"), like("w")),
    "rule's dtype": (broadcast.with_dtype("bool"), broadcast.with_dtype("int8")),
    "user's rule": (InferFunction(lambda x: x, SCHEMA), InferFunction(lambda x: [x], SCHEMA)),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_two_functions_that_differ_have_two_digests(pair):
    assert digest_of(pair[0]) != digest_of(pair[1])


UNSEEN = {
    "lock": lambda: within(USES.format("K.locked()"), K=threading.Lock()),
    "cached function": lambda: within(USES.format("K()"), K=functools.cache(lambda: 1)),
    "name that is not defined yet": lambda: within(USES.format("later")),
    "file": lambda: within("def f(x): return open('k').read()"),
    "globals by name": lambda: within("def f(x): return globals()['K']", K=2),
    "module as a value": lambda: within("def f(x, name): return getattr(m, name)", m=module(k=2)),
    "ufunc of Python": lambda: within(USES.format("K(1)"), K=np.frompyfunc(abs, 1, 1)),
    "more than is read": lambda: within(USES.format("K"), K=[Config(i) for i in range(20_001)]),
    "object that cannot be looked at": lambda: within(USES.format("K"), K=Shy()),
    "set of objects": lambda: within(USES.format("K"), K={Config(2)}),
    "module that is not there": lambda: within("def f(x):\n    import nowhere\n    return nowhere.k"),
}


@pytest.mark.parametrize("make", UNSEEN.values(), ids=UNSEEN)
def test_what_cannot_be_read_is_equal_to_nothing_itself_included(make):
    function = make()
    assert digest_of(function) != digest_of(function)
    assert digest_of(function) != digest_of(make())


EQUAL = {
    "globals": (within(USES.format("K"), K=2.0, other=1), within(USES.format("K"), K=2.0, other=2)),
    "set in another order": pair(USES.format("len(K)"), {"K": {"a", "b"}}, {"K": {"b", "a"}}),
    "helpers": (within(HELPS.format(2)), within("\n\n" + HELPS.format(2))),
    "functions that call each other": (within(LOOPS.format(2)), within(LOOPS.format(2))),
    "objects": pair(USES.format("c.k.k"), {"c": Config(Config(2))}, {"c": Config(Config(2))}),
    "classes": pair(USES.format("C().scaled(1)"), {"C": class_with(2)}, {"C": class_with(2)}),
    "bound methods": (Scale(2).__call__, Scale(2).__call__),
    "what a module has besides": pair(USES.format("m.k"), {"m": module(k=2, other=1)}, {"m": module(k=2, other=2)}),
    "library": (within("def f(x): return np.linalg.norm(np.sin(x)) + len(x)"),) * 2,
    "generators in one state": pair(
        USES.format("r.normal()"), {"r": np.random.default_rng(1)}, {"r": np.random.default_rng(1)}
    ),
    "membership in a set": (compiled("def f(x): return x in {'a', 'b', 'c'}"),) * 2,
    "closure": (scaled(2), scaled(2)),
    "closure over arrays": (scaled(np.ones(3)), scaled(np.ones(3))),
    "partial": (functools.partial(pow, 2), functools.partial(pow, 2)),
    "ufunc": (np.sin, np.sin),
    "rule": (like(), like()),
    "user's rule": (InferFunction(lambda x: x, SCHEMA), InferFunction(lambda x: x, SCHEMA)),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_two_functions_that_compute_the_same_have_one_digest(pair):
    assert digest_of(pair[0]) == digest_of(pair[1])


def test_a_compiled_dispatcher_is_read_as_the_function_inside():
    class Dispatcher:
        py_func = staticmethod(DIFFERENT["constant"][0])

    class Compiled:
        py_func = staticmethod(DIFFERENT["constant"][1])

    assert [text_of(Dispatcher()) == text_of(Other()) for Other in (Dispatcher, Compiled)] == [True, False]


def test_no_object_is_asked_for_attributes_that_it_makes_up():
    class Inventive:
        def __getattr__(self, name):
            raise AttributeError(name) if name.startswith("__") else RuntimeError(name)

    function = within(USES.format("made.up"), made=Inventive())
    assert digest_of(function) == digest_of(function)


def test_a_variable_that_has_no_value_yet_makes_definitions_different():
    def outer():
        def f(x):
            return later * x

        text = text_of(f)
        later = 1
        return text, later

    assert "empty" in outer()[0]
    assert outer()[0] != outer()[0]


def test_the_digest_of_an_op_says_what_its_closure_held_when_it_was_defined():
    factor = 2

    def f(x):
        return factor * x

    opdef = opsdk.op(f, namespace="t").opdef
    factor = 3
    assert opdef.digest == digest_of(str(opdef.schema), opdef.traits, opdef.infer, scaled_by("factor", 2))


def scaled_by(name, factor):
    def f(x):
        return factor * x

    assert f.__code__.co_freevars == (name,)
    return f


def test_an_object_that_holds_itself_is_read():
    def around(k):
        made = Config(k)
        made.itself = [made]
        return within(USES.format("c.k"), c=made)

    assert digest_of(around(2)) == digest_of(around(2))
    assert digest_of(around(2)) != digest_of(around(3))


def test_what_is_nested_too_deep_is_equal_to_nothing():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert text_of(deep).startswith("unseen RecursionError ")
    while deep:  # one by one: Python would free all of them in one recursion
        deep = deep[0]


def test_a_module_that_a_function_imports_is_read_as_far_as_it_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "settings_here.py").write_text("k = 2\nother = 1\n")
    import settings_here

    function = compiled("def f(x):\n    import settings_here\n    return settings_here.k * x")
    before = digest_of(function)
    settings_here.other = 5
    assert digest_of(function) == before
    settings_here.k = 3
    assert digest_of(function) != before


def test_an_op_that_a_function_calls_is_read_as_the_digest_of_its_definition():
    def calling(factor):
        op = opsdk.op(lambda x: factor * x, name="inner", namespace="t", replace=True)
        return within(USES.format("op(1)"), op=op)

    assert digest_of(calling(2)) == digest_of(calling(2))
    assert digest_of(calling(2)) != digest_of(calling(3))
    assert "opsdk::relu" in text_of(within(USES.format("r(1)"), r=opsdk.find_op("relu")))


def test_what_is_read_is_told_by_name():
    function = within(USES.format("K * later * len(x)"), K=2)
    first = Reads(function)
    assert first.keys() == {"global K", "global len", "global later"}
    function.__globals__["K"] = 3
    assert {name for name, text in Reads(function).items() if first.get(name) != text} == {"global K"}
    assert Reads(np.sin) == {}


def test_a_digest_is_the_same_in_every_process():
    program = (
        "from opsdk.define.identity.digest import digest_of\nimport numpy as np\n"
        "K = {'a', 'b', 'c'}\nclass C:\n    k = (1.0, 'b')\n"
        "def f(x, c=C()):\n    return np.sin(x) if x in {'d', 'e', 'f'} else len(K) * c.k[0]\nprint(digest_of(f))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={**environment, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert len(told.pop()) == 17


def test_what_opsdk_loads_on_first_use_has_one_digest_before_and_after(monkeypatch):
    monkeypatch.delitem(vars(opsdk), "vmath", raising=False)
    function = within("def f(x): return o.vmath.exp(x)", o=opsdk)
    before = digest_of(function)
    assert opsdk.vmath.exp(0.0) == 1.0
    assert digest_of(function) == before


class Locked:
    """Holds something that nobody can read."""

    def __init__(self):
        self.gain = 2.0
        self.lock = threading.Lock()


@dataclasses.dataclass
class Settings:
    gain: float = 2.0
    lock: object = dataclasses.field(default_factory=threading.Lock)


@pytest.mark.parametrize("make", [Locked, Settings, lambda: {"gain": 2.0, "lock": threading.Lock()}])
def test_what_can_be_read_of_an_object_is_compared_beside_what_cannot(make):
    config = make()

    def function(x):
        return x * (config["gain"] if isinstance(config, dict) else config.gain)

    known = Reads(function)
    assert changed(function, known) == []
    if isinstance(config, dict):
        config["gain"] = 5.0
    else:
        config.gain = 5.0
    assert changed(function, known) == ["config"]


def test_an_expression_has_one_value_of_what_it_reads_from_a_dataclass():
    config = Settings()
    with opsdk.REGISTRY.scoped():

        @opsdk.elementwise(namespace="t")
        def scaled(x, *, training: bool = True):
            return config.gain * x

        assert scaled(np.ones(1)).tolist() == [2.0]
        config.gain = 5.0
        assert scaled(np.ones(1)).tolist() == [2.0]
        with pytest.raises(DefinitionError, match="expected 'config' to be what it was when the op was defined"):
            scaled(np.ones(1), training=False)


def test_a_helper_that_is_defined_later_has_not_changed():
    scope = {}
    exec("def function(x):\n    return helper(x)\n", scope)
    known = Reads(scope["function"])
    exec("def helper(x):\n    return other(x)\n", scope)
    assert changed(scope["function"], known) == []
    known = Reads(scope["function"])
    exec("def other(x):\n    return x\n", scope)
    assert changed(scope["function"], known) == []


@dataclasses.dataclass(frozen=True)
class Frozen:
    gain: float = 2.0
    shift: float = 0.0


def test_a_dataclass_can_be_read_whole():
    assert "unseen" not in text_of(Frozen())
    assert text_of(Frozen()) == text_of(Frozen(2.0))
    assert text_of(Frozen()) != text_of(Frozen(5.0))


def test_a_callback_of_numba_is_the_function_that_it_was_made_of():
    numba = pytest.importorskip("numba")
    made = [numba.cfunc("float64(float64)")(scaled(factor)) for factor in (2.0, 2.0, 5.0)]
    texts = list(map(text_of, made))
    assert "unseen" not in texts[0]
    assert texts[0] == texts[1] != texts[2]


def test_constants_of_a_module_that_is_a_value_are_compared():
    settings = types.ModuleType("settings")
    settings.gain, settings.cache = 2.0, []

    def function(x, name="gain"):
        return x * getattr(settings, name)

    known = Reads(function)
    settings.cache.append(1)
    assert changed(function, known) == []
    settings.gain = 5.0
    assert changed(function, known) == ["settings"]
    assert text_of(function) != text_of(function)  # what else is read of it cannot be known


def test_what_a_view_of_memory_shows_and_a_weak_reference_leads_to_is_seen_to_change():
    memory, config = bytearray(b"\x02"), Config(2)
    view, reference = memoryview(memory), weakref.ref(config)
    shown, led = within(USES.format("K[0]"), K=view), within(USES.format("K().k"), K=reference)
    known = Reads(shown), Reads(led)
    assert [changed(shown, known[0]), changed(led, known[1])] == [[], []]
    memory[0], config.k = 3, 3
    assert [changed(shown, known[0]), changed(led, known[1])] == [["K"], ["K"]]


def test_what_numpy_draws_by_name_is_one_function_before_it_is_loaded_and_after_a_draw():
    script = (
        "import numpy as np, sys\n"
        "from opsdk.define.identity.digest import digest_of\n"
        "def drawn(): return np.random.random() + np.random.normal()\n"
        "def other(): return np.random.random() + np.random.uniform()\n"
        "first = digest_of(drawn)\n"
        "np.random.random()\n"
        "print(digest_of(drawn) == first, digest_of(other) == first)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True False\n", "")
