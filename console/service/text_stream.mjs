/** The text of an answer in pieces, as it arrives. */

/**
 * The pieces of a text between separators. A reader that stops early ends the answer.
 * @param {Response} response  @param {string|RegExp} separator  @param {{isRestCut?: boolean, silenceSeconds?: number,
 *   onSilence?: () => void}} [options]  `isRestCut`: whether a text behind the last separator is only the beginning of a piece. `onSilence` is called after `silenceSeconds` without a byte.  @returns {AsyncGenerator<string>}
 */
export async function* piecesOf(response, separator, { isRestCut = false, silenceSeconds = 0, onSilence } = {}) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let text = ""; ;) {
      const timer = onSilence ? setTimeout(onSilence, silenceSeconds * 1000) : 0;
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      const pieces = (text + (value ?? "")).split(separator);
      if (!done || isRestCut) text = pieces.pop() ?? "";
      yield* pieces.filter(Boolean);
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
