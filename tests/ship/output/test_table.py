from opsdk.ship.output.table import Column, elided, render

COLUMNS = (Column("op"), Column("note", drop=1), Column("time", right=True, drop=2))
ROWS = [("relu", "a long remark", "1.5 s"), ("softmax", "", "12 s")]


def test_columns_are_aligned_and_numbers_stand_right():
    assert render(COLUMNS, ROWS, 80) == (
        "op       note            time\nrelu     a long remark  1.5 s\nsoftmax                  12 s"
    )


def test_columns_are_dropped_in_their_order_and_never_wrap():
    assert render(COLUMNS, ROWS, 20).splitlines()[0] == "op        time"
    assert render(COLUMNS, ROWS, 5).splitlines() == ["op", "relu", "softmax"]


def test_long_cells_lose_their_middle():
    assert elided("abcdefghij", 5) == "ab…ij"
    assert elided("abcde", 5) == "abcde"
    assert render((Column("op"),), [("x" * 30,)], 80, longest=11).splitlines()[1] == "xxxxx…xxxxx"


def test_a_table_without_rows_has_its_headings():
    assert render(COLUMNS, [], 80) == "op  note  time"
