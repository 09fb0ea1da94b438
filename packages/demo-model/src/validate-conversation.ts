import { type ChatMessage, isRecord, messageText } from './chat-request.ts';

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool']);
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * What a strict provider would refuse in a conversation, one sentence each; empty when it is valid.
 *
 * The strictest rule found among OpenAI-compatible servers wins: a call is answered exactly once, by tool messages
 * right after the message that made it; ids are unique; arguments are JSON objects as strings; one system message
 * at most, first; nothing is empty; the last message is a user's or a tool's.
 */
export function validateConversation(messages: readonly ChatMessage[]): string[] {
  if (messages.length === 0) return ['messages is empty'];
  const violations = messages.flatMap((message, index) => messageFaults(message, index));
  violations.push(...pairingFaults(messages));
  const last = messages.at(-1)?.role;
  if (last !== 'user' && last !== 'tool') {
    violations.push(`the last message must be a user's or a tool's, not role '${last}'`);
  }
  return violations;
}

function messageFaults(message: ChatMessage, index: number): string[] {
  const at = `messages[${index}]`;
  const faults: string[] = [];
  if (!ROLES.has(message.role)) faults.push(`${at}: unknown role '${message.role}'`);
  if ((message.role === 'system' || message.role === 'developer') && index > 0) {
    faults.push(`${at}: a ${message.role} message is allowed only once and only at the start`);
  }
  if (message.tool_calls !== undefined && message.role !== 'assistant') {
    faults.push(`${at}: tool_calls in a message of role '${message.role}'`);
  }
  if (message.tool_call_id !== undefined && message.role !== 'tool') {
    faults.push(`${at}: tool_call_id in a message of role '${message.role}'`);
  }
  faults.push(...contentFaults(message, at), ...callFaults(message, at));
  return faults;
}

function contentFaults(message: ChatMessage, at: string): string[] {
  const { content } = message;
  const calls = message.role === 'assistant' && message.tool_calls !== undefined;
  if (content === undefined || content === null) {
    return calls ? [] : [`${at}: content of a ${message.role} message is missing`];
  }
  if (typeof content !== 'string' && !Array.isArray(content)) {
    return [`${at}: content must be a string or a list of parts`];
  }
  const other = Array.isArray(content) && content.some((part) => isRecord(part) && part.type !== 'text');
  const empty = messageText(message).trim() === '' && !other;
  return empty && !calls ? [`${at}: content of a ${message.role} message is empty`] : [];
}

function callFaults(message: ChatMessage, at: string): string[] {
  const calls: unknown = message.tool_calls;
  if (calls === undefined) return [];
  if (!Array.isArray(calls)) return [`${at}: tool_calls must be an array`];
  if (calls.length === 0) return [`${at}: tool_calls is an empty array`];
  return calls.flatMap((call: unknown, position) => {
    const where = `${at}.tool_calls[${position}]`;
    if (!isRecord(call) || !isRecord(call.function)) return [`${where}: not a function call`];
    const { name, arguments: text } = call.function;
    const faults: string[] = [];
    if (typeof call.id !== 'string' || call.id === '') faults.push(`${where}: id is missing or empty`);
    if (call.type !== 'function') faults.push(`${where}: type must be 'function'`);
    if (typeof name !== 'string' || !NAME.test(name)) faults.push(`${where}: name does not match ${NAME.source}`);
    if (!isJsonObject(text)) faults.push(`${where}: arguments is not a JSON object in a string`);
    return faults;
  });
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Walks calls and answers in order; `open` holds the calls that the next messages have to answer. */
function pairingFaults(messages: readonly ChatMessage[]): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  let open = new Set<string>();
  const closeOpen = (before: string) => {
    for (const id of open) faults.push(`tool call '${id}' is not answered before ${before}`);
    open = new Set();
  };
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? '';
      if (!open.delete(id)) faults.push(toolFault(id, index, seen));
      return;
    }
    closeOpen(`messages[${index}]`);
    const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
    for (const { id } of calls) {
      if (seen.has(id)) faults.push(`messages[${index}]: tool call id '${id}' is used twice`);
      seen.add(id);
      open.add(id);
    }
  });
  closeOpen('the end');
  return faults;
}

function toolFault(id: string, index: number, seen: ReadonlySet<string>): string {
  if (id === '') return `messages[${index}]: a tool message without tool_call_id`;
  return seen.has(id)
    ? `messages[${index}]: tool call '${id}' is answered twice or not right after its message`
    : `messages[${index}]: no tool call '${id}' comes before this tool message`;
}
