const STOP = [
  'today|tomorrow|tonight|now|right now|currently|at the moment|outside|again|like|be|there',
  'this (?:week|weekend|morning|afternoon|evening)|next (?:week|weekend)|on \\w+day|at \\d|in (?:celsius|fahrenheit)',
  "what|what's|what’s|whats|how|when|where|why|which|who|is|it|if|so|because|then|also|plus|but|please|thanks|thank you",
  'calculate|compute|tell|give|show|use|using|call|run|send|the|my|time|date|weather|with|\\d',
].join('|');
const TAIL = new RegExp(`[,\\s]+(?:and\\s+|then\\s+|or\\s+)?(?:${STOP})(?![\\p{L}]).*$`, 'isu');

/**
 * The places that a piece of English text begins with: 'Paris and New York today, please' → Paris, New York.
 * 'Paris, France' stays one place; with an 'and' the commas divide.
 */
export function placesAtStart(text: string): string[] {
  const sentence = text.split(/[?!;\n]|\.(?:\s|$)/, 1)[0] ?? '';
  const named = sentence.replace(TAIL, '').trim();
  const parts = named.split(/\s+(?:and|or|&)\s+|,\s*and\s+/i);
  const places = parts.length > 1 ? parts.flatMap((part) => part.split(/\s*,\s*/)) : parts;
  return places.map((place) => place.replace(/^[\s"'“”,]+|[\s"'“”,.]+$/g, '')).filter((place) => place !== '');
}
