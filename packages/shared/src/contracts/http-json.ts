import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../domain/json.ts';

/** Text as clients send it. Lone surrogates become U+FFFD here, so that every store and wire shows the same text. */
export function text(min: number, max: number) {
  return z
    .string()
    .min(min)
    .max(max)
    .overwrite((value) => value.toWellFormed());
}

/** Any JSON value. It came out of a JSON parser, so there is nothing left to check. */
export const jsonSchema = z.custom<Json>((value) => value !== undefined, 'must be a JSON value');

/** A JSON object of at most `maxBytes` when written without white space. */
export function jsonObject(maxBytes: number) {
  return z
    .custom<JsonObject>(isJsonObject, 'must be a JSON object')
    .refine((value) => byteLength(JSON.stringify(value)) <= maxBytes, `must be at most ${maxBytes} bytes of JSON`)
    .meta({ type: 'object', additionalProperties: true });
}

function byteLength(value: string): number {
  return new TextEncoder().encode(value).length;
}

/** A time as ISO 8601 in UTC. */
export const timeSchema = z.iso.datetime();
