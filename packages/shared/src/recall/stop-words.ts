const ENGLISH = `a about am an and any are as at be been but by can could did do does for from had has have he her him his how i if in
  into is it its just me my no not of on or our out she should so some than that the their them then there these they this those
  to too up us user was we were what when where which who whom why will with would you your`;

// Single characters, since there are no spaces to find words by; a pair of two of them says nothing either.
const CHINESE = '的了是在我你您他她它们吗呢吧啊么什这那有和与就也都很会能要用户为以及对把被给让请';

const words = new Set([...ENGLISH.split(/\s+/), ...CHINESE]);

/** Whether a lowercase word or single character is too common to tell one memory from another. */
export function isStopWord(word: string): boolean {
  return words.has(word);
}
