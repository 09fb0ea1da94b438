/** The sum of both scores in standard deviations from their mean, so that neither scale outweighs the other. */
export function blendScores(lexical: readonly number[], vector: readonly number[]): readonly number[] {
  const [a, b] = [standardScores(lexical), standardScores(vector)];
  return a.map((score, index) => score + (b[index] ?? 0));
}

function standardScores(scores: readonly number[]): readonly number[] {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const deviation = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  // Equal scores tell nothing; what is left of them by rounding must not be blown up.
  return scores.map((score) => (deviation < 1e-9 ? 0 : (score - mean) / deviation));
}
