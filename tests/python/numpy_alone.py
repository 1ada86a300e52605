"""Arrays that NumPy saves: the service stores them, trains on them and predicts them, with scores equal to X @ w."""

import io
import json

import numpy

from service import expect, train

EXAMPLES = 1_000
N = 33
NPY = "application/x-npy"
BOOLEAN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64", "float32", "float64"]
REAL = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def saved(array):
    """The array as the bytes that numpy.save writes."""
    buffer = io.BytesIO()
    numpy.save(buffer, array)
    return buffer.getvalue()


def compare(model, body, media_type, query, expected):
    """Predicts, and compares all predictions and scores with the expected scores."""
    answer = expect(200, "POST", f"/v1/models/{model}/predict{query}", body, media_type)
    scores = numpy.array(answer["scores"], dtype=expected.dtype)
    assert numpy.array_equal(scores, expected), (scores[:5], expected[:5])
    signs = numpy.where(expected >= 0, 1, -1)
    assert numpy.array_equal(answer["predictions"], signs)
    return len(signs)


def weights(model):
    """The weights and the bias of a model."""
    hypothesis = expect(200, "GET", f"/v1/models/{model}")["hypothesis"]
    return numpy.array(hypothesis["weights"]), hypothesis["bias"]


def main():
    random = numpy.random.default_rng(7)
    x = random.random((EXAMPLES, N)) < 0.5
    truth = random.integers(-9, 10, N)
    y = (2 * x.astype(int) - 1) @ truth >= 0
    table = numpy.column_stack([x, y])
    trainings = predictions = 0

    # The same data give the same model, as a stored dataset and in the body of the training.
    dataset = expect(201, "POST", "/v1/datasets", saved(table), NPY)
    assert (dataset["n"], dataset["examples"], dataset["class_examples"][1]) == (N, EXAMPLES, int(y.sum()))
    named = json.dumps({"dataset": dataset["id"]}).encode()
    by_name = train("perceptron", named, "application/json", "")
    sent = train("perceptron", saved(table), NPY, "")
    assert by_name["hypothesis"] == sent["hypothesis"]
    assert by_name["training"] == {"errors": 0, "examples": EXAMPLES}, by_name["training"]
    trainings += 2
    model = by_name["model"]
    w, bias = weights(model)

    # A model of Boolean data accepts every dtype, as 0 and 1 and as -1 and 1.
    fresh = random.random((EXAMPLES, N)) < 0.5
    signs = 2 * fresh.astype(int) - 1
    scores = signs @ w + bias
    for dtype in BOOLEAN:
        predictions += compare(model, saved(fresh.astype(dtype)), NPY, "", scores)
    for dtype in SIGNED:
        predictions += compare(model, saved(signs.astype(dtype)), NPY, "", scores)
    with_labels = numpy.column_stack([fresh, scores >= 0])
    predictions += compare(model, saved(with_labels), NPY, "?labels=last", scores)

    # Packed octets, in both orders of bits.
    for order in ["big", "little"]:
        octets = numpy.packbits(fresh, axis=1, bitorder=order).tobytes()
        query = f"?bit_order={order}"
        predictions += compare(model, octets, "application/octet-stream", query, scores)
    octets = numpy.packbits(table, axis=1).tobytes()
    query = f"n={N}&labels=appended"
    packed = train("perceptron", octets, "application/octet-stream", query)
    assert packed["hypothesis"] == sent["hypothesis"]
    trainings += 1

    # Real data of every dtype. NumPy may add in another order, so the values make every sum exact.
    for dtype in REAL:
        low = 0 if dtype.startswith("uint") else -50
        values = random.integers(low, 50, (300, 5)).astype(dtype)
        if dtype.startswith("float"):
            values /= 8
        labels = values.astype(float) @ [3, -1, 2, -5, 1] >= 0
        body = saved(numpy.column_stack([values, numpy.where(labels, 1, 0).astype(dtype)]))
        result = train("perceptron", body, NPY, "stop.max_passes=20")
        trainings += 1
        w, bias = weights(result["model"])
        expected = values.astype(float) @ w + bias
        predictions += compare(result["model"], saved(values), NPY, "", expected)

    print(f"numpy {numpy.__version__} alone: {trainings} trainings, {predictions} predictions equal")


main()
