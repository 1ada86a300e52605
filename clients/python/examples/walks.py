import halfspace
import pandas

frame = pandas.read_csv("walks.csv")
with halfspace.local() as client:
    job = client.train(frame, learner="perceptron", labels="walk", holdout=0.3, assume="independent", seed=1)
    print(job.result.mistakes, "mistakes in", job.result.passes, "passes")
    print(job.model.predict(frame.drop(columns="walk").head(3)))
    print(*(certificate.statement for certificate in job.certificates), sep="\n")
    job.trace.plot().figure.savefig("mistakes.png")
