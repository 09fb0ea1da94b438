import {
  type ChatRequest,
  lastUserText,
  type ToolDefinition,
  type ToolOutcome,
  toolOutcomes,
  turnOutcomes,
} from '../chat-request.ts';
import { answerFromMemory, homeInMemory } from './answer-from-memory.ts';
import { extractMemories } from './extract-memories.ts';
import { fillArguments } from './fill-arguments.ts';
import { parseObject } from './find-json.ts';
import { findUnknownTool } from './find-named-tools.ts';
import { foldWidth, MAX_READ } from './fold-width.ts';
import { introduce, label } from './introduce.ts';
import { type Language, languageOf } from './language.ts';
import { phraseOutcome } from './phrase-outcome.ts';
import { type PlannedCall, planCalls } from './plan-calls.ts';
import { readMemories } from './read-memories.ts';
import { readOutcome } from './read-outcome.ts';
import { readUserWords } from './user-words.ts';

/** What the demo model does with a request: says a text, gives a JSON answer, or calls tools. */
export type AnswerPlan =
  | { kind: 'say'; text: string }
  | { kind: 'json'; value: unknown }
  | { kind: 'call'; calls: readonly PlannedCall[] };

const COMPLETION = 'attempt_completion';

/** Decides by the conversation alone, so that the same request gets the same answer. */
export function planAnswer(request: ChatRequest): AnswerPlan {
  const { response_format: format, messages } = request;
  if (format?.json_schema?.name === 'memory_extraction') {
    return { kind: 'json', value: { memories: extractMemories(readUserWords(messages)) } };
  }
  const text = lastUserText(messages);
  if (format?.type === 'json_schema') return { kind: 'json', value: fillArguments(format.json_schema?.schema, text) };
  if (format?.type === 'json_object') return { kind: 'json', value: {} };

  const offered = request.tool_choice === 'none' ? [] : (request.tools ?? []);
  const tools = offered.filter((tool) => tool.function.name !== COMPLETION);
  const plan = planTurn(request, text, tools);
  const completes = offered.length > tools.length;
  if (plan.kind !== 'say' || !completes) return plan;
  return { kind: 'call', calls: [{ name: COMPLETION, arguments: { result: plan.text } }] };
}

function planTurn(request: ChatRequest, text: string, tools: readonly ToolDefinition[]): AnswerPlan {
  const language = languageOf(text);
  const say = (words: string): AnswerPlan => ({ kind: 'say', text: label(language) + words });
  const outcomes = toolOutcomes(request.messages);
  const tell = (told: readonly ToolOutcome[]) => say(told.map((one) => phraseOutcome(one, language)).join('\n'));
  if (outcomes.length > 0) return tell(outcomes);

  const folded = foldWidth(text.slice(0, MAX_READ));
  const memories = readMemories(request.messages);
  const remembered = answerFromMemory(folded, memories, language);
  if (remembered !== null) return say(remembered);

  const { calls, missing, noPlace } = planCalls(text, tools, homeInMemory(memories));
  const done = calls.map((call) => findDone(call, turnOutcomes(request.messages))).filter((one) => one !== undefined);
  if (calls.length > 0) return done.length === calls.length ? tell(done) : { kind: 'call', calls };
  const names = tools.map((tool) => tool.function.name);
  const absent = missing.length > 0 ? missing.join(', ') : findUnknownTool(folded, names);
  if (absent !== undefined) return say(tellAbsent(absent, names, language));
  if (noPlace) return say(language === 'zh' ? '想知道哪里的天气？请说出地名。' : 'Which place? Please name a city.');
  return say(introduce(language, names));
}

/** The good result of the very same call in this turn: a user message that stays last must not bring it up for ever. */
function findDone(call: PlannedCall, outcomes: readonly ToolOutcome[]): ToolOutcome | undefined {
  return outcomes.find(
    ({ name, arguments: args, content }) =>
      name === call.name &&
      JSON.stringify(parseObject(args)) === JSON.stringify(call.arguments) &&
      readOutcome(content).kind === 'ok',
  );
}

function tellAbsent(absent: string, names: readonly string[], language: Language): string {
  const offered = names.length === 0 ? (language === 'zh' ? '无' : 'none') : names.join(', ');
  return language === 'zh'
    ? `这需要工具 ${absent}，但它没有提供给我。可用的工具：${offered}。`
    : `That needs the tool ${absent}, which is not offered to me. Offered: ${offered}.`;
}
