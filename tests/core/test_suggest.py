from opsdk.core.suggest import alternatives, meant


def test_the_nearest_name_comes_first():
    assert alternatives("rleu", ["abs", "exp", "relu"]) == "relu, abs, exp"


def test_at_most_eight_names_are_shown_and_the_others_counted():
    assert alternatives("q", [f"n{i}" for i in range(11)]) == "n0, n1, n10, n2, n3, n4, n5, n6 and 3 more"


def test_no_names_are_none():
    assert alternatives("q", []) == "none"


def test_a_name_that_is_like_a_known_one_is_asked_about():
    assert meant("hubr_rows", ["huber_rows", "huber_rows_grad"]) == "did you mean 'huber_rows'? "


def test_a_name_like_no_other_is_not_guessed():
    assert meant("q", ["huber_rows"]) == ""
