"""An unchanged client library of the Open Inference Protocol gets the same predictions as the service's own route."""

import importlib.metadata
import json
import sys

import numpy
import tritonclient.http as client

from service import expect, train

EXAMPLES = 1_000
N = 21
DATATYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP32": "float32",
    "FP64": "float64",
}


def tensor(values, datatype, binary):
    """The input x with these values."""
    x = client.InferInput("x", list(values.shape), datatype)
    x.set_data_from_numpy(values, binary_data=binary)
    return x


def check(result, predictions, scores):
    """Compares a response with the predictions and scores of the service's own route."""
    found = result.as_numpy("prediction")
    assert found.dtype == numpy.int8 and numpy.array_equal(found, predictions)
    texts = result.as_numpy("score")
    if texts is not None:
        texts = [text.decode() if isinstance(text, bytes) else text for text in texts]
        assert [float(text) for text in texts] == [float(score) for score in scores]
    return len(predictions)


def refusals(server, model):
    """Checks that the library reports the text of an error from the member `error`."""
    wrong = numpy.zeros((2, N + 1), dtype=bool)
    for values, datatype, name, said in [
        (wrong, "BOOL", model, f"the model has n = {N}"),
        (numpy.full((1, N), 7, dtype="int8"), "INT8", model, "Boolean"),
        (numpy.zeros((1, N), dtype=bool), "BOOL", "resnet50", "no such model"),
    ]:
        try:
            server.infer(name, [tensor(values, datatype, True)])
        except client.InferenceServerException as refused:
            assert said in refused.message(), refused
        else:
            raise AssertionError(f"{said}: not refused")
    return 3


def main():
    random = numpy.random.default_rng(8)
    lines = []
    for bits in random.random((500, N)) < 0.5:
        text = "".join("1" if bit else "0" for bit in bits)
        lines.append(json.dumps({"x": text, "y": 1 if bits[:7].sum() > 3 else -1}))
    body = "\n".join(lines).encode()
    model = train("perceptron", body, "application/x-ndjson", "")["model"]

    server = client.InferenceServerClient(sys.argv[1].removeprefix("http://"))
    assert server.is_server_live() and server.is_server_ready()
    assert server.is_model_ready(model) and server.is_model_ready(model, "1")
    assert not server.is_model_ready("resnet50")
    assert "binary_tensor_data" in server.get_server_metadata()["extensions"]
    metadata = server.get_model_metadata(model)
    assert metadata["inputs"] == [{"name": "x", "datatype": "BOOL", "shape": [-1, N]}], metadata

    x = random.random((EXAMPLES, N)) < 0.5
    examples = {"unlabelled": {"examples": x.astype(int).tolist()}}
    path = f"/v1/models/{model}/predict"
    own = expect(200, "POST", path, json.dumps(examples).encode(), "application/json")
    requests = predictions = 0
    for datatype, dtype in DATATYPES.items():
        for binary in [True, False]:
            for outputs in [None, [client.InferRequestedOutput("prediction", binary_data=binary)]]:
                inputs = [tensor(x.astype(dtype), datatype, binary)]
                result = server.infer(model, inputs, outputs=outputs, request_id="r1")
                assert result.get_response()["id"] == "r1"
                predictions += check(result, own["predictions"], own["scores"])
                requests += 1
    signs = (2 * x.astype("int8") - 1).astype("int8")
    result = server.infer(
        model, [tensor(signs, "INT8", True)], "1", request_compression_algorithm="gzip"
    )
    predictions += check(result, own["predictions"], own["scores"])
    one = server.infer(model, [tensor(x[0], "BOOL", True)])
    predictions += check(one, own["predictions"][:1], own["scores"][:1])
    requests += 2
    refused = refusals(server, model)
    server.close()
    version = importlib.metadata.version("tritonclient")
    print(
        f"tritonclient {version}: {requests} requests, {predictions} predictions equal, "
        f"{refused} refusals read"
    )


main()
