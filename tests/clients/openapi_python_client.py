"""The client that openapi-python-client makes: trains, waits, predicts and reads a problem.

The argument is the address of the service.
"""

import sys

from halfspace_openapi_python_client import Client, models
from halfspace_openapi_python_client.api.jobs import create_job, get_job
from halfspace_openapi_python_client.api.models import predict_model

client = Client(base_url=sys.argv[1], timeout=60)
examples = [
    models.LabelledExample(x=x, y=y)
    for x, y in [("110", 1), ("011", 0), ("100", 1), ("001", 0)]
]
training = models.TrainRequest(
    learner=models.PerceptronLearner(
        name=models.PerceptronLearnerName.PERCEPTRON,
        params=models.PerceptronLearnerParams(order=models.PerceptronLearnerParamsOrder.CYCLIC),
    ),
    data=models.Data(labelled=models.LabelledData(examples=examples)),
    seed=1,
)
job = create_job.sync(client=client, body=models.JobRequest(train=training))
while job.status in (models.Status.QUEUED, models.Status.RUNNING):
    job = get_job.sync(job.id, client=client, prefer="wait=10")
result = job.result
assert isinstance(result, models.TrainResult), result
assert isinstance(result.hypothesis, models.LinearHypothesis), result
assert result.mistakes > 0 and result.termination.reason == "converged", result

rows = models.Data(unlabelled=models.UnlabelledData(examples=[[1, 0, 0], [0, 0, 1]]))
answer = predict_model.sync(result.model, client=client, body=rows)
assert isinstance(answer, models.Predictions), answer
assert answer.predictions == [1, -1] and answer.scores[0] > 0, answer

unknown = models.Data(dataset="ds_018f0000000070008000000000000000")
problem = predict_model.sync(result.model, client=client, body=unknown)
assert isinstance(problem, models.Problem), problem
assert problem.status == 422 and problem.detail, problem
print(f"openapi-python-client: {result.mistakes} mistakes, {result.termination.reason}")
