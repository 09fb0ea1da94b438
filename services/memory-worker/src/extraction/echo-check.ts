import { wordsOf } from '@turnwire/shared/recall/tokenise';

const RUN_LENGTH = 4;
const TEMPLATE = /\{\{|\}\}|\bmemory_extraction\b|\btargetRef\b|\bexistingMemories\b/;

/**
 * A check whether a text restates instructions: it has marks of a template, or at least half of its runs of four words
 * stand in one of the prompts and not in the user's own words.
 */
export function echoCheck(prompts: readonly string[], userWords: string): (text: string) => boolean {
  const prompted = prompts.map(runsOf);
  const said = runsOf(userWords);
  return (text) => {
    if (TEMPLATE.test(text)) return true;
    const runs = [...runsOf(text)];
    if (runs.length === 0) return false;
    return prompted.some((prompt) => runs.filter((run) => prompt.has(run) && !said.has(run)).length * 2 >= runs.length);
  };
}

function runsOf(text: string): ReadonlySet<string> {
  const words = wordsOf(text);
  const starts = words.slice(0, Math.max(0, words.length - RUN_LENGTH + 1));
  return new Set(starts.map((_, index) => words.slice(index, index + RUN_LENGTH).join(' ')));
}
