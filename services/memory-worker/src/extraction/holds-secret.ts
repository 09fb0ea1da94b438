const KEYS = [
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/, // OpenAI, Anthropic, Stripe
  /\b(?:gh[opusr]|github_pat|glpat|hf|npm)[-_][\w-]{16,}/,
  /\bxox[abeprs]-[\w-]{10,}/,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  /\bAIza[\w-]{30,}/,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/, // JSON Web Token
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\bbearer\s+[\w.~+/-]{16,}/i,
  /\/\/[^\s/:@]+:[^\s/@]+@/, // user and password in a URL
  /(?<![\w+/=])(?=[\w+/=]*\d)(?=[\w+/=]*[A-Za-z])[\w+/=]{32,}/, // anything else long and random
];

const NAMED = [
  /\b(?:pass(?:word|phrase|code)|passwd|pwd|pin(?: code)?|cvv|cvc|secret|(?:api|access|private|secret)[ _-]?key|token)s?\s*(?:is|are|was|:|=|to)\s*\S/i,
  /(?:密码|口令|密钥|验证码|暗号)\s*(?:是|为|:|=|改成|设为)\s*\S/,
];

const CARD = /(?<!\d)[2-6](?:[ -]?\d){13,18}(?!\d)/g;

/** Whether a text has an API key, a password that is told, or the number of a payment card in it. */
export function holdsSecret(text: string): boolean {
  const plain = text.normalize('NFKC');
  return [...KEYS, ...NAMED].some((pattern) => pattern.test(plain)) || (plain.match(CARD) ?? []).some(isCardNumber);
}

/** The check digit of ISO/IEC 7812 (Luhn). */
function isCardNumber(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}
