export interface ReadyFacts {
  readonly url: string;
  /** What answers, as `/readyz` says it too. */
  readonly modelLabel: string;
  readonly sessionId: string;
  readonly withKeys: boolean;
}

/** What `npm start` says when it is ready: where, what answers, and a first turn to paste. */
export function readyLines({ url, modelLabel, sessionId, withKeys }: ReadyFacts): string {
  const headers = [
    'Content-Type: application/json',
    'Accept: text/event-stream',
    // In double quotes, so that the shell fills in the key; it is never printed.
    ...(withKeys ? ['Authorization: Bearer $TURNWIRE_API_KEY'] : []),
  ].map((header) => (header.includes('$') ? `-H "${header}"` : `-H '${header}'`));
  const body = JSON.stringify({ text: 'What is the weather in Paris, and what is 12 * 7?' });
  return [
    `Turnwire is ready at ${url}`,
    `Model: ${modelLabel}`,
    `curl -N ${url}/v1/sessions/${sessionId}/turns ${headers.join(' ')} -d '${body}'`,
    '',
  ].join('\n');
}
