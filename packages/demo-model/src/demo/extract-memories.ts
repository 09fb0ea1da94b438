import { foldWidth } from './fold-width.ts';
import { languageOf } from './language.ts';

/** One item of a `memory_extraction` answer. */
export type ExtractedMemory = {
  op: 'add';
  text: string;
  /** The user's own words, as they stand in the text. */
  quote: string;
  kind: 'fact' | 'preference';
  subject: 'user';
  slot: 'name' | 'home' | 'likes' | 'work';
  value: string;
  cardinality: 'one' | 'many';
  keywords: string[];
};

type Pattern = Pick<ExtractedMemory, 'slot' | 'kind' | 'cardinality'> & {
  /** Matches from where the quote begins; its group `value` is the fact. */
  find: RegExp;
  tell: (value: string, quote: string) => string;
};

// A dot ends nothing inside a word (`v1.2`) or after an initial or a title (`J. Doe`, `St. Ives`).
const INNER_DOT = '\\.(?=\\S)|(?<=(?<!\\p{L})(?:\\p{Lu}|St|Mr|Mrs|Ms|Dr))\\.';
const VALUE = `(?<value>(?:[^.!?;,\\n。]|${INNER_DOT})+?)`;
const NEXT_CLAUSE = 'but|so|because|though|and\\s+(?:i|i\\W?m|my|we|he|she|it|also|call|please|what|how)';
const END = `(?=\\s*(?:(?!${INNER_DOT})[.!?;,\\n。]|\\b(?:${NEXT_CLAUSE})\\b|$))`;
const NOT_A_NAME = '(?!(?:back|later|when|if|at|on|tomorrow|today|maybe|a|an|the|not|in|it)\\b)';
const NAME = { slot: 'name', kind: 'fact', cardinality: 'one' } as const;
const HOME = { slot: 'home', kind: 'fact', cardinality: 'one' } as const;
const WORK = { slot: 'work', kind: 'fact', cardinality: 'one' } as const;
const LIKES = { slot: 'likes', kind: 'preference', cardinality: 'many' } as const;

const ENGLISH: readonly Pattern[] = [
  {
    ...NAME,
    find: english(`(?:my name is|my name's|my name’s)\\s+${NOT_A_NAME}${VALUE}`),
    tell: (name) => `The user's name is ${name}.`,
  },
  {
    ...NAME,
    find: english(`(?:please )?call me\\s+${NOT_A_NAME}${VALUE}`),
    tell: (name) => `The user's name is ${name}.`,
  },
  {
    ...HOME,
    find: english(`i (?:now |currently )?(?:live|reside) in\\s+${VALUE}(?:\\s+now)?`),
    tell: (place) => `The user lives in ${place}.`,
  },
  {
    ...HOME,
    find: english(
      `i(?:'ve|’ve| have)? (?:just |recently )?moved to\\s+${VALUE}(?:\\s+(?:last|this|yesterday|today)\\b[^.!?;,]*)?`,
    ),
    tell: (place) => `The user lives in ${place}.`,
  },
  {
    ...WORK,
    find: english(`i (?:now |currently )?work (?<value>(?:at|as|for|in)\\s+(?:[^.!?;,\\n]|${INNER_DOT})+?)`),
    tell: (work) => `The user works ${work}.`,
  },
  {
    ...LIKES,
    find: english(`i (?:really |also |still )?(?:like|love|prefer|enjoy)\\s+(?!(?:that|how|what|when|it)\\b)${VALUE}`),
    tell: tellLiking,
  },
];

const CHINESE: readonly Pattern[] = [
  { ...NAME, find: chinese(`(?:我叫做?|我的名字(?:是|叫)|(?:请)?叫我)${VALUE}`), tell: (name) => `用户叫${name}。` },
  {
    ...HOME,
    find: chinese(`我(?:现在|目前)?(?:家)?(?:居住在|住在|搬到了|搬到|搬去了)${VALUE}`),
    tell: (place) => `用户住在${place}。`,
  },
  {
    ...WORK,
    find: chinese(`我(?:现在|目前)?在(?<value>[^.!?;,\\n。]+?)(?:工作|上班)`),
    tell: (place) => `用户在${place}工作。`,
  },
  {
    ...LIKES,
    find: chinese(`我(?:很|最|也|非常|特别|比较|更|还)*(?:喜欢|喜爱|偏爱)(?!的)${VALUE}`),
    tell: (thing) => `用户喜欢${thing}。`,
  },
];

const PATTERNS = [...ENGLISH, ...CHINESE];
/** With its end mark, so that a question can be told. */
const SENTENCE = new RegExp(`(?:[^.!?。\\n]|${INNER_DOT})*[.!?。\\n]?`, 'gu');
const MAX_VALUE = 80;

/** Facts that a user states about themselves, found by simple patterns; questions state nothing. */
export function extractMemories(userWords: string): ExtractedMemory[] {
  // Found in the folded text, cut from the user's own: a quote has to stand there as it is.
  const found = [...foldWidth(userWords).matchAll(SENTENCE)].flatMap(({ index, 0: sentence }) => {
    const spoken = userWords.slice(index, index + sentence.length);
    return isQuestion(sentence) ? [] : PATTERNS.flatMap((pattern) => findFacts(sentence, spoken, pattern));
  });
  return found.filter((one, index) => found.findIndex((other) => sameFact(one, other)) === index);
}

function findFacts(sentence: string, spoken: string, { find, tell, ...rest }: Pattern): ExtractedMemory[] {
  return [...sentence.matchAll(find)].flatMap(({ index, 0: match, indices }) => {
    const [start, end] = indices?.groups?.value ?? [0, 0];
    const value = spoken.slice(start, end).trim();
    if (value === '' || value.length > MAX_VALUE || /什么|哪里|哪儿|谁/.test(value)) return [];
    const quote = spoken.slice(index, index + match.length).trim();
    return [{ op: 'add', text: tell(value, quote), quote, ...rest, subject: 'user', value, keywords: [value] }];
  });
}

function tellLiking(thing: string, quote: string): string {
  const verb = /\b(like|love|prefer|enjoy)\b/i.exec(quote)?.[1]?.toLowerCase() ?? 'like';
  return `The user ${verb}s ${thing}.`;
}

function sameFact(one: ExtractedMemory, other: ExtractedMemory): boolean {
  return one.slot === other.slot && one.value.toLowerCase() === other.value.toLowerCase();
}

function isQuestion(sentence: string): boolean {
  const language = languageOf(sentence);
  if (/\?\s*$/.test(sentence)) return true;
  return language === 'zh'
    ? /[吗呢]\s*[。.]?\s*$/.test(sentence)
    : /^\s*(?:do|does|did|should|would|what|where|who|how|if)\b/i.test(sentence);
}

function english(pattern: string): RegExp {
  return new RegExp(`(?<![\\p{L}'’])${pattern}${END}`, 'dgiu');
}

function chinese(pattern: string): RegExp {
  return new RegExp(`${pattern}(?=[了吧啊呀]?(?:[.!?;,\\n。]|$))`, 'dgu');
}
