// The client that openapi-generator makes for Go: trains, waits, predicts and reads a problem.
//
// The argument is the address of the service.
package main

import (
	"client"
	"context"
	"errors"
	"fmt"
	"os"
)

func check(holds bool, value any) {
	if !holds {
		panic(fmt.Sprintf("%+v", value))
	}
}

func bits(text string) interface{} {
	return text
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	service, ctx := client.NewAPIClient(configuration), context.Background()

	examples := []client.LabelledExample{
		*client.NewLabelledExample(bits("110"), 1), *client.NewLabelledExample(bits("011"), 0),
		*client.NewLabelledExample(bits("100"), 1), *client.NewLabelledExample(bits("001"), 0),
	}
	perceptron := client.NewPerceptronLearner("perceptron")
	perceptron.Params = client.NewPerceptronLearnerParams()
	perceptron.Params.SetOrder("cyclic")
	data := client.Data{Labelled: client.NewLabelledData(examples)}
	training := client.NewTrainRequest(data, client.PerceptronLearnerAsLearnerSpec(perceptron))
	training.SetSeed(1 << 40)
	request := client.JobRequest{Train: training}
	job, _, err := service.JobsAPI.CreateJob(ctx).JobRequest(request).Execute()
	check(err == nil, err)
	for job.Status == client.STATUS_QUEUED || job.Status == client.STATUS_RUNNING {
		job, _, err = service.JobsAPI.GetJob(ctx, job.Id).Prefer("wait=10").Execute()
		check(err == nil, err)
	}
	result := job.Result.Get().TrainResult
	check(result != nil, job)
	hypothesis := result.Hypothesis.Get().LinearHypothesis
	check(hypothesis != nil && len(hypothesis.Weights) == 3, result)
	check(result.Mistakes > 0 && result.Termination.Reason == "converged", result)

	row := client.Data{Unlabelled: client.NewUnlabelledData([]interface{}{bits("100"), bits("001")})}
	answer, _, err := service.ModelsAPI.PredictModel(ctx, *result.Model.Get()).Data(row).Execute()
	check(err == nil && answer.Predictions[0] == 1 && answer.Predictions[1] == -1, answer)

	dataset := "ds_018f0000000070008000000000000000"
	unknown := client.Data{Dataset: &dataset}
	_, _, err = service.ModelsAPI.PredictModel(ctx, *result.Model.Get()).Data(unknown).Execute()
	var refused *client.GenericOpenAPIError
	check(errors.As(err, &refused), err)
	problem, typed := refused.Model().(client.Problem)
	check(typed && problem.Status == 422 && problem.Detail != "", refused.Model())
	fmt.Printf("openapi-generator, go: %d mistakes, %s\n", result.Mistakes, result.Termination.Reason)
}
