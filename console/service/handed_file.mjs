/** A file that one page hands to another. It has no address, so it cannot be part of the URL. */

import { signal } from "../vendor/signals.mjs";

/** The file that the Data page reads next. The page that takes the file sets null again. */
export const handedFile = signal(/** @type {File|null} */ (null));
