export interface StrictString {
  /** As JSON, with its quotes. */
  readonly json: string;
  readonly escapes: {
    /** Whether there are escapes that turn a letter into something else. */
    readonly valid: boolean;
    /** Whether there are backslashes that begin no escape, as in `\d` or `C:\users`; they stand for themselves. */
    readonly single: boolean;
  };
  readonly rawControls: boolean;
}

/** A backslash with what belongs to it, or a unit that cannot stand as it is. `\u` with some digits is half an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const SPECIAL = /\\(?:u[0-9a-fA-F]{0,4}|[\s\S])|["\u0000-\u001F]/g;

/** A string of JSON or Python, without its quotes, as strict JSON. */
export function strictString(raw: string): StrictString {
  const escapes = { valid: false, single: false };
  let rawControls = false;
  const content = raw.replace(SPECIAL, (special) => {
    if (special === '"' || special === "\\'") return special === '"' ? '\\"' : "'";
    if (!special.startsWith('\\')) {
      rawControls = true;
      return JSON.stringify(special).slice(1, -1);
    }
    if (/^\\["\\/]$/.test(special)) return special;
    const isEscape = /^\\(?:[bfnrt]|u.+)$/.test(special);
    escapes[isEscape ? 'valid' : 'single'] = true;
    return isEscape ? special : JSON.stringify(special).slice(1, -1);
  });
  return { json: `"${content}"`, escapes, rawControls };
}

const JSON_WORD = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)$/;
const PYTHON_WORDS = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
]);

/** A literal or number of JSON or Python as strict JSON; undefined if it is none. */
export function strictWord(word: string): string | undefined {
  return JSON_WORD.test(word) ? word : PYTHON_WORDS.get(word);
}

const NO_VALUES = new Set(['undefined', 'NaN', 'Infinity', 'nan', 'inf']);

/** Whether a word without quotes can be nothing but a string. */
export function isBareWord(word: string): boolean {
  return /^[A-Za-z_][\w-]*$/.test(word) && !NO_VALUES.has(word);
}
