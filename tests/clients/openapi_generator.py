"""The client that openapi-generator makes for Python: trains, waits, predicts and reads a problem.

The argument is the address of the service.
"""

import sys

import halfspace_openapi_generator as halfspace

configuration = halfspace.Configuration(host=sys.argv[1])
with halfspace.ApiClient(configuration) as client:
    jobs, models = halfspace.JobsApi(client), halfspace.ModelsApi(client)
    examples = [
        halfspace.LabelledExample(x=x, y=halfspace.Label(y))
        for x, y in [("110", 1), ("011", 0), ("100", 1), ("001", 0)]
    ]
    perceptron = halfspace.PerceptronLearner(
        name="perceptron", params=halfspace.PerceptronLearnerParams(order="cyclic")
    )
    training = halfspace.TrainRequest(
        learner=halfspace.LearnerSpec(perceptron),
        data=halfspace.Data(labelled=halfspace.LabelledData(examples=examples)),
        seed=1,
    )
    job = jobs.create_job(halfspace.JobRequest(train=training))
    while job.status in (halfspace.Status.QUEUED, halfspace.Status.RUNNING):
        job = jobs.get_job(job.id, prefer="wait=10")
    result = job.result.actual_instance
    assert isinstance(result, halfspace.TrainResult), result
    assert isinstance(result.hypothesis.actual_instance, halfspace.LinearHypothesis)
    assert result.mistakes > 0 and result.termination.reason == "converged", result

    row = [[1, 0, 0], [0, 0, 1]]
    rows = halfspace.Data(unlabelled=halfspace.UnlabelledData(examples=row))
    answer = models.predict_model(result.model, rows)
    assert answer.predictions == [1, -1], answer
    assert answer.scores[0].actual_instance > 0, answer

    try:
        models.predict_model(result.model, halfspace.Data(dataset="ds_018f0000000070008000000000000000"))
    except halfspace.ApiException as error:
        assert isinstance(error.data, halfspace.Problem), error
        assert error.data.status == 422 and error.data.detail, error
    else:
        raise AssertionError("an unknown dataset is accepted")
print(f"openapi-generator, python: {result.mistakes} mistakes, {result.termination.reason}")
