import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ChatRequest, chatRequestFault, isChatRequest } from './chat-request.ts';
import { sendStatus } from './common-reply.ts';
import { errorBody } from './completion-chunk.ts';
import type { ModelHandler } from './model-handler.ts';
import type { RecordedRequest, RequestLog } from './recording.ts';
import { ClientGone } from './reply.ts';
import { ResponseWriter } from './response-writer.ts';
import { createStreamReply } from './stream-reply.ts';
import { validateConversation } from './validate-conversation.ts';
import { validateTools } from './validate-tools.ts';
import { createWholeReply } from './whole-reply.ts';

export type ChatDesk = {
  readonly log: RequestLog;
  readonly strict: boolean;
  readonly writers: Set<ResponseWriter>;
  handlerOf(model: string): ModelHandler | undefined;
  /** Counts and gives this model's attempt. */
  nextAttempt(model: string): number;
};

/** `POST /v1/chat/completions`: records the request, refuses what is wrong with it, and lets its handler answer. */
export async function answerChat(
  desk: ChatDesk,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  if (!isChatRequest(body)) {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(errorBody(chatRequestFault(body) ?? 'invalid request')));
    return;
  }
  const record = newRecord(request, body, desk.nextAttempt(body.model));
  const writer = new ResponseWriter(response, record, desk.log.changed);
  desk.log.add(record);
  desk.writers.add(writer);
  try {
    await answer(desk, record, writer);
  } catch (error) {
    if (!(error instanceof ClientGone)) await onHandlerError(record, writer, error);
  } finally {
    desk.writers.delete(writer);
  }
}

async function answer(desk: ChatDesk, record: RecordedRequest, writer: ResponseWriter): Promise<void> {
  const { body, headers, attempt, violations } = record;
  if (desk.strict && violations.length > 0) {
    return sendStatus(writer, 400, {}, errorBody(violations.join('; '), 'invalid_conversation'));
  }
  const handler = desk.handlerOf(body.model);
  if (handler === undefined) {
    const message = `The model '${body.model}' does not exist`;
    return sendStatus(writer, 404, {}, errorBody(message, 'model_not_found'));
  }
  const reply = body.stream === true ? createStreamReply(writer, body) : createWholeReply(writer, body);
  await handler({ body, headers, attempt, signal: writer.signal }, reply);
  await reply.end();
}

async function onHandlerError(record: RecordedRequest, writer: ResponseWriter, error: unknown): Promise<void> {
  record.handlerError = error;
  if (record.firstByteAt !== null) {
    writer.cut();
    return;
  }
  const message = error instanceof Error ? error.message : String(error);
  await sendStatus(writer, 500, {}, errorBody(`handler failed: ${message}`, 'handler_error', 'server_error')).catch(
    () => undefined,
  );
}

function newRecord(request: IncomingMessage, body: ChatRequest, attempt: number): RecordedRequest {
  return {
    model: body.model,
    body,
    headers: request.headers,
    attempt,
    violations: [...validateConversation(body.messages), ...validateTools(body.tools)],
    at: Date.now(),
    state: 'received',
    status: null,
    firstByteAt: null,
    finishedAt: null,
    abortedAt: null,
    bytesSent: 0,
    chunksSent: 0,
    handlerError: null,
  };
}
