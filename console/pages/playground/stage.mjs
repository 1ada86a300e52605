/** A run on the page: controls at the top, then the examples, hypotheses, counts and claims of its sessions. */

import { html } from "../../vendor/htm-preact.mjs";
import { useEffect, useMemo, useRef } from "../../vendor/hooks.mjs";
import { Panel } from "../../view/parts.mjs";
import { place, setQuery } from "../../view/place.mjs";
import { Controls } from "./controls.mjs";
import { Curve } from "./curve.mjs";
import { ExamplePanel } from "./example.mjs";
import { HypothesisPanel } from "./hypothesis.mjs";
import { Notices } from "./notices.mjs";
import { Plane } from "./plane.mjs";
import { Player, SPEEDS } from "./player.mjs";
import { SessionPanel } from "./session.mjs";
import { TrustPanel } from "./trust.mjs";
import { passIn, positionIn } from "./wanted.mjs";

/** Milliseconds between two changes of the URL. Browsers refuse more than a few per second. */
const URL_PAUSE = 400;

/**
 * @param {{name: string, query: URLSearchParams, wanted: import("./wanted.mjs").Wanted[], dataset: import("#api").components["schemas"]["Dataset"]}} props
 */
export function Stage({ name, query, wanted, dataset }) {
  const player = useMemo(() => new Player(name, dataset, wanted), []);
  player.speed = Object.hasOwn(SPEEDS, query.get("speed") ?? "") ? String(query.get("speed")) : "5";
  player.isEndless = query.get("passes") === "on";
  usePosition(player, query);
  const version = player.version.value;
  const { runs } = player;
  const [one, other] = runs;
  const isReady = runs.every((run) => run.session);
  const isPlane = dataset.values === "real" && dataset.n === 2;
  return html`<${Controls} player=${player} query=${query} version=${version} />
    <${Notices} player=${player} version=${version} />
    ${isReady && html`
      <div class="columns run-columns">
        <div class="stack wide-gaps">
          <${ExamplePanel} player=${player} version=${version} />
          ${isPlane && html`<${Panel} title="Plane"><${Plane} player=${player} version=${version} /><//>`}
          ${!other && one && html`<${HypothesisPanel} run=${one} isOne version=${version} />`}
        </div>
        <div class="stack wide-gaps">
          <${Panel} title="Mistakes"><${Curve} player=${player} version=${version} query=${query} /><//>
          ${!other && one && html`<${TrustPanel} run=${one} isOne version=${version} />`}
        </div>
      </div>
      ${other && html`<div class="columns">${runs.map((run) => html`<div class="stack wide-gaps" key=${run.wanted.slot.learner}>
        <${HypothesisPanel} run=${run} version=${version} /><${TrustPanel} run=${run} version=${version} />
      </div>`)}</div>`}
      <${SessionPanel} player=${player} query=${query} version=${version} />`}`;
}

/** Keeps the position in the URL, and follows the URL when the person changes the position there. @param {Player} player  @param {URLSearchParams} query */
function usePosition(player, query) {
  const [wanted, pass] = [positionIn(query), passIn(query)];
  const published = useRef(wanted);
  const timer = useRef(0);
  useEffect(() => {
    const publish = () => {
      clearTimeout(timer.current);
      timer.current = 0;
      // A position that the person put into the URL stays until the run reaches it.
      if (player.mode === "opening" || player.followed || !player.runs.every((run) => run.session)) return;
      const { position } = player;
      // Between a new link in the URL and the call of `follow`, the URL is ahead of the player.
      const isFollowed = positionIn(place.value.query) === published.current;
      if (position !== published.current && isFollowed) {
        published.current = position;
        const pass = player.passOf(position);
        setQuery({ at: position || null, pass: pass > 1 ? pass : null });
      }
      player.keep(position);
    };
    const unsubscribe = player.version.subscribe(() => {
      if (!timer.current) timer.current = window.setTimeout(publish, URL_PAUSE);
    });
    // The URL of a reload is fixed before this event, so the runs are kept under that URL.
    const keep = () => { if (player.mode !== "opening") player.keep(published.current); };
    addEventListener("pagehide", keep);
    player.open(wanted, pass);
    return () => {
      clearTimeout(timer.current);
      unsubscribe();
      removeEventListener("pagehide", keep);
      keep();
      player.leave();
    };
  }, []);
  useEffect(() => {
    if (wanted === published.current) return;
    published.current = wanted;
    player.follow(wanted, pass);
  }, [wanted]);
}
