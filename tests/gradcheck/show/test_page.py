"""The pieces of HTML pages."""

from gradcheck.show.page import table


def test_the_first_cell_of_a_row_leads_to_its_section_where_it_has_one():
    made = table(("op", "verdict"), [("t::a<b", "pass"), ("t::c", "FAIL")], anchors=("t--a", ""))
    assert '<td><a href="#t--a">t::a&lt;b</a></td><td><span class="pass">pass</span></td>' in made
    assert '<td>t::c</td><td><span class="fail">FAIL</span></td>' in made


def test_a_table_without_sections_has_no_links():
    assert "<a " not in table(("op",), [("t::a",)])


def test_a_row_about_something_called_no_is_not_coloured_by_it():
    assert '<td>no</td><td><span class="fail">no</span></td>' in table(("input", "holds"), [("no", "no")])
