export type Language = 'en' | 'zh';

/** Chinese if the text holds any Han character. */
export function languageOf(text: string): Language {
  return /\p{Script=Han}/u.test(text) ? 'zh' : 'en';
}
