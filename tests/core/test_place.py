from opsdk.core.place import CPUPlace, CUDAPlace, Place


def test_the_cpu_place_is_one_place():
    assert CPUPlace() is CPUPlace()


def test_places_are_equal_by_kind_and_index():
    assert CUDAPlace(1) == Place("cuda", 1) != CUDAPlace(0)


def test_places_print_as_paddle_prints_them():
    assert (repr(CPUPlace()), str(CUDAPlace(2))) == ("Place(cpu)", "Place(cuda:2)")


def test_places_can_be_keys():
    assert len({CPUPlace(), CUDAPlace(0), CUDAPlace(0)}) == 2
