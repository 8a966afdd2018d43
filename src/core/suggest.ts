/** Suggests the closest known word for a mistyped one. */

/** ` (did you mean X?)` if a known word is close enough, else empty. */
export function suggest(word: string, known: Iterable<string>): string {
  const [closest] = [...known]
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance: d }) => d <= Math.max(2, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return closest ? ` (did you mean ${closest.candidate}?)` : ''
}

/** Levenshtein's edit distance, with one row of memory. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const substitute = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(substitute, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
