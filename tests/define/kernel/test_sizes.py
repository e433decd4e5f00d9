"""What decides open sizes: the options `sizes=` and `bound=`, checked when a kernel is registered."""

import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError
from opsdk.define.kernel.sizes import SizeFunction, as_sizes, size_function, size_parameter


@pytest.fixture
def picked():
    """Gives an op of which a run tells how many it picks."""

    @opsdk.op("t::picked(Tensor x, *, float least=0.0) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))
    def picked(x, least):
        return x[x > least]

    return picked


def filling(x, least, y):
    return 0


def test_a_kernel_keeps_the_function_under_the_name_of_the_option(picked):
    def many(x):
        return x.size

    picked.kernel("cpu", filling, language="numba", bound=many)
    held = size_function(list(picked.opdef.kernels)[-1])
    assert (held.option, held.function, str(held)) == ("bound", many, "bound=many")


def test_a_kernel_without_them_has_no_such_function(picked):
    assert size_function(picked.opdef.kernels.reference()) is None


def test_both_at_once_are_refused(picked):
    with pytest.raises(DefinitionError, match="which are filled, or bound=, of which a part is, got both; keep one"):
        picked.kernel("cpu", filling, language="numba", sizes=len, bound=len)


@pytest.mark.parametrize("value", [3, "many", None])
def test_what_is_no_function_is_refused(picked, value):
    with pytest.raises(DefinitionError, match="sizes expected a function of inputs and attributes that gives whole"):
        picked.kernel("cpu", filling, language="numba", sizes=value)


def test_a_function_of_what_the_op_does_not_have_is_refused(picked):
    with pytest.raises(BindingError, match=r"numba kernel, sizes <lambda>\(z\): nothing is called 'z'"):
        picked.kernel("cpu", filling, language="numba", sizes=lambda z: 1)
    with pytest.raises(BindingError, match="nothing is called 'y'"):  # an output is not there yet
        picked.kernel("cpu", filling, language="numba", sizes=lambda y: 1)


def test_a_kernel_that_returns_its_arrays_has_no_sizes_to_decide(picked):
    with pytest.raises(
        DefinitionError, match="bound= expected parameters for the outputs, which the kernel fills, got x"
    ):
        picked.kernel("cpu", lambda x: x, language="numba", bound=lambda x: x.size)


@pytest.mark.parametrize("language", ["numpy", "composite"])
def test_languages_that_return_their_arrays_know_no_such_option(picked, language):
    with pytest.raises(DefinitionError, match="got sizes="):
        picked.kernel("cpu", filling, language=language, sizes=len)


def test_a_c_kernel_may_name_a_function_of_its_source(picked):
    schema = picked.opdef.schema
    assert as_sizes({"sizes": "many"}, schema, "k", in_source=True) == {"sizes": SizeFunction("sizes", "many")}
    for wrong in ("picked", "no name", ""):  # the first is what its own functions are called
        with pytest.raises(DefinitionError, match="or the name of one in the source that is not the kernel's own, got"):
            as_sizes({"sizes": wrong}, schema, "k", in_source=True)


def test_a_kernel_with_another_function_takes_the_place_of_the_one_before(picked, capsys):
    def registered(extra):
        picked.kernel("cpu", filling, language="numba", bound=lambda x: x.size + extra)
        return capsys.readouterr().err

    assert registered(0) == registered(0) == ""
    held = list(picked.opdef.kernels)[-1]
    registered(1)
    assert list(picked.opdef.kernels)[-1] is not held


# -- on a device, where kernels return nothing


def counting(x, y, sizes):
    sizes[0] = x.size


def on_device(picked, kernel=counting, **options):
    picked.kernel("cuda", kernel, language="numba", launch=opsdk.launch.elementwise("x"), **options)
    return list(picked.opdef.kernels)[-1]


def test_a_cuda_kernel_takes_an_array_to_say_how_many_it_filled(picked):
    held = on_device(picked, bound=lambda x: x.size)
    assert (held.parameters, str(size_function(held))) == (("x", "y", "sizes"), "bound=<lambda>")
    with pytest.raises(DefinitionError) as caught:
        on_device(picked, lambda x, y: None, bound=lambda x: x.size)
    assert str(caught.value) == (
        "op 't::picked', numba kernel <lambda>: bound= expected a parameter 'sizes', to which the kernel writes how "
        "many it filled, got x, y; take it, and write sizes[0] = filled"
    )


@pytest.mark.parametrize("option", ["bound", "sizes"])
def test_a_cuda_kernel_that_never_says_how_many_it_filled_is_refused(picked, option):
    kernels = len(list(picked.opdef.kernels))
    with pytest.raises(DefinitionError) as caught:
        on_device(picked, lambda x, y, sizes: y.fill(x), **{option: lambda x: x.size})
    assert str(caught.value) == (
        f"op 't::picked', numba kernel <lambda>: {option}= expected a kernel that writes to 'sizes' how many it "
        "filled, got one that never names it, so that nothing counts as filled; write sizes[0] = filled"
    )
    assert len(list(picked.opdef.kernels)) == kernels
    on_device(picked, lambda x, y, sizes: [sizes.fill(1) for _ in x], **{option: lambda x: x.size})  # in a function


def test_its_function_may_name_scratch_too(picked):
    scratch = {"ends": lambda x, least: (x > least).cumsum()}
    assert on_device(picked, lambda x, ends, y, sizes: sizes, sizes=lambda ends: ends[-1], scratch=scratch)
    with pytest.raises(BindingError, match=r"numba kernel, sizes <lambda>\(ends\): nothing is called 'ends'"):
        on_device(picked, sizes=lambda ends: ends[-1])


def test_sizes_is_no_parameter_where_no_data_decide_them_and_has_another_name_beside_one(picked):
    with pytest.raises(BindingError, match="nothing is called 'sizes'"):
        on_device(picked)
    assert (size_parameter(("x", "y")), size_parameter(("x", "sizes"))) == ("sizes", "sizes_")


def test_both_at_once_and_outputs_that_are_not_taken_are_refused_there_too(picked):
    with pytest.raises(DefinitionError, match="got both; keep one"):
        on_device(picked, sizes=len, bound=len)
    with pytest.raises(DefinitionError, match="bound= expected parameters for the outputs, which the kernel fills"):
        on_device(picked, lambda x, sizes: None, bound=lambda x: x.size)
