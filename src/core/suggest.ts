/** Suggests the closest known word for a mistyped one. */

/** ` (did you mean X?)` if a known word is close enough, else empty. */
export function suggest(word: string, known: Iterable<string>): string {
  const [closest] = [...known]
    // The distance is at least the difference in length. This also limits the cost of a long word.
    .filter((candidate) => Math.abs(candidate.length - word.length) <= limitOf(candidate))
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance: d }) => d <= limitOf(candidate))
    .sort((a, b) => a.distance - b.distance)
  return closest ? ` (did you mean ${closest.candidate}?)` : ''
}

/** The most edits between a word and the known word that it is likely to mean. */
function limitOf(candidate: string): number {
  return Math.max(2, Math.floor(candidate.length / 3))
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
