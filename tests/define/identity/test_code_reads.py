import dis

from opsdk.define.identity.code_reads import reads_of, texts_of, unread, with_inner

TEXT = """
def f(x):
    import os.path
    inner = [scale.k.j * v for v in x]
    def g():
        return helper(x) + "name"
    return g, x.shape
"""


def code():
    scope = {}
    exec(compile(TEXT, "somewhere.py", "exec"), scope)
    return scope["f"].__code__


def test_globals_attributes_and_imports_of_a_function_and_of_what_is_in_it_are_found():
    chains, names, modules = reads_of(code())
    assert names == {"scale", "helper"}
    assert chains["scale"] == {("k", "j")}
    assert chains["helper"] == {()}
    assert modules == ("os.path",)


def test_texts_that_may_be_names_are_found():
    assert [text for each in with_inner(code()) for text in texts_of(each) if text == "name"] == ["name"]


def test_parameters_that_no_code_reads_are_told():
    def outer(x, *, used=1.0, inner=2.0, kept=3.0, given=4.0):
        given = 5.0
        return (lambda: x * inner) if used else given

    assert unread(outer.__code__) == ["kept"]
    assert unread((lambda a, b: locals()).__code__) == []


def test_what_a_thousand_functions_read_is_known_when_they_are_looked_at_again(monkeypatch):
    codes = [compile(f"known{i}.part", "somewhere.py", "eval") for i in range(3000)]
    for each in codes:
        reads_of(each)
    monkeypatch.delattr(dis, "get_instructions")
    assert [reads_of(each)[1] for each in codes] == [{f"known{i}"} for i in range(3000)]
