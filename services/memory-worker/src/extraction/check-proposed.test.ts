import { exampleMemory } from '@turnwire/shared/recall/example-memory';
import { describe, expect, test } from 'vitest';
import { type CheckContext, checkProposed } from './check-proposed.ts';
import { EXTRACTION_PROMPT } from './extraction-prompt.ts';
import { holdsSecret } from './holds-secret.ts';
import type { ProposedMemory } from './parse-answer.ts';

const AGENT_PROMPT =
  'You are the support agent of Acme. You always answer politely and in full sentences. Acme was founded by Wile Coyote in 1949 and sells rocket skates. 你是一个耐心的客服,总是用礼貌的语言回答问题。';

function proposed(text: string, quote: string, more: Partial<ProposedMemory> = {}): ProposedMemory {
  return {
    op: 'add',
    targetRef: null,
    text,
    quote,
    kind: null,
    subject: null,
    slot: null,
    value: null,
    cardinality: 'many',
    keywords: [],
    eventTime: null,
    ...more,
  };
}

function check(items: readonly ProposedMemory[], userWords: string, more: Partial<CheckContext> = {}) {
  return checkProposed(items, {
    userWords,
    prompts: [EXTRACTION_PROMPT, AGENT_PROMPT],
    candidates: [],
    tombstones: [],
    ...more,
  });
}

const USER = 'Hi! I’m Ann, I live in   Berlin and I work as a nurse. 我住在杭州,不吃辣。 Call me ＡＮＮＩＥ.';

describe('the quote stands in the user’s own words', () => {
  test.each([
    ['word for word', 'I live in   Berlin'],
    ['other white space', 'I live in\nBerlin'],
    ['other case', 'i LIVE in berlin'],
    ['another apostrophe', "I'm Ann"],
    ['other width', 'Call me Annie'],
    ['marks around it', '“I live in Berlin.”'],
    ['Chinese', '我住在杭州'],
    ['Chinese within a sentence', '住在杭州'],
    ['Chinese with other marks', '我住在杭州，不吃辣'],
  ])('%s', (_, quote) => {
    expect(check([proposed('Whatever is told of Ann.', quote)], USER).refused).toEqual([]);
  });

  test.each([
    ['invented', 'I live in Munich'],
    ['a word without its beginning', 'ive in Berlin'],
    ['a word without its end', 'I live in Berli'],
    ['of the prompt', 'Acme was founded by Wile Coyote'],
    ['empty', ''],
    ['nothing but marks', '…!'],
    ['a single word that proves nothing', 'Hi'],
    ['a letter', 'I'],
    ['invented, Chinese', '我住在北京'],
  ])('%s: refused', (_, quote) => {
    expect(check([proposed('Whatever is told.', quote)], USER)).toEqual({
      statements: [],
      deletions: [],
      refused: ['quote'],
    });
  });

  test('a single word is evidence for itself', () => {
    expect(check([proposed('The user is a vegetarian.', 'Vegetarian')], 'Vegetarian.').statements).toHaveLength(1);
  });
});

describe('E1: instructions are no memories', () => {
  test.each([
    ['the agent’s prompt', 'You always answer politely and in full sentences.'],
    ['a fact of the agent’s prompt', 'Acme was founded by Wile Coyote in 1949.'],
    ['the agent’s prompt, Chinese', '总是用礼貌的语言回答问题。'],
    ['E3: the extractor’s prompt', 'You take notes about a user for later conversations.'],
    ['E3: a template', 'The user is {{user_id}} of {{tenant_id}}.'],
    ['E3: a piece of the format', 'Give the "ref" as "targetRef".'],
  ])('%s', (_, text) => {
    expect(check([proposed(text, 'I live in Berlin')], USER).refused).toEqual(['echo']);
  });

  test('what the user says as well is no echo', () => {
    const said = 'I read that Acme was founded by Wile Coyote in 1949, he is my grandfather.';
    const item = proposed(
      'Acme was founded by Wile Coyote in 1949, the grandfather of the user.',
      'he is my grandfather',
    );
    expect(check([item], said).refused).toEqual([]);
  });

  test('three facts among restated prompts: only those three', () => {
    const facts = [
      proposed('The user is called Ann.', 'I’m Ann'),
      proposed('The user lives in Berlin.', 'I live in Berlin'),
      proposed('The user works as a nurse.', 'I work as a nurse'),
    ];
    const junk = AGENT_PROMPT.split('. ').flatMap((sentence) => [
      proposed(sentence, sentence),
      proposed(sentence, 'I live in Berlin'),
    ]);
    const { statements, refused } = check([...junk, ...facts], USER);
    expect(statements.map(({ text }) => text)).toEqual(facts.map(({ text }) => text));
    expect(refused).toHaveLength(junk.length);
  });
});

describe('targets', () => {
  const candidates = [exampleMemory('mem_a', 'Lives in Paris.'), exampleMemory('mem_b', 'Eats meat.')];

  test('an update and a deletion name what was offered', () => {
    const update = proposed('Lives in Berlin.', 'I live in Berlin', { op: 'update', targetRef: 1 });
    const deletion = proposed('', '不吃辣', { op: 'delete', targetRef: 2 });
    const { statements, deletions, refused } = check([update, deletion], USER, { candidates });
    expect(refused).toEqual([]);
    expect(statements.map(({ targetId }) => targetId)).toEqual(['mem_a']);
    expect(deletions).toEqual(['mem_b']);
  });

  test.each([0, 3, -1, null])('%j was not offered', (targetRef) => {
    for (const op of ['update', 'delete'] as const) {
      const { statements, deletions, refused } = check(
        [proposed('Text.', 'I live in Berlin', { op, targetRef })],
        USER,
        { candidates },
      );
      expect([statements, deletions, refused]).toEqual([[], [], ['target']]);
    }
  });

  test('a deletion needs the user’s words too', () => {
    expect(check([proposed('', 'forget it', { op: 'delete', targetRef: 1 })], USER, { candidates }).refused).toEqual([
      'quote',
    ]);
  });
});

describe('bounds', () => {
  test.each([
    ['no text', { text: '' }],
    ['a long text', { text: 'x'.repeat(501) }],
    ['a long subject', { subject: 'x'.repeat(101) }],
    ['a long slot', { slot: 'x'.repeat(61) }],
    ['a long value', { value: 'x'.repeat(301) }],
    ['a long kind', { kind: 'x'.repeat(41) }],
  ])('%s', (_, more) => {
    expect(check([proposed('Lives in Berlin.', 'I live in Berlin', more)], USER).refused).toEqual(['length']);
  });

  test('too many items', () => {
    const items = Array.from({ length: 23 }, (_, n) => proposed(`Lives in house ${n}.`, 'I live in Berlin'));
    const { statements, refused } = check(items, USER);
    expect(statements).toHaveLength(20);
    expect(refused).toEqual(['too_many', 'too_many', 'too_many']);
  });

  test('keywords are cut, not refused', () => {
    const keywords = ['', 'a', 'a', 'x'.repeat(61), ...'bcdefghijklmn'];
    const [statement] = check([proposed('Lives in Berlin.', 'I live in Berlin', { keywords })], USER).statements;
    expect(statement?.keywords).toEqual([...'abcdefghij']);
  });
});

describe('secrets', () => {
  test.each([
    'The key is sk-proj-abcdefghijklmnop1234.',
    'Uses ghp_16C7e42F292c6912E7710c838347Ae178B4a.',
    'AKIAIOSFODNN7EXAMPLE is the id.',
    'xoxb-123456789012-abcdefghijkl',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl',
    '-----BEGIN RSA PRIVATE KEY-----',
    'postgres://ann:hunter2@db.example/app',
    'The secret word is 0123456789abcdef0123456789abcdef.',
    'The password of the user is hunter2.'.replace(' of the user', ''),
    'Her PIN code is 4711.',
    '用户的密码是abc123。',
    '密码：abc123',
    'Card 4111 1111 1111 1111.',
    'Card 4111-1111-1111-1111.',
    '卡号 6222021234567890128',
    'Ｃａｒｄ ４１１１１１１１１１１１１１１１',
  ])('%s', (text) => {
    expect(holdsSecret(text)).toBe(true);
  });

  test.each([
    'The user uses a password manager.',
    'The user forgot their password.',
    '用户忘记了密码。',
    'The user’s phone is +49 30 1234567.',
    'Order 4111 1111 1111 1112 was late.',
    'Born on 1990-01-02, lives at Unter den Linden 77, 10117 Berlin.',
    'Likes Donaudampfschifffahrtsgesellschaftskapitän as a word.',
    'See https://example.com/a-rather-long-page-name-about-42-things.',
  ])('no secret: %s', (text) => {
    expect(holdsSecret(text)).toBe(false);
  });

  test.each(['text', 'quote', 'value', 'subject'] as const)('in the %s', (field) => {
    const said = 'My password is hunter2, my card is 4111 1111 1111 1111';
    const item = { ...proposed('Has a password.', 'my card is'), [field]: said };
    expect(check([item], said).refused).toEqual(['secret']);
  });

  test('in a keyword', () => {
    expect(
      check([proposed('Has a card.', 'my card is', { keywords: ['4111111111111111'] })], 'my card is').refused,
    ).toEqual(['secret']);
  });
});

describe('E13: what the user took back does not come back', () => {
  test.each([
    ['the user lives in berlin', 'The user lives in Berlin.'],
    ['the user lives in berlin', 'The user is now living in  BERLIN!'],
    ['用户住在杭州', '用户住在杭州。'],
  ])('%j: %j', (tombstone, text) => {
    expect(check([proposed(text, 'I live in Berlin')], USER, { tombstones: [tombstone] }).refused).toEqual([
      'tombstone',
    ]);
  });

  test('another fact does', () => {
    const item = proposed('The user lives in Berlin.', 'I live in Berlin');
    expect(check([item], USER, { tombstones: ['the user lives in munich'] }).refused).toEqual([]);
  });
});
