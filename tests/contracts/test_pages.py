from tests.contracts import pages


def test_every_name_that_a_page_tells_of_exists():
    root = pages.REPOSITORY
    found = [
        problem
        for page in pages.pages()
        for problem in pages.unknown_names(page.read_text(encoding="utf-8"), page.relative_to(root))
    ]
    assert found == []


def test_a_name_that_leads_nowhere_is_reported_with_its_line():
    text = "Ask `opsdk.verify`.\nThen `opsdk.verfy(op)`, or gradcheck.chek.\n"
    assert pages.unknown_names(text, "page.md") == ["page.md:2: opsdk.verfy", "page.md:2: gradcheck.chek"]


def test_a_method_is_followed_to_its_end():
    assert pages.unknown_names("`opsdk.Tensor.backward` and `opsdk.Tensor.forward`", "page.md") == [
        "page.md:1: opsdk.Tensor.forward"
    ]


def test_what_follows_in_a_cell_of_a_table_belongs_to_the_first_name():
    row = "| `opsdk.abs`, `sign`, `sgin` | `nothing` of this |"
    assert pages.unknown_names(row, "page.md") == ["page.md:1: opsdk.sgin"]


def test_files_and_addresses_are_no_names():
    assert pages.unknown_names("`opsdk.h`, opsdk/ops/shape.py, see.opsdk.org, my-opsdk.thing", "page.md") == []


def test_a_module_that_needs_a_framework_is_read_and_not_imported():
    text = "gradcheck.subjects.paddle.check, gradcheck.subjects.paddle.chek"
    assert pages.unknown_names(text, "page.md") == ["page.md:1: gradcheck.subjects.paddle.chek"]
