import type { OutgoingHttpHeaders } from 'node:http';
import { errorBody } from './completion-chunk.ts';
import type { Reply } from './reply.ts';
import type { ResponseWriter } from './response-writer.ts';

type CommonReply = Pick<Reply, 'delay' | 'raw' | 'rawBytes' | 'bytewise' | 'status' | 'hang' | 'cut' | 'fin'>;

/** The operations that do not differ between a stream and a whole answer. */
export function commonReply(writer: ResponseWriter, headers: OutgoingHttpHeaders): CommonReply {
  return {
    delay: (ms) => writer.delay(ms),
    raw: (bytes) => {
      writer.head(200, headers);
      return writer.write(bytes);
    },
    rawBytes: (bytes) => {
      writer.head(200, headers);
      return writer.writeBytewise(bytes);
    },
    bytewise: () => writer.bytewise(),
    status: (code, extra = {}, body = errorBody(`scripted status ${code}`)) => sendStatus(writer, code, extra, body),
    hang: () => writer.hang(),
    cut: () => writer.cut(),
    fin: async () => {
      writer.head(200, headers);
      writer.end();
    },
  };
}

/** Sends a whole response with this status; a body that is no string goes as JSON. Does nothing after the head. */
export async function sendStatus(
  writer: ResponseWriter,
  code: number,
  headers: OutgoingHttpHeaders,
  body: unknown,
): Promise<void> {
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  if (!writer.head(code, { 'content-type': type, ...headers })) return;
  await writer.write(typeof body === 'string' ? body : JSON.stringify(body));
  writer.end();
}
