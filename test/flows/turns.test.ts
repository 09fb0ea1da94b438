import { playStep } from '@turnwire/demo-model/script';
import { describe, expect, test } from 'vitest';
import { callsThen, pieces } from '../stack/answers.ts';
import { useStack } from '../stack/flow-stack.ts';
import { profiles } from '../stack/profiles.ts';

const POLITE = playStep({ text: ['Good ', 'morning, ', 'Ada.'] });

describe.each(profiles())('$name: a turn', (profile) => {
  const stack = useStack(profile);

  test('streams each piece of text, ends, and leaves the session idle', async () => {
    const scene = await stack.scene(POLITE);
    const stream = await scene.ask('Good morning!');
    expect(stream.end).toBe('server');
    expect(stream.types).toEqual([
      'turn.queued',
      'turn.started',
      'step.started',
      'turn.delta',
      'turn.delta',
      'turn.delta',
      'done',
    ]);
    expect(stream.events.map(({ id }) => id === null)).toEqual([true, ...Array(6).fill(false)]);
    expect(stream.of('turn.delta').map(({ data }) => [data.step, data.text])).toEqual([
      [1, 'Good '],
      [1, 'morning, '],
      [1, 'Ada.'],
    ]);
    const [queued, started] = stream.events;
    expect(queued?.data).toMatchObject({ position: 0 });
    expect(started?.data).toMatchObject({ attempt: 1, turnId: queued?.data.turnId, ts: expect.any(Number) });

    const turn = await stack.api.turn(queued?.data.turnId);
    expect(turn).toMatchObject({ status: 'COMPLETED', number: 1, attempt: 1, steps: 1, error: null });
    expect(turn.usage.totalTokens).toBe(turn.usage.inputTokens + turn.usage.outputTokens);
    expect(turn.usage.outputTokens).toBeGreaterThan(0);
    const { data } = await stream.until('done');
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Good morning!'],
      ['assistant', 'Good morning, Ada.'],
    ]);
    expect(data).toMatchObject({ message: messages[1], usage: turn.usage });
    const session = await stack.api.session(scene.sessionId);
    expect(session).toMatchObject({ state: 'IDLE', turnCount: 1, activeTurnId: null, interrupt: null });
  });

  test('reads what was said before it', async () => {
    const scene = await stack.scene(POLITE);
    await scene.ask('One');
    await scene.ask('Two');
    expect(scene.requests[1]?.body.messages).toEqual([
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'Good morning, Ada.' },
      { role: 'user', content: 'Two' },
    ]);
  });

  test('expands the placeholders of its prompt, and nothing within their values', async () => {
    const systemPrompt = 'You help {{user_id}} of {{tenant_id}} in {{session_id}}. It is {{time}}. {{unknown}}';
    const userId = 'ada {{time}}';
    const scene = await stack.scene(POLITE, { systemPrompt }, { userId });
    await scene.ask('Hello');
    const [system] = scene.requests[0]?.body.messages ?? [];
    const time = String(system?.content).match(/It is ([^ ]+Z)\./)?.[1] ?? '';
    expect(new Date(time).toISOString()).toBe(time);
    expect(Math.abs(Date.now() - Date.parse(time))).toBeLessThan(60_000);
    expect(system).toMatchObject({
      role: 'system',
      content: `You help ada {{time}} of default in ${scene.sessionId}. It is ${time}. {{unknown}}`,
    });
  });

  test('shows reasoning apart from the answer', async () => {
    const scene = await stack.scene(playStep({ reasoning: ['Let me ', 'think.'], text: 'Yes.' }));
    const stream = await scene.ask('Is it?');
    expect(stream.of('reasoning.delta').map(({ data }) => data.text)).toEqual(['Let me ', 'think.']);
    expect(stream.text).toBe('Yes.');
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages[1]?.content).toBe('Yes.');
    await scene.ask('Sure?');
    expect(JSON.stringify(scene.requests[1]?.body.messages)).not.toContain('think');
  });

  test('passes every text on unharmed, byte by byte', async () => {
    const text = '杭州 你好🦀 "\\n" \u2028 </tool_call> \0 end';
    const scene = await stack.scene(async (_call, reply) => {
      reply.bytewise();
      await reply.text(text);
    });
    expect((await scene.ask(text)).text).toBe(text);
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages.map(({ content }) => content)).toEqual([text, text]);
  });
});

describe.each(profiles())('$name: readers', (profile) => {
  const stack = useStack(profile);

  test('see the same, whenever they join, and one that leaves takes nothing from the others', async () => {
    const scene = await stack.scene(playStep(pieces(20, 15)));
    const path = `/v1/sessions/${scene.sessionId}/events`;
    const [whole, leaver] = await Promise.all([stack.turnwire.stream(`${path}?after=0`), stack.turnwire.stream(path)]);
    const own = await scene.say('Count');
    await leaver.until('turn.delta', 3);
    leaver.close();
    const late = await stack.turnwire.stream(`${path}?after=-1`);
    const now = await stack.turnwire.stream(path);
    const [done] = await Promise.all([whole, late, now, own].map((stream) => stream.until('done')));
    const durable = own.events.filter(({ id }) => id !== null);
    const shown = ({ id, type, data }: (typeof durable)[number]) => ({ id, type, data });
    expect(late.events.map(shown)).toEqual(durable.map(shown));
    expect(whole.events.filter(({ id }) => id !== null).map(shown)).toEqual(durable.map(shown));
    // Neither cursor: from the moment of joining, without a hole.
    expect(now.ids.length).toBeLessThan(own.ids.length - 3);
    expect(own.ids.slice(-now.ids.length)).toEqual(now.ids);
    expect([whole.end, late.end, now.end, own.end]).toEqual(['open', 'open', 'open', 'server']);
    const beyond = await stack.turnwire.stream(path, { headers: { 'last-event-id': String(done?.id) } });
    await scene.ask('Again');
    await beyond.until('done');
    expect(beyond.types.slice(0, 2)).toEqual(['turn.queued', 'turn.started']);
  });

  test('get every event once, however often they reconnect', async () => {
    const tool = await stack.tool(() => 'fine');
    const scene = await stack.scene(callsThen([{ name: tool }, { name: tool }], pieces(12, 25)), { tools: [tool] });
    const path = `/v1/sessions/${scene.sessionId}/events`;
    const turn = await stack.api.postTurn(scene.sessionId, { text: 'Go' });
    const seen: { id: number | null; type: string; prev: number }[] = [];
    for (let over = false; !over; ) {
      const headers = { 'last-event-id': String(seen.at(-1)?.id ?? 0) };
      const stream = await stack.turnwire.stream(path, { headers });
      const { id, type, data } = await stream.until(({ id: durable }) => durable !== null);
      stream.close();
      seen.push({ id, type, prev: data.prev });
      over = type === 'done';
    }
    const log = await stack.turnwire.stream(`${path}?after=0`);
    await log.until('done');
    expect(seen).toEqual(log.events.map(({ id, type, data }) => ({ id, type, prev: data.prev })));
    expect(seen.map(({ prev }) => prev)).toEqual([0, ...seen.slice(0, -1).map(({ id }) => id)]);
    expect(seen.length).toBeGreaterThan(18);
    // And from each of these places once more, now that all is in the log.
    const rests = await Promise.all(
      seen.map(async ({ id }) => {
        const stream = await stack.turnwire.stream(`${path}?after=${id}`);
        if (id !== seen.at(-1)?.id) await stream.until('done');
        stream.close();
        return stream.ids;
      }),
    );
    expect(rests).toEqual(seen.map((_, i) => seen.slice(i + 1).map(({ id }) => id)));
    expect((await stack.api.turn(turn.id)).status).toBe('COMPLETED');
  });

  test('may follow one turn alone', async () => {
    const scene = await stack.scene(POLITE);
    await scene.ask('One');
    const two = await scene.ask('Two');
    const turnId = two.events[0]?.data.turnId;
    const stream = await stack.turnwire.stream(`/v1/sessions/${scene.sessionId}/events?after=0&turnId=${turnId}`);
    await stream.until('done');
    expect(stream.ids).toEqual(two.ids);
    expect(stream.end).toBe('open');
  });

  test('that all leave cancel nothing', async () => {
    const scene = await stack.scene(playStep(pieces(15, 20)));
    const stream = await scene.say('Count');
    await stream.until('turn.delta', 2);
    stream.close();
    const turn = await stack.api.ended(stream.events[0]?.data.turnId);
    expect(turn.status).toBe('COMPLETED');
    const messages = await stack.api.messages(scene.sessionId);
    expect(messages[1]?.content).toBe(pieces(15, 0).text.join(''));
    expect(scene.requests.map(({ state }) => state)).toEqual(['finished']);
  });

  test('of 40 sessions at once are not mixed up', async () => {
    const scenes = await Promise.all(
      Array.from({ length: 40 }, (_, i) => stack.scene(playStep(pieces(10, 5, `s${i}-`)))),
    );
    const streams = await Promise.all(scenes.map((scene) => scene.ask('Count')));
    expect(streams.map(({ text }) => text)).toEqual(scenes.map((_, i) => pieces(10, 0, `s${i}-`).text.join('')));
  });
});
