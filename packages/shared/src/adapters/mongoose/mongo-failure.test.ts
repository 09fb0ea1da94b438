import { mongo } from 'mongoose';
import { expect, test } from 'vitest';
import { AppError, isAppError } from '../../domain/errors.ts';
import { mongoFailure } from './mongo-failure.ts';

const server = (code: number) => new mongo.MongoServerError({ code, errmsg: 'no' });

test.each([
  ['a broken connection', new mongo.MongoNetworkError('reset')],
  ['a closed pool', new mongo.MongoNotConnectedError('closed')],
  ['a broken pipe', Object.assign(new Error('ended by the other party'), { code: 'EPIPE' })],
  ['an election', server(10_107)],
  ['a full disk', server(14_031)],
  ['a write that a majority did not take in time', server(64)],
  ['a conflict that does not end', server(112)],
])('%s: unavailable, to be tried again', (_name, error) => {
  const failure = mongoFailure(error);
  expect(isAppError(failure, 'unavailable') && [failure.retry, failure.cause]).toEqual([true, error]);
});

test.each([
  ['a taken id', server(11_000)],
  ['a document that is too large', server(10_334)],
  ['a wrong option', new mongo.MongoInvalidArgumentError('no')],
  ['a refusal', new AppError('session_busy', 'Busy.')],
  ['a mistake of ours', new TypeError('undefined')],
  ['another one', Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' })],
])('%s: stays as it is', (_name, error) => {
  expect(mongoFailure(error)).toBe(error);
});
