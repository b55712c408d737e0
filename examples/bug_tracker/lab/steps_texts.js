// The texts of Step by step. A step is told by `say_<kind>(step, played)`, and named in the timeline by `label_<kind>`.

import { en } from "./steps_texts_en.js";
import { zh } from "./steps_texts_zh.js";

export const texts = { en, zh };
