"""A service in FastAPI as people write it: checked tensors of the Open Inference Protocol, a model of scikit-learn."""

import os

import joblib
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
model = joblib.load(os.environ["PEER_MODEL"])


class Tensor(BaseModel):
    name: str
    shape: list[int]
    datatype: str
    data: list[float]


class Inference(BaseModel):
    inputs: list[Tensor]


@app.get("/ready")
async def ready():
    return True


@app.post("/infer")
async def infer(inference: Inference):
    tensor = inference.inputs[0]
    labels = model.predict(np.array(tensor.data).reshape(tensor.shape))
    output = Tensor(name="y", shape=list(labels.shape), datatype="INT64", data=labels.tolist())
    return {"outputs": [output]}
