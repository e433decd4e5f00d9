"""What a second reading of the documents found."""

import numpy as np

import opsdk
from opsdk import io, metric, nn, static
from opsdk import optimizer as opt

IMAGES = np.random.default_rng(0).standard_normal((12, 6)).astype("float32")
LABELS = IMAGES[:, :3].argmax(axis=1)


def local_reader(path):
    """A reader as `paddle.dataset.mnist.train()` gives it, of a local file."""

    def reader():
        with np.load(path) as held:
            yield from zip(held["images"], held["labels"], strict=True)

    return reader


def test_f06_a_reader_of_a_local_file_is_batched_for_the_document_s_loop(tmp_path):
    np.savez(tmp_path / "digits.npz", images=IMAGES, labels=LABELS)
    train_reader = opsdk.batch(local_reader(tmp_path / "digits.npz"), batch_size=5)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image, label = static.data("X", [None, 6]), static.data("label", [None, 1], "int64")
        loss = nn.functional.cross_entropy(static.nn.fc(image, 3), label).mean()
        opt.SGD(learning_rate=0.5).minimize(loss)
    exe = static.Executor(opsdk.CPUPlace())
    exe.run(startup)
    losses, sizes = [], []
    for _ in range(8):
        for data in train_reader():
            img_data = np.array([x[0] for x in data]).astype("float32")
            label_data = np.array([[x[1]] for x in data]).astype("int64")
            losses.append(exe.run(main, feed={"X": img_data, "label": label_data}, fetch_list=[loss])[0])
            sizes.append(len(data))
    assert sizes[:3] == [5, 5, 2]
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_f06_a_data_loader_takes_the_place_of_the_readers():
    loader = io.DataLoader(io.TensorDataset([IMAGES, LABELS]), batch_size=5, shuffle=True, drop_last=True)
    shapes = [[part.shape for part in batch] for _ in range(2) for batch in loader()]
    assert shapes == [[[5, 6], [5]]] * 4


def test_f09_metrics_of_prepare_are_the_metric_called_by_hand():
    model = opsdk.Model(nn.Linear(6, 3))
    model.prepare(opt.Adam(parameters=model.parameters()), nn.CrossEntropyLoss(), metric.Accuracy())
    _, (prepared,) = model.eval_batch(IMAGES, LABELS[:, None])
    by_hand = opsdk.metric.accuracy(model.network(opsdk.to_tensor(IMAGES)), opsdk.to_tensor(LABELS[:, None]))
    assert np.float32(prepared) == by_hand.numpy()
