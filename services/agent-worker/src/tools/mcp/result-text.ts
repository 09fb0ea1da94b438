import { jsonEqual } from '@turnwire/shared/domain/json';
import { z } from 'zod';

/** Lenient: kinds of content that are not known yet are named, not refused. */
const block = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  data: z.string().optional(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  name: z.string().optional(),
  resource: z
    .looseObject({
      uri: z.string().optional(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    })
    .optional(),
});

export const toolResultSchema = z.looseObject({
  content: z.array(block).default([]),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
  isError: z.boolean().default(false),
});

type Block = z.infer<typeof block>;

/** What the model reads of a result: texts, structured content unless a text says the same, and notes of the rest. */
export function resultText({ content, structuredContent }: z.infer<typeof toolResultSchema>): string {
  const parts = content.map(blockText);
  const repeated = structuredContent !== undefined && parts.some((part) => jsonEqual(parse(part), structuredContent));
  if (structuredContent !== undefined && !repeated) parts.push(JSON.stringify(structuredContent));
  return parts.join('\n') || '(no content)';
}

function blockText({ type, text, data, mimeType, uri, name, resource }: Block): string {
  switch (type) {
    case 'text':
      return text ?? '';
    case 'image':
    case 'audio':
      return `[${type}, ${mimeType ?? 'unknown type'}, ${bytesOf(data)} bytes: not shown]`;
    case 'resource_link':
      return `[resource ${name ?? ''}: ${uri ?? ''}]`;
    case 'resource':
      if (resource?.text !== undefined) return resource.text;
      return `[resource ${resource?.uri ?? ''}, ${resource?.mimeType ?? 'unknown type'}, ${bytesOf(resource?.blob)} bytes: not shown]`;
    default:
      return `[${type}: not shown]`;
  }
}

function bytesOf(base64 = ''): number {
  return Buffer.byteLength(base64, 'base64');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
