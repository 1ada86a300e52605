/* The client that hey-api makes: trains, waits, predicts and reads a problem.
 *
 * The argument is the address of the service. The file is compiled in the folder of the client. */

import { createJob, getJob, predictModel, type Job } from './index';
import { client } from './client.gen';

declare const process: { argv: string[] };

function check(holds: boolean, value: unknown): asserts holds {
    if (!holds) throw new Error(JSON.stringify(value));
}

async function run(baseUrl: string) {
    client.setConfig({ baseUrl });
    const examples = [
        { x: '110', y: 1 as const }, { x: '011', y: 0 as const }, { x: '100', y: 1 as const },
        { x: '001', y: 0 as const },
    ];
    const created = await createJob({ body: { train: {
        learner: { name: 'perceptron', params: { order: 'cyclic' } },
        data: { labelled: { examples } },
        seed: 1,
    } } });
    check(created.data !== undefined, created);
    let job: Job = created.data;
    while (job.status === 'queued' || job.status === 'running') {
        const answer = await getJob({ path: { id: job.id }, headers: { Prefer: 'wait=10' } });
        check(answer.data !== undefined, answer);
        job = answer.data;
    }
    const result = job.result;
    check(result?.task === 'train', job);
    check(result.hypothesis?.kind === 'linear' && result.hypothesis.weights.length === 3, result);
    check(result.mistakes > 0 && result.termination.reason === 'converged', result);
    check(result.model != null, result);

    const { data: answer } = await predictModel({
        path: { id: result.model }, body: { unlabelled: { examples: [[1, 0, 0], [0, 0, 1]] } },
    });
    check(answer !== undefined && typeof answer === 'object' && 'predictions' in answer, answer);
    check(answer.predictions[0] === 1 && answer.predictions[1] === -1, answer);

    const dataset = 'ds_018f0000000070008000000000000000';
    const { error } = await predictModel({ path: { id: result.model }, body: { dataset } });
    check(error?.status === 422 && error.detail !== '', error);
    console.log(`hey-api: ${result.mistakes} mistakes, ${result.termination.reason}`);
}

run(process.argv[2]!);
