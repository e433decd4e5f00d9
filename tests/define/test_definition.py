import pickle
import re
import types

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import AttributeValueError, DefinitionError, NameClashError, SchemaError, UnknownOpError
from opsdk.define.definition import namespace_of
from opsdk.define.op import REGISTRY, find_op
from opsdk.define.schema.parse import parse_schema

X = np.array([1.0, 2.0])


def leaf(values=X):
    return opsdk.to_tensor(values, stop_gradient=False)


def gradient(op, values=X):
    x = leaf(values)
    op(x).sum().backward()
    return x.grad.tolist()


def run_cell(text, scope):
    """Runs a text as a cell of a notebook whose globals are `scope`."""
    scope.setdefault("__name__", "__main__")
    exec(compile(text, f"<ipython-input-{len(text)}-ab>", "exec"), scope)


DEFINE = {
    "elementwise": "@opsdk.elementwise(namespace='t')\ndef f(x):\n    return x * {}\n",
    "rowwise": "@opsdk.rowwise(namespace='t')\ndef f(x):\n    return x * {}\n",
    "op": "@opsdk.op(namespace='t')\ndef f(x):\n    return x * {}\n",
    "register_op": "def g(x):\n    return x * {}\nf = opsdk.register_op('t::f', forward=g)\n",
}
READS = {
    "constant of the module": ("k", {"k": 5.0}, {"k": 6.0}),
    "helper": ("h(1.0)", {"h": lambda v: 5.0 * v}, {"h": lambda v: 6.0 * v}),
    "attribute of a module": ("m.k", {"m": types.SimpleNamespace(k=5.0)}, {"m": types.SimpleNamespace(k=6.0)}),
    "array": ("float(a[0])", {"a": np.array([5.0])}, {"a": np.array([6.0])}),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("form", DEFINE.values(), ids=DEFINE)
def test_a_cell_that_runs_again_after_what_it_reads_has_changed_defines_another_op(form, read, capsys):
    word, before, after = read
    scope = {"opsdk": opsdk, **before}
    run_cell(form.format(word), scope)
    first = scope["f"]
    scope.update(after)
    run_cell(form.format(word), scope)
    second = scope["f"]
    assert second(X).tolist() == [6.0, 12.0]
    assert second is not first
    assert find_op("t::f") is second
    assert "t::f redefined" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["elementwise", "rowwise"])
def test_ops_that_a_loop_defines_under_one_name_compute_each_its_own(form, capsys):
    made = []
    for k in (5.0, 6.0):

        @getattr(opsdk, form)(namespace="t")
        def scaled(x):
            return x * k  # noqa: B023 - the loop variable is the point

        made.append(scaled)
    assert [op(X).tolist() for op in made] == [[5.0, 10.0], [6.0, 12.0]]
    assert [gradient(op) for op in made] == [[5.0, 5.0], [6.0, 6.0]]
    assert capsys.readouterr().err.count("redefined") == 1


@pytest.mark.parametrize("form", DEFINE.values(), ids=DEFINE)
def test_two_modules_of_equal_text_and_other_constants_clash(form, run_file):
    scopes = [{"opsdk": opsdk, "__name__": "t", "K": k} for k in (5.0, 6.0)]
    run_file("t/a.py", form.format("K"), scope=scopes[0])
    with pytest.raises(NameClashError, match=r"registered by t.a.py:\d, got another definition from t.b.py:\d"):
        run_file("t/b.py", form.format("K"), scope=scopes[1])
    assert find_op("t::f")(X).tolist() == [5.0, 10.0]


def test_a_module_of_equal_text_clashes_where_what_the_first_reads_was_changed_since(run_file):
    scopes = [{"opsdk": opsdk, "__name__": "t", "K": 5.0} for _ in range(2)]
    run_file("t/a.py", DEFINE["op"].format("K"), scope=scopes[0])
    scopes[0]["K"] = 7.0
    with pytest.raises(NameClashError):
        run_file("t/b.py", DEFINE["op"].format("K"), scope=scopes[1])


def test_a_module_of_equal_text_clashes_where_what_it_reads_is_defined_below_it(run_file):
    for name, k in (("a", "5.0"), ("b", "6.0")):
        text = f"{DEFINE['op'].format('K')}K = {k}\n"
        if name == "a":
            run_file("t/a.py", text)
        else:
            with pytest.raises(NameClashError):
                run_file("t/b.py", text)


# -- factories ---------------------------------------------------------------------------------------------------------


def apply(function, derivative=None):
    @opsdk.op(name="apply", namespace="t")
    def forward(x):
        return function(x)

    if derivative is not None:

        @forward.backward
        def backward(x, dy):
            return dy * derivative(x)

    return forward


def test_a_handle_goes_on_as_what_it_was_made_as_when_a_factory_is_called_again(capsys):
    sine = apply(np.sin, np.cos)
    before = sine(leaf())
    exponential = apply(np.exp, np.exp)
    assert find_op("t::apply") is exponential
    np.testing.assert_allclose(sine(X), np.sin(X))
    np.testing.assert_allclose(exponential(X), np.exp(X))
    np.testing.assert_allclose(gradient(sine), np.cos(X))
    np.testing.assert_allclose(gradient(exponential), np.exp(X))
    x = leaf()
    with opsdk.enable_grad():
        before.sum().backward()
    np.testing.assert_allclose(sine.grad(X, np.ones(2)), np.cos(X))
    assert "t::apply redefined" in capsys.readouterr().err
    assert x.grad is None


def test_a_factory_that_gives_equal_forwards_other_backwards_makes_other_ops(capsys):
    first, second = apply(np.sin, np.cos), apply(np.sin, np.exp)
    np.testing.assert_allclose(gradient(first), np.cos(X))
    np.testing.assert_allclose(gradient(second), np.exp(X))
    third = apply(np.sin)
    assert third.grad is None
    capsys.readouterr()


def test_the_function_form_with_another_backward_makes_another_op(capsys):
    first = opsdk.register_op("t::sine", forward=_sine, backward=lambda x, dy: dy * np.cos(x))
    second = opsdk.register_op("t::sine", forward=_sine, backward=lambda x, dy: dy * 100)
    np.testing.assert_allclose(gradient(first), np.cos(X))
    np.testing.assert_allclose(gradient(second), [100.0, 100.0])
    assert find_op("t::sine_grad") is second.grad
    assert "t::sine redefined" in capsys.readouterr().err


def _sine(x):
    return np.sin(x)


def test_a_program_keeps_the_op_that_it_was_built_with(capsys):
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [2], "float64")
        y = apply(np.sin)(x)
        apply(np.exp)
    (value,) = opsdk.static.Executor(opsdk.CPUPlace()).run(main, feed={"x": X}, fetch_list=[y])
    np.testing.assert_allclose(value, np.sin(X))
    capsys.readouterr()


def test_an_op_that_lost_its_name_derives_its_gradients_without_taking_names(capsys):
    def scaled(k):
        @opsdk.elementwise(namespace="t", lazy=True, infer=opsdk.infer.like())
        def cubed(x):
            return k * x * x * x

        return cubed

    first, second = scaled(2.0), scaled(3.0)
    newest = second.grad
    x = leaf()
    (slope,) = opsdk.grad(first(x).sum(), x, create_graph=True)
    (curve,) = opsdk.grad(slope.sum(), x)
    assert slope.tolist() == [6.0, 24.0]
    assert curve.tolist() == [12.0, 24.0]
    assert find_op("t::cubed_grad") is newest
    assert find_op("t::cubed_grad_grad") is newest.grad
    first.backward(lambda x, dy: 50 * dy, replace=True)
    assert find_op("t::cubed_grad") is newest
    capsys.readouterr()


def test_the_gradient_of_an_op_that_lost_its_name_loses_its_own(capsys):
    apply(np.sin, np.cos)
    assert "t::apply_grad" in REGISTRY
    apply(np.exp)
    assert "t::apply_grad" not in REGISTRY
    capsys.readouterr()


# -- again -------------------------------------------------------------------------------------------------------------


def test_a_cell_that_runs_again_after_a_use_gives_a_handle_that_takes_another_backward(capsys):
    forward = DEFINE["op"].format("2.0")
    backward = "@f.backward\ndef f_grad(dy):\n    return dy * {}\n"
    scope = {"opsdk": opsdk}
    run_cell(forward + backward.format("2.0"), scope)
    first = scope["f"]
    first.kernel("cpu", lambda x: x * 2.0, language="numba", dtype="float32")
    assert gradient(first) == [2.0, 2.0]
    run_cell(forward + backward.format("3.0"), scope)
    second = scope["f"]
    assert gradient(second) == [3.0, 3.0]
    assert gradient(first) == [2.0, 2.0]
    assert len(second.opdef.kernels) == 2
    assert find_op("t::f_grad") is second.grad
    assert "t::f redefined" not in capsys.readouterr().err


def test_an_op_given_an_infer_rule_is_the_same_when_its_file_runs_again(run_file, capsys):
    text = DEFINE["op"].format("2.0") + "@f.infer\ndef f_infer(x):\n    return x\n"
    first = run_file("t/a.py", text)["f"]
    assert run_file("t/a.py", text)["f"] is first
    assert run_file("t/b.py", text)["f"] is first
    assert capsys.readouterr().err == ""


def test_row_ops_of_one_text_are_the_same_and_of_other_declarations_are_not(run_file, capsys):
    text = "from opsdk import vmath\n@opsdk.rowwise(keepdim={})\ndef f(x):\n    return vmath.row_sum(x)\n"
    first = run_file("t/a.py", text.format(True), module="t")["f"]
    assert run_file("t/a.py", text.format(True), module="t")["f"] is first
    assert capsys.readouterr().err == ""
    second = run_file("t/a.py", text.format(False), module="t")["f"]
    assert [first(X).shape, second(X).shape] == [(1,), ()]
    capsys.readouterr()


def test_an_elementwise_op_of_another_reference_is_another_op(capsys):
    def made(reference):
        @opsdk.elementwise(namespace="t", reference=reference)
        def f(x):
            return x + 1.0

        return f

    first, second = made(lambda x: x + 1.0), made(lambda x: x + 2.0)
    whole = np.array([1, 2])
    assert [op(whole).tolist() for op in (first, second)] == [[2, 3], [3, 4]]
    capsys.readouterr()


# -- expressions that are read later -----------------------------------------------------------------------------------


def test_an_expression_of_attributes_that_are_new_to_it_reads_what_there_was(capsys):
    text = (
        "@opsdk.elementwise(namespace='t')\ndef f(x, *, doubled: bool = False):\n"
        "    return x * k * 2.0 if doubled else x * k\n"
    )
    scope = {"opsdk": opsdk, "k": 5.0}
    run_cell(text, scope)
    first = scope["f"]
    scope["k"] = 6.0
    assert first(X).tolist() == [5.0, 10.0]
    with pytest.raises(ValueError, match=r"^op 't::f': expected 'k' to be what it was when the op was defined, it was"):
        first(X, doubled=True)
    run_cell(text, scope)
    assert scope["f"](X, doubled=True).tolist() == [12.0, 24.0]
    scope["k"] = 5.0
    assert first(X, doubled=True).tolist() == [10.0, 20.0]
    capsys.readouterr()


def test_an_expression_that_is_read_late_reads_what_there_was():
    scope = {"opsdk": opsdk, "k": 5.0}
    run_cell(DEFINE["elementwise"].replace("'t'", "'t', lazy=True, infer=opsdk.infer.like()").format("k"), scope)
    scope["k"] = 6.0
    with pytest.raises(ValueError, match="expected 'k' to be what it was when the op was defined"):
        scope["f"](X)


# -- pickles -----------------------------------------------------------------------------------------------------------


def test_an_op_that_lost_its_name_is_not_pickled(capsys):
    sine = apply(np.sin, np.cos)
    slope = sine.grad
    kept = pickle.dumps([sine, slope])
    assert pickle.loads(kept) == [sine, slope]
    newest = apply(np.exp, np.exp)
    for op in (sine, slope):
        with pytest.raises(NameClashError, match="expected its name, by which a pickle finds it, to be that of the op"):
            pickle.dumps(op)
    with pytest.raises(NameClashError, match=r"expected the definition that was pickled, \w+, got \w+, defined at"):
        pickle.loads(kept)
    assert pickle.loads(pickle.dumps(newest)) is newest
    capsys.readouterr()


def test_an_op_that_is_not_registered_is_not_pickled_and_not_found():
    sine = apply(np.sin)
    kept = pickle.dumps(sine)
    REGISTRY.remove("t::apply")
    with pytest.raises(NameClashError, match="got nothing; give each a name of its own"):
        pickle.dumps(sine)
    with pytest.raises(UnknownOpError):
        pickle.loads(kept)


def test_a_pickle_is_refused_where_the_op_has_another_gradient_or_infer_rule():
    op = apply(np.sin, np.cos)
    kept = pickle.dumps(op)
    op.backward(lambda x, dy: dy * 100, replace=True)
    with pytest.raises(NameClashError, match="expected the definition that was pickled"):
        pickle.loads(kept)
    kept = pickle.dumps(op)
    op.infer(opsdk.infer.broadcast, replace=True)
    with pytest.raises(NameClashError, match="expected the definition that was pickled"):
        pickle.loads(kept)


def test_built_in_and_derived_ops_come_back():
    @opsdk.elementwise(namespace="t")
    def f(x):
        return vmath.sin(x) * x

    ops = [find_op("relu"), f, f.grad, f.grad.grad]
    assert all(before is after for before, after in zip(ops, pickle.loads(pickle.dumps(ops)), strict=True))


# -- the reserved namespace --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["op", "elementwise", "rowwise"])
def test_the_namespace_of_the_built_in_ops_is_reserved(form):
    message = "op 'opsdk::mine': expected a namespace of its own, got 'opsdk', which is reserved for the built-in ops"
    with pytest.raises(NameClashError, match=re.escape(message)):
        getattr(opsdk, form)(name="mine", namespace="opsdk", replace=True)(lambda x: x)
    with pytest.raises(NameClashError, match=re.escape(message)):
        getattr(opsdk, form)("opsdk::mine(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(NameClashError, match=re.escape(message)):
        opsdk.register_op("opsdk::mine", forward=lambda x: x)
    assert "opsdk::mine" not in REGISTRY


def test_a_script_has_one_namespace_in_every_process_of_multiprocessing():
    def f(x):
        return x

    spaces = []
    for module in ("__main__", "__mp_main__"):
        f.__module__ = module
        spaces.append(namespace_of(f))
    assert spaces[0] == spaces[1]


def test_the_pickle_of_a_factorys_earlier_op_says_what_has_its_name(capfd):
    def times(k):
        @opsdk.op(namespace="t")
        def scaled(x):
            return x * k

        return scaled

    first, last = times(2.0), times(3.0)
    assert "redefined" in capfd.readouterr().err
    assert pickle.loads(pickle.dumps(last)) is last
    with pytest.raises(NameClashError, match=r"got a later one of the same line, as a factory makes them; give each a"):
        pickle.dumps(first)


@pytest.mark.parametrize("schema", [
    "t::f(Tensor x, *, float needs_input_grad=2.0) -> Tensor y", "t::f(Tensor needs_input_grad) -> Tensor y",
    "t::f(Tensor x) -> Tensor has_output_grad", "t::f(Tensor x, *, bool[] needs_input_grad_2=[]) -> Tensor y",
])  # fmt: skip
@pytest.mark.parametrize("decorator", [opsdk.op, opsdk.elementwise])
def test_what_a_backward_is_told_is_no_name_of_an_authors(schema, decorator):
    taken = next(name for name in ("needs_input_grad_2", "needs_input_grad", "has_output_grad") if name in schema)
    with pytest.raises(NameClashError, match=f"op 't::f': expected a name of its own for '{taken}', by which a back"):
        parsed = parse_schema(schema, "t")
        decorator(schema)(eval(f"lambda {', '.join((*parsed.input_names, *parsed.attr_names))}: 0"))


# -- domains


def refused(domain):
    with pytest.raises(DefinitionError) as caught:
        opsdk.op("t::scaled(Tensor x, *, float by=1.0, int? n=None, str mode='plain') -> Tensor y", domain=domain)(
            lambda x, by, n, mode: by * x
        )
    return str(caught.value)


@pytest.mark.parametrize("domain", ["x", (0, 1), 3])
def test_a_domain_that_is_no_mapping_is_refused(domain):
    assert refused(domain) == (
        f"op 't::scaled', domain: expected a mapping from names to (least, greatest), got {domain!r}; "
        'write domain={"x": (0.0, None)}'
    )


@pytest.mark.parametrize("name", ["z", "y", "mode"])
def test_a_domain_names_inputs_and_numeric_attributes_only(name):
    assert refused({name: (0, None)}) == (
        f"op 't::scaled', domain: expected names of inputs or of int and float attributes, got {name!r}; "
        "it may name x, by, n"
    )


@pytest.mark.parametrize("bounds", [3, (0,), ("a", 1), None, "ab"])
def test_bounds_are_two_numbers_or_none(bounds):
    assert refused({"x": bounds}) == (
        "op 't::scaled', domain of 'x': expected (least, greatest), each a number or None, one of opsdk.domain, or a "
        f"function that moves values inside, got {bounds!r}; write (0.0, None)"
    )


@pytest.mark.parametrize("declared", [opsdk.domain.positions(of="y"), lambda values, y: values])
def test_what_a_domain_names_beside_the_values_is_an_input_or_an_attribute(declared):
    assert refused({"x": declared}) == (
        "op 't::scaled', domain of 'x': expected names among by, n, mode beside the values, got 'y'; name an input or "
        "attribute"
    )


def test_nan_is_no_bound():
    assert refused({"x": (0, float("nan"))}) == (
        "op 't::scaled', domain of 'x': expected numbers, got (0, nan); None stands for no bound"
    )


def test_bounds_in_the_wrong_order_are_refused():
    assert refused({"by": (1, 0)}) == (
        "op 't::scaled', domain of 'by': expected least ≤ greatest, got (1, 0); write (0, 1)"
    )


def test_every_way_to_define_an_op_checks_its_domain():
    for decorator in (opsdk.elementwise, opsdk.rowwise):
        with pytest.raises(DefinitionError, match=re.escape("domain: expected a mapping from names to (least")):
            decorator(name="f", namespace="t", domain="x")(lambda x: x * 2)


def test_a_domain_of_inputs_and_attributes_is_kept():
    op = opsdk.op("t::f(Tensor x, *, float by=1.0) -> Tensor y", domain={"x": [0, 1], "by": (0.0, None)})
    assert op(lambda x, by: by * x).opdef.traits.domain == {"x": (0, 1)}
    assert op(lambda x, by: by * x).schema == "t::f@1(Tensor x, *, float >= 0 by=1.0) -> Tensor y"


def test_bounds_of_an_attribute_hold_every_call():
    op = opsdk.op(name="g", namespace="t", domain={"by": (0, 1)})(lambda x, *, by=0.5: by * x)
    assert [op(np.ones(()), by=by) for by in (0, 0.5, 1)] == [0, 0.5, 1]
    with pytest.raises(AttributeValueError, match=re.escape("'by' expected 0 <= float <= 1, got 1.5; write by=1.0")):
        op(np.ones(()), by=1.5)


def test_bounds_of_an_attribute_are_said_once_and_hold_its_default():
    twice = "op 't::f', domain of 'by': expected bounds in one place, its type has some, float >= 0"
    with pytest.raises(SchemaError, match=re.escape(twice)):
        opsdk.op("t::f(Tensor x, *, float >= 0 by=1.0) -> Tensor y", domain={"by": (0.0, None)})(lambda x, by: by * x)
    outside = "op 't::f', domain of 'by': attribute 'by' expected float >= 2, got 1.0; write by=2.0"
    with pytest.raises(SchemaError, match=re.escape(outside)):
        opsdk.op("t::f(Tensor x, *, float by=1.0) -> Tensor y", domain={"by": (2, None)})(lambda x, by: by * x)
    empty = "op 't::f', domain of 'n': type 0.25 <= int <= 0.75: expected bounds that are whole numbers"
    with pytest.raises(SchemaError, match=re.escape(empty)):
        opsdk.op("t::f(Tensor x, *, int n=1) -> Tensor y", domain={"n": (0.25, 0.75)})(lambda x, n: n * x)


def shaped(*sizes, **more):
    schema = "t::shaped(Tensor x, Tensor w, *, int k=1, float by=1.0) -> Tensor y"
    return opsdk.op(schema, replace=True, domain={"x": opsdk.domain.shape(*sizes)} | more)(lambda x, w, k, by: x)


@pytest.mark.parametrize(("length", "what"), [("w", "an input"), ("by", "float"), ("*w", "an input"), ("*k", "int")])
def test_a_length_is_named_by_a_word_of_its_own_or_by_an_int_attribute(length, what):
    with pytest.raises(DefinitionError) as caught:
        shaped("N", length)
    assert str(caught.value) == (
        f"op 't::shaped', domain of 'x': expected names of lengths, or of int attributes, got {length!r}, which is "
        f"{what}; give the length a name of its own"
    )
    assert list(shaped("N", "k").opdef.shapes) == ["x"]
    with pytest.raises(DefinitionError, match=r"or of int attributes, got 'w', which is an input"):
        shaped("w-1")


def test_an_op_that_says_the_shapes_of_all_inputs_and_has_no_rule_need_not_have_inputs_of_one_shape():
    some, every = shaped("N", 2).opdef, shaped("N", 2, w=opsdk.domain.shape("N")).opdef
    assert (getattr(some.infer, "one_shape", False), getattr(every.infer, "one_shape", False)) == (True, False)
