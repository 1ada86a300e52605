/** The page Home: the ways in, the work that runs, and the work that ended recently. */

import { html } from "../vendor/htm-preact.mjs";
import { PageHead, counted } from "../view/parts.mjs";
import { href } from "../view/place.mjs";
import { BringFile, OpenJob, TrySample, Tours, useDroppedFile } from "./home/ways_in.mjs";
import { Ended, Running, useWork } from "./home/work.mjs";

export function HomePage() {
  const work = useWork();
  const isOver = useDroppedFile();
  const running = work.running.value?.items.length ?? 0;
  const queued = work.queued.value?.items.length ?? 0;
  return html`<div class="page">
    <${PageHead} title="Learn from examples">
      ${running > 0 && html`<a class="badge note live" href=${href("jobs", { status: "running" })}>${counted(running, "job")} running</a>`}
      ${queued > 0 && html`<a class="badge" href=${href("jobs", { status: "queued" })}>${counted(queued, "job")} waiting</a>`}
    <//>
    <p>You send labelled examples and choose a learner. The service returns the hypothesis with exact counts of mistakes,
      and the bound of the theorem that holds for the run.</p>
    <div class="columns">
      <${TrySample} />
      <div class="stack wide-gaps">
        <${BringFile} isOver=${isOver} />
        <${OpenJob} />
        <${Tours} />
      </div>
    </div>
    <div class="columns">
      <${Running} work=${work} />
      <${Ended} work=${work} />
    </div>
  </div>`;
}
