from tests.callbacks.prepared import DATA, Told, made


def test_callbacks_are_told_of_each_part_in_order():
    told = Told()
    made().fit(DATA, DATA, batch_size=3, verbose=0, callbacks=told)
    assert told.calls == [
        ("train_begin",),
        ("epoch_begin", 0),
        ("train_batch_end", 0),
        ("train_batch_end", 1),
        ("epoch_end", 0),
        ("eval_begin",),
        ("eval_batch_end", 0),
        ("eval_batch_end", 1),
        ("eval_end",),
        ("train_end",),
    ]
    assert (told.params["steps"], told.params["epochs"], told.params["metrics"]) == (2, 1, [])
