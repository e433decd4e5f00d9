"""The pieces of HTML pages."""

from opsdk.ship.output.page import table


def test_the_first_cell_of_a_row_leads_to_its_section_where_it_has_one():
    made = table(("op", "verdict"), [("t::a<b", "pass"), ("t::c", "FAIL")], anchors=("t--a", ""))
    assert '<td><a href="#t--a">t::a&lt;b</a></td><td><span class="pass">pass</span></td>' in made
    assert '<td>t::c</td><td><span class="fail">FAIL</span></td>' in made


def test_a_table_without_sections_has_no_links():
    assert "<a " not in table(("op",), [("t::a",)])
