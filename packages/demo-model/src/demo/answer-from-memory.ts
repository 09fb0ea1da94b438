import type { Language } from './language.ts';

type Question = {
  asked: RegExp;
  /** Finds the value in one memory's line; its first group that took part is the value. */
  value: RegExp;
  en: (value: string) => string;
  zh: (value: string) => string;
};

const QUESTIONS: readonly Question[] = [
  {
    asked:
      /\bwhat(?:'s|’s|s| is) my name\b|\bwho am i\b|\b(?:know|remember) my name\b|我叫什么|我的名字(?:是什么|叫什么)|我是谁/i,
    value:
      /\bname(?:'s|’s)? is (.+)|\bname: ?(.+)|\b(?:is called|to be called|is named) (.+)|(?:名字是|名字叫|叫做|叫)(.+)/i,
    en: (value) => `Your name is ${value}.`,
    zh: (value) => `你叫${value}。`,
  },
  {
    asked:
      /\bwhere do i live\b|\bwhat(?:'s|’s|s| is) my (?:home|city|address)\b|\bwhere is my home\b|我住在?(?:哪|什么)|我家在哪/i,
    value: /\b(?:lives?|living|resides?|moved) (?:in|at|to) (.+)|\bhome: ?(.+)|(?:住在|居住在|搬到了?|家在)(.+)/i,
    en: (value) => `You live in ${value}.`,
    zh: (value) => `你住在${value}。`,
  },
  {
    asked:
      /\bwhere do i work\b|\bwhat do i do (?:for work|for a living)\b|\bwhat(?:'s|’s|s| is) my job\b|我在哪里?(?:工作|上班)|我是?做什么工作/i,
    value: /\bworks? ((?:at|as|for|in) .+)|(?:在)(.+?)(?:工作|上班)/i,
    en: (value) => `You work ${value}.`,
    zh: (value) => `你在${value}工作。`,
  },
  {
    asked: /\bwhat do i (?:like|love|prefer|enjoy)\b|我喜欢(?:什么|吃什么|喝什么)/i,
    value: /\b(?:likes?|loves?|prefers?|enjoys?) (.+)|(?:喜欢|爱)(.+)/i,
    en: (value) => `You like ${value}.`,
    zh: (value) => `你喜欢${value}。`,
  },
];

const EVERYTHING =
  /\bwhat do you (?:know|remember) about me\b|\bwhat(?:'s|’s| is) in your memory\b|你(?:都)?(?:知道|记得|了解)我(?:的)?(?:什么|哪些|多少)|关于我.*(?:知道|记得)/i;

/** The answer to a question about the user, from recalled memories; `null` if the text asks no such question. */
export function answerFromMemory(text: string, memories: readonly string[], language: Language): string | null {
  if (EVERYTHING.test(text)) return tellAll(memories, language);
  const answers = QUESTIONS.filter(({ asked }) => asked.test(text)).map((question) => {
    const value = findValue(memories, question.value);
    if (value === undefined) return language === 'zh' ? '这个我还不知道。' : 'I do not know that yet.';
    return question[language](value);
  });
  return answers.length === 0 ? null : answers.join(language === 'zh' ? '' : ' ');
}

/** Where the user lives, if a memory says so. */
export function homeInMemory(memories: readonly string[]): string | undefined {
  return QUESTIONS[1] === undefined ? undefined : findValue(memories, QUESTIONS[1].value);
}

function findValue(memories: readonly string[], pattern: RegExp): string | undefined {
  for (const memory of memories) {
    const value = pattern
      .exec(memory)
      ?.slice(1)
      .find((group) => group !== undefined);
    if (value !== undefined) return value.replace(/[.。;,\uff1b\uff0c]\s*$/, '').trim();
  }
  return undefined;
}

function tellAll(memories: readonly string[], language: Language): string {
  if (memories.length === 0) {
    return language === 'zh' ? '我还没有关于你的记忆。' : 'I have no memories about you yet.';
  }
  const list = memories.map((memory) => `- ${memory}`).join('\n');
  return language === 'zh' ? `我记得：\n${list}` : `I remember:\n${list}`;
}
